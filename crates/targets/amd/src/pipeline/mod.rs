//! What is done to a program between block-level code and code of a lane: one flat list of passes for each family of architectures.

mod cdna;
mod rdna;

use amdgcn_isa::{Arch, CDNA};
use ir::pass::PassRow;

/// The passes for an architecture, behind the step that gives every block a layout.
pub fn passes(arch: Arch) -> &'static [&'static PassRow] {
    if CDNA.has(arch) { cdna::PASSES } else { rdna::PASSES }
}
