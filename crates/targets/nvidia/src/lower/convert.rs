//! Conversions of floats by instructions, chiefly of 8 bits.

use super::instruction::Instruction;
use elementwise::Rounding;
use ir::FloatKind::{self, BF16, F8E4M3FN, F8E5M2, F16, F32, F64};

use llir::{FunctionBuilder, Op, Type, Value};

/// The first capability with conversions of 8-bit floats.
const WITH_SMALL_FLOATS: u32 = 89;

/// PTX's word for an 8-bit format.
fn word(kind: FloatKind) -> Option<&'static str> {
    match kind {
        F8E4M3FN => Some("e4m3x2"),
        F8E5M2 => Some("e5m2x2"),
        _ => None,
    }
}

/// One conversion, where there is an instruction for it; narrowing saturates, as the hardware does.
pub(super) fn one(
    b: &mut FunctionBuilder<'_>,
    capability: u32,
    (from, to): (FloatKind, FloatKind),
    rounding: Rounding,
    value: Value,
) -> Option<Value> {
    if (from, to, rounding) == (F64, F16, Rounding::NearestEven) {
        return Some(b.cast(Op::FPTRUNC, value, Type::F16));
    }
    if from == F8E5M2 && to.bits() > 8 {
        return wide_from_half(b, to, |b| upper_byte(b, value));
    }
    if capability < WITH_SMALL_FLOATS {
        return None;
    }
    if let Some(from) = word(from) {
        return wide_from_half(b, to, |b| half_of(b, from, value));
    }
    let to = word(to).filter(|_| rounding == Rounding::NearestEven)?;
    let small = match from {
        F32 => {
            let zero = b.zero(Type::F32);
            let convert = Instruction::new(format!("cvt.rn.satfinite.{to}.f32")).results(Type::I16, 1);
            convert.register(zero).register(value).pure(b)
        }
        F16 => {
            let zero = b.zero(Type::F16);
            let pair = b.vector(&[value, zero]);
            let convert = Instruction::new(format!("cvt.rn.satfinite.{to}.f16x2")).results(Type::I16, 1);
            convert.register(pair).pure(b)
        }
        _ => return None,
    };
    Some(b.resize_unsigned(small, Type::I8))
}

/// E5M2 is the upper byte of binary16.
fn upper_byte(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let wide = b.resize_unsigned(value, Type::I16);
    let eight = b.int(Type::I16, 8);
    let bits = b.shl(wide, eight);
    b.bitcast(bits, Type::F16)
}

fn half_of(b: &mut FunctionBuilder<'_>, word: &str, value: Value) -> Value {
    let wide = b.resize_unsigned(value, Type::I16);
    let convert = Instruction::new(format!("cvt.rn.f16x2.{word}")).results(Type::F16.vector(2), 1);
    let pair = convert.register(wide).pure(b);
    b.extract(pair, 0)
}

/// Every 8-bit number is one of binary16, and so of the wider formats.
fn wide_from_half(
    b: &mut FunctionBuilder<'_>,
    to: FloatKind,
    half: impl FnOnce(&mut FunctionBuilder<'_>) -> Value,
) -> Option<Value> {
    match to {
        F16 => Some(half(b)),
        F32 => {
            let half = half(b);
            Some(b.cast(Op::FPEXT, half, Type::F32))
        }
        BF16 => {
            let half = half(b);
            let wide = b.cast(Op::FPEXT, half, Type::F32);
            Some(b.cast(Op::FPTRUNC, wide, Type::BF16))
        }
        _ => None,
    }
}
