//! What is done to a program between block-level code and code of a lane: one flat list of passes for each family of
//! architectures.

mod sm80;
mod sm90;

use ir::pass::{Observer, PassRow, Verify};
use ir::{Diagnostic, Module};
use ttgir::Machine;

pub use gpu::Launch as Options;

/// The passes for an architecture, behind the step that gives every block a layout.
pub fn passes(arch: u32) -> &'static [&'static PassRow] {
    // Later architectures lack the dots of warp groups that 90 has.
    if (90..100).contains(&arch) { sm90::PASSES } else { sm80::PASSES }
}

/// From verified block-level code, on which the passes of `ttir` have run, to code with layouts that is ready for
/// lanes.
///
/// # Errors
/// What does not fit the machine, or an error of ours that the verifier found behind a pass.
pub fn to_ttgir(
    module: &mut Module,
    arch: u32,
    machine: &'static Machine,
    options: &Options,
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Vec<Diagnostic>> {
    gpu::to_ttgir(module, passes(arch), machine, options, verify, observer)
}
