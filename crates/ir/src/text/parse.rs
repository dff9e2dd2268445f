//! Parses a program.

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub col: u32,
}

/// Reads text.
pub struct Parser<'t> {
    /// What is left.
    pub rest: &'t str,
}
