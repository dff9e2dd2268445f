//! The text form: printing and parsing.

mod parse;
mod print;

pub use parse::{ParseError, Parser};
pub use print::{Printer, type_to_string};
