//! Options of a compile, by name.

use target::{CompileOptions, OptionValue};

/// The knob that leaves lines of the source out.
pub const NO_LINES: &str = "disable_line_info";
/// The knob that leaves out passes over llir.
pub const NO_PASSES: &str = "disable_llvm_opt";

/// The option of a launch whose programs all run at the same time.
pub const COOPERATIVE: &str = "launch_cooperative_grid";

/// Whether a flag is among the options of a compile; people write numbers for it as well.
pub fn flag(options: &CompileOptions, name: &str) -> bool {
    match options.extra.get(name) {
        Some(OptionValue::Bool(flag)) => *flag,
        Some(OptionValue::Int(value)) => *value != 0,
        _ => false,
    }
}

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
