//! PTX to machine code, by an assembler that is found.
//!
//! [`Ptxas`] runs the command `ptxas` where there is one; [`NvJitLink`] loads a library. The driver has an assembler of
//! its own (`driver::link`). None is part of this project.

pub(crate) mod again;
#[cfg_attr(not(target_os = "linux"), path = "ahead_elsewhere.rs")]
mod ahead;
pub(crate) mod choose;
mod cubin;
mod log;
mod made;
mod nvjitlink;
mod ptxas;
mod search;

pub use cubin::{CubinError, Facts, facts};
pub use log::Usage;
pub(crate) use log::complaints;
pub use nvjitlink::NvJitLink;
pub use ptxas::Ptxas;
pub use search::{NotFound, Search};

use ptx_isa::Arch;
use std::fmt;

/// What to ask of an assembler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssembleOptions {
    /// The architecture.
    pub arch: Arch,
    /// From 0 to 3.
    pub optimization: u32,
    /// Whether to keep the lines that `.loc` names.
    pub line_info: bool,
    /// Whether products and sums that are written apart, without a rounding, may be fused.
    pub fuse: bool,
    /// Further options, as the assembler has them.
    pub further: Vec<String>,
}

impl AssembleOptions {
    /// Full optimisation, lines, fused products.
    pub fn new(arch: Arch) -> AssembleOptions {
        AssembleOptions { arch, optimization: 3, line_info: true, fuse: true, further: Vec::new() }
    }
}

/// Machine code, and what the assembler said of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the assembler wrote besides.
    pub log: String,
    /// What each kernel uses, by its name.
    pub usage: Vec<(String, Usage)>,
}

/// Makes machine code from PTX.
pub trait Assembler {
    /// What it is and which version, for keys of caches and for people.
    fn version(&self) -> String;

    /// Assembles a text.
    ///
    /// # Errors
    /// What the assembler says, with the lines of the text that it speaks of; or why it could not be run.
    fn assemble(&self, ptx: &str, options: &AssembleOptions) -> Result<Cubin, AssembleError>;
}

/// Why there is no machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AssembleError {
    /// The assembler refuses the text: what it says, line by line.
    Refused(String),
    /// It could not be run.
    NotRun(String),
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Refused(text) => write!(f, "the assembler refuses the PTX:\n{text}"),
            AssembleError::NotRun(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for AssembleError {}
