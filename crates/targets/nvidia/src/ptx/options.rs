//! How PTX is written.

use ptx_isa::{Arch, Version};

/// What the text is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The architecture.
    pub arch: Arch,
    /// Whether the text says where instructions come from.
    pub has_lines: bool,
    /// A version to ask for even when an older one has every instruction.
    pub version: Option<Version>,
    /// Whether the assembler may unroll loops.
    pub unroll: bool,
}

impl Options {
    /// Plain text for an architecture.
    pub fn new(arch: Arch) -> Options {
        Options { arch, has_lines: false, version: None, unroll: true }
    }
}
