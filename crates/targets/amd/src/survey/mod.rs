//! What a compile decided, and what devices can do: for people who ask why a kernel is as fast as it is.

mod devices;
mod listing;
mod residency;

pub(crate) use devices::peaks;
pub(crate) use residency::resources;

use crate::lower::Lanes;
use amdgcn_isa::Arch;
use target::survey::Survey;
use target::{CompileOptions, TargetError};

/// Instructions that are worth counting: how the intrinsic begins, and what they are.
const COUNTED: &[(&str, &str)] = &[
    ("llvm.amdgcn.s.barrier", "barrier"),
    ("llvm.amdgcn.wave.barrier", "barrier of a warp"),
    ("llvm.amdgcn.update.dpp", "shuffle"),
    ("llvm.amdgcn.ds.swizzle", "shuffle"),
    ("llvm.amdgcn.ds.bpermute", "shuffle"),
    ("llvm.amdgcn.permlane", "shuffle"),
    ("llvm.amdgcn.mfma", "matrix"),
    ("llvm.amdgcn.wmma", "matrix"),
    ("llvm.amdgcn.ds.read.tr", "matrix load"),
];

/// What a called intrinsic is, and its own name.
fn classify(text: &str) -> Option<(&'static str, String, u64)> {
    let (_, what) = COUNTED.iter().find(|(name, _)| text.starts_with(name))?;
    Some((what, text.to_owned(), 1))
}

/// What a compile of block-level code with layouts decides.
pub(crate) fn survey(
    mut module: ir::Module,
    arch: Arch,
    options: &CompileOptions,
) -> Result<Survey, TargetError> {
    let lanes = Lanes::new(arch);
    module.set_environment(lanes.machine);
    let how = lanes::Options { fuse_multiply_add: options.enable_fp_fusion, ..lanes::Options::default() };
    lanes::survey(module, &lanes, &how, classify).map_err(|errors| gpu::not_lowered(&errors))
}

#[cfg(test)]
mod tests {
    use super::classify;

    #[test]
    fn intrinsics_are_told_by_their_names() {
        let what = |text| classify(text).map(|(what, ..)| what);
        assert_eq!(what("llvm.amdgcn.mfma.f32.32x32x8f16"), Some("matrix"));
        assert_eq!(what("llvm.amdgcn.s.barrier"), Some("barrier"));
        assert_eq!(what("llvm.amdgcn.permlanex16.i32"), Some("shuffle"));
        assert_eq!(what("llvm.fma.f32"), None);
    }
}
