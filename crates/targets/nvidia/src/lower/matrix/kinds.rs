//! Which matrix instruction multiplies which element types: one row each.

use ir::{FloatKind, Type};

/// What operands a matrix instruction takes.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Name of the operands' element type in the instruction.
    pub(crate) operand: &'static str,
    /// Bytes of an element.
    pub(crate) bytes: u32,
    /// The float format; `None` for 8-bit integers.
    pub(crate) format: Option<FloatKind>,
}

/// The element types, by the names the instruction set gives them.
static KINDS: &[Kind] = &[
    Kind { operand: "f16", bytes: 2, format: Some(FloatKind::F16) },
    Kind { operand: "bf16", bytes: 2, format: Some(FloatKind::BF16) },
    Kind { operand: "tf32", bytes: 4, format: Some(FloatKind::F32) },
    Kind { operand: "f64", bytes: 8, format: Some(FloatKind::F64) },
    Kind { operand: "e4m3", bytes: 1, format: Some(FloatKind::F8E4M3FN) },
    Kind { operand: "e5m2", bytes: 1, format: Some(FloatKind::F8E5M2) },
    Kind { operand: "s8", bytes: 1, format: None },
];

/// The row of an element type.
pub(crate) fn kind(element: Type) -> Option<&'static Kind> {
    let format = element.as_float();
    let integer = element.as_int() == Some(8);
    KINDS.iter().find(|kind| kind.format == format && (format.is_some() || integer))
}

/// The name of the type of the sums, and what a register holds of them: two of 16 bits.
pub(crate) fn sum(element: Type) -> Option<(&'static str, llir::Type)> {
    match (element.as_float(), element.as_int()) {
        (Some(FloatKind::F32), _) => Some(("f32", llir::Type::F32)),
        (Some(FloatKind::F16), _) => Some(("f16", llir::Type::I32)),
        (Some(FloatKind::F64), _) => Some(("f64", llir::Type::F64)),
        (_, Some(32)) => Some(("s32", llir::Type::I32)),
        _ => None,
    }
}
