//! Printing and asserting while a kernel runs.

use crate::types::{BOOL_LIKE, VALUE_LIKE};
use ir::{AttrKind, AttrSpec, Format, OpRow, Traits, one, variadic};

/// Print.
pub static PRINT: OpRow = OpRow {
    name: "tt.print",
    doc: "Prints a prefix and every element of the operands with the position of the program and of the element.",
    operands: &[variadic("args", &VALUE_LIKE)],
    attrs: &[
        AttrSpec::required("prefix", AttrKind::Str),
        AttrSpec::required("hex", AttrKind::Bool),
        AttrSpec::required("isSigned", AttrKind::DenseArray(32)),
    ],
    traits: Traits::WRITES,
    format: Format::Text("$prefix attr-dict (: $args : type($args))?"),
    ..OpRow::BASE
};

/// Assert.
pub static ASSERT: OpRow = OpRow {
    name: "tt.assert",
    doc: "Stops the kernel with a message where the condition does not hold.",
    operands: &[one("condition", &BOOL_LIKE)],
    attrs: &[AttrSpec::required("message", AttrKind::Str)],
    traits: Traits::WRITES,
    format: Format::Text("$condition, $message attr-dict : type($condition)"),
    ..OpRow::BASE
};
