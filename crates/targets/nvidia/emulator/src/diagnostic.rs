//! What is wrong with a PTX text: the line, and a sentence.

use std::fmt;

/// A text that cannot be run, with the line (from 1) that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line of the PTX text, counted from 1.
    pub line: u32,
    /// What was found and what was expected.
    pub message: String,
}

impl Diagnostic {
    /// A diagnostic of one line.
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Diagnostic {
        Diagnostic { line, message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Diagnostic {}
