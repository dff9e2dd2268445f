//! Options of a compile, by name.

use target::{CompileOptions, OptionValue};

/// The knob that leaves lines of the source out.
pub const NO_LINES: &str = "disable_line_info";
/// The knob that leaves out passes over llir.
pub const NO_PASSES: &str = "disable_llvm_opt";

/// A text among the options of a compile.
pub fn text<'a>(options: &'a CompileOptions, name: &str) -> Option<&'a str> {
    match options.extra.get(name) {
        Some(OptionValue::Str(text)) => Some(text),
        _ => None,
    }
}

/// A number among the options of a compile.
pub fn number(options: &CompileOptions, name: &str) -> Option<i64> {
    match options.extra.get(name) {
        Some(OptionValue::Int(number)) => Some(*number),
        _ => None,
    }
}
