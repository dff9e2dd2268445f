//! The text form: printing and parsing.
//!
//! Hand-written formats of operations and types are written against [`Printer`] and [`Parser`].

mod alias;
mod decimal;
mod format;
mod name;
mod number;
mod parse;
mod parse_attr;
mod parse_branch;
mod parse_format;
mod parse_loc;
mod parse_op;
mod parse_type;
mod print;
mod print_attr;

pub(crate) use format::check_format;
pub use parse::{ParseError, ParseOptions, Parser, parse, parse_attr, parse_type};
pub use parse_attr::NamedAttr;
pub use parse_branch::{Branch, BranchError, Branches, Structure, Target};
pub use parse_op::Arg;
pub use print::{
    DictEdit, PrintOptions, Printer, RegionStyle, attr_to_string, op_to_string, print, type_to_string,
};

/// The property that says how many values each operand of an operation in generic form has.
const SEGMENTS: &str = "operandSegmentSizes";
