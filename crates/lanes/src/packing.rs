//! Elements as integers, and narrow ones together in one 32-bit register.

use crate::context::Cx;
use llir::{Op, Type, Value, Values};

/// The type of the integer that [`as_integer`] makes of a value of a type.
pub(crate) fn integer_of(ty: Type) -> Type {
    match ty {
        Type::I1 => Type::I8,
        _ if ty.is_ptr() => Type::int(ty.lane_bits() as u16),
        _ => ty.as_int(),
    }
}

/// A value as an integer of its width; truth values as 8 bits.
pub(crate) fn as_integer(cx: &mut Cx<'_>, value: Value) -> Value {
    let ty = cx.b.ty(value);
    match ty {
        Type::I1 => cx.b.cast(Op::ZEXT, value, Type::I8),
        _ if ty.is_ptr() => cx.b.cast(Op::PTRTOINT, value, integer_of(ty)),
        _ => cx.b.bitcast(value, ty.as_int()),
    }
}

/// The value of a type with these bits: undoes [`as_integer`].
pub(crate) fn from_integer(cx: &mut Cx<'_>, bits: Value, ty: Type) -> Value {
    match ty {
        Type::I1 => cx.b.cast(Op::TRUNC, bits, ty),
        _ if ty.is_ptr() => cx.b.cast(Op::INTTOPTR, bits, ty),
        _ => cx.b.bitcast(bits, ty),
    }
}

/// Whether vectors of a type lie in memory and registers as its elements do.
fn is_packed(ty: Type) -> bool {
    !ty.is_ptr() && matches!(ty.lane_bits(), 8 | 16)
}

/// Elements of 8 or 16 bits one above the other in a 32-bit integer, the first lowest, the rest zeros.
pub(crate) fn join(cx: &mut Cx<'_>, values: &[Value]) -> Value {
    if let Some(ty) = values.first().map(|value| cx.b.ty(*value))
        && is_packed(ty)
        && values.len() as u32 * ty.lane_bits() == 32
    {
        let vector = cx.b.vector(values);
        return cx.b.bitcast(vector, Type::I32);
    }
    let mut parts: Vec<Value> = values.iter().map(|value| as_integer(cx, *value)).collect();
    let Some(first) = parts.first() else { return cx.b.i32(0) };
    let part = cx.b.ty(*first);
    let zero = cx.b.zero(part);
    parts.resize((32 / part.lane_bits()) as usize, zero);
    let vector = cx.b.vector(&parts);
    cx.b.bitcast(vector, Type::I32)
}

/// So many elements of a type of 8 or 16 bits out of a 32-bit integer, the lowest first.
pub(crate) fn split(cx: &mut Cx<'_>, word: Value, ty: Type, count: usize) -> Values {
    let width = ty.lane_bits().max(8);
    if is_packed(ty) {
        let vector = cx.b.bitcast(word, ty.vector(32 / width));
        return (0..count).map(|index| cx.b.extract(vector, index as u32)).collect();
    }
    let vector = cx.b.bitcast(word, Type::int(width as u16).vector(32 / width));
    (0..count)
        .map(|index| {
            let bits = cx.b.extract(vector, index as u32);
            from_integer(cx, bits, ty)
        })
        .collect()
}
