//! What a compile decided, and what devices can do: for people who ask why a kernel is as fast as it is.

mod devices;
mod residency;

pub(crate) use devices::peaks;
pub(crate) use residency::resources;

use crate::lower::Lanes;
use crate::machine;
use ptx_isa::Arch;
use target::survey::Survey;
use target::{CompileOptions, TargetError};

/// Instructions that are worth counting: how the symbol or the template begins, and what they are.
const COUNTED: &[(&str, &str)] = &[
    ("llvm.nvvm.barrier0", "barrier"),
    ("llvm.nvvm.bar.warp.sync", "barrier of a warp"),
    ("llvm.nvvm.shfl", "shuffle"),
    ("redux.sync", "shuffle"),
    ("wgmma.mma_async", "matrix"),
    ("mma.sync", "matrix"),
    ("ldmatrix", "matrix load"),
    ("stmatrix", "matrix store"),
    ("cp.async.wait_group", "wait for copies"),
    ("wgmma.wait_group", "wait for products"),
];

/// What an instruction is, by the symbol it calls or its template; its own name, and how many of it there are.
fn classify(text: &str) -> Option<(&'static str, String, u64)> {
    let word_at = |at: usize| text[at..].split([' ', ';', '\t']).next().unwrap_or_default();
    // A longer name that merely holds another begins elsewhere than at a word.
    let goes_on = |before: char| before.is_alphanumeric() || before == '.' || before == '_';
    let starts_word = |at: usize| !text[..at].chars().next_back().is_some_and(goes_on);
    COUNTED.iter().find_map(|(name, what)| {
        let found = || text.match_indices(name).map(|found| found.0).filter(|at| starts_word(*at));
        let first = found().next()?;
        Some((*what, word_at(first).to_owned(), found().count() as u64))
    })
}

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
    lanes::survey(module, &Lanes { capability, machine: facts }, &how, classify)
        .map_err(|errors| gpu::not_lowered(&errors))
}

#[cfg(test)]
mod tests {
    use super::classify;

    #[test]
    fn instructions_are_told_by_their_names() {
        let what = |text| classify(text).map(|(what, name, _)| (what, name));
        assert_eq!(
            what("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0}, $1;"),
            Some(("matrix", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16".to_owned()))
        );
        assert_eq!(
            what("@$9 mma.sync.aligned.m16n8k16 {$0};"),
            Some(("matrix", "mma.sync.aligned.m16n8k16".to_owned()))
        );
        assert_eq!(what("llvm.nvvm.barrier0").map(|found| found.0), Some("barrier"));
        assert_eq!(classify("mma.sync.m16 a; mma.sync.m16 b;").map(|found| found.2), Some(2));
        assert_eq!(what("llvm.fma.f32"), None);
        assert_eq!(what("wgmma.fence.sync.aligned;"), None);
    }
}
