//! What cannot be written as PTX, and where it comes from.

use std::fmt;

/// Why there is no PTX for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PtxError {
    /// The function.
    pub function: String,
    /// File, line and column, where they are known.
    pub location: Option<(String, u32, u32)>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line, column)) = &self.location {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        write!(f, "in `{}`: {}", self.function, self.message)
    }
}

impl std::error::Error for PtxError {}
