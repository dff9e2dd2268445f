//! Functions and instructions from outside the language.

use crate::types::VALUE_LIKE;
use ir::{AttrKind, AttrSpec, Format, Infer, OpRow, Traits, one, variadic};

/// A function of a maths library.
pub static EXTERN_ELEMENTWISE: OpRow = OpRow {
    name: "tt.extern_elementwise",
    doc: "A function of a maths library, named by `symbol`, on each element.",
    operands: &[variadic("srcs", &VALUE_LIKE)],
    attrs: &[
        AttrSpec::required("libname", AttrKind::Str),
        AttrSpec::required("libpath", AttrKind::Str),
        AttrSpec::required("pure", AttrKind::Bool),
        AttrSpec::required("symbol", AttrKind::Str),
    ],
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$srcs attr-dict : functional-type"),
    verify: Some(super::same_shape),
    ..OpRow::BASE
};

/// Instructions of the target.
pub static INLINE_ASM: OpRow = OpRow {
    name: "tt.elementwise_inline_asm",
    doc: "Instructions of the target, run for each `packed_element` elements.",
    operands: &[variadic("args", &VALUE_LIKE)],
    attrs: &[
        AttrSpec::required("asm_string", AttrKind::Str),
        AttrSpec::required("constraints", AttrKind::Str),
        AttrSpec::required("packed_element", AttrKind::Int(32)),
        AttrSpec::required("pure", AttrKind::Bool),
    ],
    results: &[variadic("result", &VALUE_LIKE)],
    infer: Infer::Explicit,
    // Kept in order even when pure: what it does is not known here.
    traits: Traits::WRITES,
    format: Format::Text("$asm_string attr-dict ($args : type($args))? -> type($result)"),
    ..OpRow::BASE
};
