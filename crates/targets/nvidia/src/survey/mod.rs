//! What a compile decided, and what devices can do: for people who ask why a kernel is as fast as it is.

mod devices;
mod residency;

pub(crate) use devices::peaks;
pub(crate) use residency::resources;

use crate::intrinsics::Row;
use crate::lower::Lanes;
use crate::machine;
use ptx_isa::{Arch, Role, role};
use target::survey::Survey;
use target::{CompileOptions, TargetError};

/// Instructions that are worth counting, and what they are called.
const COUNTED: &[(Role, &str)] = &[
    (Role::Barrier, "barrier"),
    (Role::WarpBarrier, "barrier of a warp"),
    (Role::Shuffle, "shuffle"),
    (Role::Combine, "shuffle"),
    (Role::Multiply, "matrix"),
    (Role::MatrixLoad, "matrix load"),
    (Role::MatrixStore, "matrix store"),
    (Role::CopyWait, "wait for copies"),
    (Role::MultiplyWait, "wait for dots"),
];

/// What a role is called.
fn counted(role: Role) -> Option<&'static str> {
    COUNTED.iter().find(|row| row.0 == role).map(|row| row.1)
}

/// What the first instruction of a template that is worth counting is, its own name, and how many like it there are.
fn classify(text: &str) -> Option<(&'static str, String, u64)> {
    let roles = || ptx_isa::mnemonics(text).map(|mnemonic| (mnemonic, role(mnemonic)));
    let (first, own, what) = roles().find_map(|(mnemonic, own)| Some((mnemonic, own, counted(own)?)))?;
    Some((what, first.to_owned(), roles().filter(|(_, role)| *role == own).count() as u64))
}

const CLASSIFY: lanes::Classify =
    lanes::Classify { call: |callee| counted(Row::of(callee)?.role()), template: classify };

/// What a compile of block-level code with layouts decides.
pub(crate) fn survey(
    mut module: ir::Module,
    arch: Arch,
    options: &CompileOptions,
) -> Result<Survey, TargetError> {
    let capability = u32::from(arch.number);
    let facts = machine::machine(capability)
        .ok_or_else(|| TargetError::Internal(format!("there are no facts about {arch}")))?;
    module.set_environment(facts);
    let how = lanes::Options { fuse_multiply_add: options.enable_fp_fusion, ..lanes::Options::default() };
    lanes::survey(module, &Lanes::new(capability, facts), &how, CLASSIFY)
        .map_err(|errors| gpu::not_lowered(&errors))
}

#[cfg(test)]
mod tests {
    use super::classify;

    #[test]
    fn instructions_are_classified_by_their_names() {
        let what = |text| classify(text).map(|(what, name, _)| (what, name));
        assert_eq!(
            what("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0}, $1;"),
            Some(("matrix", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16".to_owned()))
        );
        assert_eq!(
            what("@$9 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {$0};"),
            Some(("matrix", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32".to_owned()))
        );
        assert_eq!(classify("bar.sync 0; bar.sync 1;").map(|found| found.2), Some(2));
        assert_eq!(what("wgmma.fence.sync.aligned;"), None);
    }
}
