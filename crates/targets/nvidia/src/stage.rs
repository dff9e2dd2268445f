//! Names of the stages behind llir.

/// The text that an assembler reads; where none made a cubin, the driver does it when it loads the kernel.
pub(crate) const PTX: &str = "ptx";
/// Machine code, which the device loads.
pub(crate) const CUBIN: &str = "cubin";
/// Machine code as text.
pub(crate) const SASS: &str = "sass";
