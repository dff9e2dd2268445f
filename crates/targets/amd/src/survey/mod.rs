//! What a compile decided, and what devices can do: for people who ask why a kernel is as fast as it is.

mod devices;
mod listing;
mod residency;

pub(crate) use devices::peaks;
pub(crate) use residency::resources;

use crate::lower::Lanes;
use amdgcn_isa::{Arch, Role};
use llir::Callee;
use target::survey::Survey;
use target::{CompileOptions, TargetError};

/// What a call is, if it is worth counting.
fn classify(callee: &Callee) -> Option<&'static str> {
    Some(match amdgcn_isa::of(callee)?.role? {
        Role::Barrier => "barrier",
        Role::WaveBarrier => "barrier of a warp",
        Role::Shuffle | Role::Permute => "shuffle",
        Role::Multiply => "matrix",
        Role::MatrixLoad => "matrix load",
    })
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
    let classify = lanes::Classify { call: classify, template: |_| None };
    lanes::survey(module, &lanes, &how, classify).map_err(|errors| gpu::not_lowered(&errors))
}
