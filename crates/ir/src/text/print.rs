//! Prints a program.

use crate::module::Module;
use crate::types::Type;

/// Writes text.
pub struct Printer<'m> {
    /// The program.
    pub module: &'m Module,
    /// What was written.
    pub out: String,
}

/// A type in the text form.
pub fn type_to_string(_ty: Type) -> String {
    String::new()
}
