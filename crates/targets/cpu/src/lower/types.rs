//! How block-level types are kept in registers and in memory.
//!
//! Floats of 16 and 8 bits are kept as their bits, in integers: arithmetic widens them to binary32 and rounds back, the
//! same on every processor. A truth value is an `i1` in a register and a byte in memory.

use ir::{FloatKind, Type, TypeKind};

/// The type of one element in a register.
pub(crate) fn register(ty: Type) -> llir::Type {
    match ty.kind() {
        TypeKind::Int(bits) => llir::Type::int(*bits as u16),
        TypeKind::Float(FloatKind::F32) => llir::Type::F32,
        TypeKind::Float(FloatKind::F64) => llir::Type::F64,
        TypeKind::Float(kind) => llir::Type::int(kind.bits() as u16),
        TypeKind::Index => llir::Type::I64,
        _ => llir::Type::PTR,
    }
}

/// The type of one element in memory.
pub(crate) fn memory(ty: Type) -> llir::Type {
    if ty.as_int() == Some(1) { llir::Type::I8 } else { register(ty) }
}

/// A value as it was in memory, as it is in a register.
pub(crate) fn in_register(b: &mut llir::FunctionBuilder<'_>, value: llir::Value, elem: Type) -> llir::Value {
    if elem.as_int() != Some(1) {
        return value;
    }
    let zero = b.zero(b.ty(value));
    b.icmp(llir::IntCompare::Ne, value, zero)
}

/// A float that is kept as its bits.
pub(crate) fn small_float(ty: Type) -> Option<FloatKind> {
    ty.as_float().filter(|kind| kind.bits() < 32)
}

/// The shape of a block with its dimensions as `usize`-friendly numbers.
pub(crate) fn shape(ty: Type) -> &'static [i64] {
    ttir::types::shape(ty)
}

/// The strides of a block that is stored row by row without gaps.
pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim];
    }
    strides
}

/// The type that numbers are multiplied in by `dot`: narrow floats as binary32, narrow integers as `i32`.
pub(crate) fn dot_operand(elem: Type) -> Type {
    match (small_float(elem), elem.as_int()) {
        (Some(_), _) => Type::float(FloatKind::F32),
        (None, Some(bits)) if bits < 32 => Type::int(32),
        _ => elem,
    }
}
