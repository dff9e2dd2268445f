//! Narrow floats: to binary32 and back.
//!
//! The 16-bit formats convert by instructions. The 8-bit formats do where the machine has instructions for them; else
//! exponent and mantissa are moved into place and a multiplication by a power of two puts the exponent right, subnormal
//! numbers included.

use crate::cx::Cx;
use crate::target::Rounding;
use crate::types;
use ir::{FloatKind, Type as IrType};
use llir::{Flags, FloatCompare, IntCompare, Op, Type, Value};

/// An 8-bit format: width of its mantissa, bias, what the top of its encodings means.
struct Format {
    mantissa: u32,
    bias: i32,
    /// The largest finite encoding without its sign.
    max: i32,
    /// What overflow gives, without a sign.
    overflow: i32,
    /// What a NaN becomes.
    nan: i32,
    /// There is no negative zero; its encoding is the NaN.
    is_fnuz: bool,
}

const fn format(kind: FloatKind) -> Format {
    let (mantissa, bias, max, overflow, nan, is_fnuz) = match kind {
        FloatKind::F8E5M2 => (2, 15, 0x7b, 0x7c, 0x7f, false),
        FloatKind::F8E5M2FNUZ => (2, 16, 0x7f, 0x80, 0x80, true),
        FloatKind::F8E4M3FNUZ => (3, 8, 0x7f, 0x80, 0x80, true),
        _ => (3, 7, 0x7e, 0x7f, 0x7f, false),
    };
    Format { mantissa, bias, max, overflow, nan, is_fnuz }
}

/// The value as binary32 (binary64 stays), exactly.
pub(crate) fn as_wide(cx: &mut Cx<'_>, ty: IrType, value: Value) -> Value {
    match ty.as_float() {
        Some(FloatKind::F16 | FloatKind::BF16) => cx.b.cast(Op::FPEXT, value, Type::F32),
        Some(kind) if kind.bits() == 8 => widen(cx, kind, value),
        _ => value,
    }
}

/// A binary32 or binary64 number in the format of a type, to nearest even.
pub(crate) fn narrow_to(cx: &mut Cx<'_>, ty: IrType, value: Value) -> Value {
    let from = cx.b.ty(value);
    match ty.as_float() {
        Some(kind) if kind.bits() == 8 => {
            let value = if from == Type::F64 { to_odd(cx, value) } else { value };
            narrow(cx, kind, Rounding::NearestEven, value)
        }
        Some(FloatKind::BF16) if from == Type::F64 => {
            let value = to_odd(cx, value);
            cx.b.cast(Op::FPTRUNC, value, Type::BF16)
        }
        Some(_) => cx.b.resize_float(value, types::register(ty)),
        None => value,
    }
}

/// Computes on what multiplies and powers of two leave exact: nothing may be fused or reordered.
pub(crate) fn exactly<T>(cx: &mut Cx<'_>, build: impl FnOnce(&mut Cx<'_>) -> T) -> T {
    let flags = cx.b.set_float_flags(Flags::NONE);
    let result = build(cx);
    cx.b.set_float_flags(flags);
    result
}

/// The binary32 number of an 8-bit encoding, exactly.
fn widen(cx: &mut Cx<'_>, kind: FloatKind, value: Value) -> Value {
    if let Some(value) = cx.target.convert(&mut cx.b, kind, FloatKind::F32, Rounding::NearestEven, value) {
        return value;
    }
    exactly(cx, |cx| widen_bits(cx, &format(kind), value))
}

fn widen_bits(cx: &mut Cx<'_>, format: &Format, value: Value) -> Value {
    let wide = cx.b.resize_unsigned(value, Type::I32);
    let [magnitude_mask, up, sign_mask, to_top] =
        [0x7f, 23 - format.mantissa as i32, 0x80, 24].map(|value| cx.b.i32(value));
    let magnitude = cx.b.and(wide, magnitude_mask);
    let placed = cx.b.shl(magnitude, up);
    let placed = cx.b.bitcast(placed, Type::F32);
    let scale = cx.b.float(Type::F32, 2f64.powi(127 - format.bias));
    let scaled = cx.b.fmul(placed, scale);
    let scaled = widen_specials(cx, format, wide, magnitude, scaled);
    let sign = cx.b.and(wide, sign_mask);
    let sign = cx.b.shl(sign, to_top);
    let bits = cx.b.bitcast(scaled, Type::I32);
    let signed = cx.b.or(bits, sign);
    cx.b.bitcast(signed, Type::F32)
}

/// Infinity and NaN of an encoding.
fn widen_specials(cx: &mut Cx<'_>, format: &Format, wide: Value, magnitude: Value, scaled: Value) -> Value {
    let nan = cx.b.float(Type::F32, f64::NAN);
    if format.is_fnuz {
        let marker = cx.b.i32(format.nan);
        let is_nan = cx.b.icmp(IntCompare::Eq, wide, marker);
        return cx.b.select(is_nan, nan, scaled);
    }
    let top = cx.b.i32(format.overflow);
    if format.overflow == format.nan {
        let is_nan = cx.b.icmp(IntCompare::Eq, magnitude, top);
        return cx.b.select(is_nan, nan, scaled);
    }
    let infinity = cx.b.float(Type::F32, f64::INFINITY);
    let is_infinite = cx.b.icmp(IntCompare::Eq, magnitude, top);
    let scaled = cx.b.select(is_infinite, infinity, scaled);
    let is_nan = cx.b.icmp(IntCompare::Sgt, magnitude, top);
    cx.b.select(is_nan, nan, scaled)
}

/// The 8-bit encoding of a binary32 number.
pub(crate) fn narrow(cx: &mut Cx<'_>, kind: FloatKind, rounding: Rounding, value: Value) -> Value {
    if let Some(value) = cx.target.convert(&mut cx.b, FloatKind::F32, kind, rounding, value) {
        return value;
    }
    let encoded = exactly(cx, |cx| {
        let bits = cx.b.bitcast(value, Type::I32);
        let encoded = narrow_bits(cx, &format(kind), bits);
        cx.b.resize_unsigned(encoded, Type::I8)
    });
    match rounding {
        Rounding::NearestEven => encoded,
        Rounding::TowardZero => step_back(cx, IrType::float(kind), encoded, value),
    }
}

/// A number in the format of a type, toward zero: the nearest, then one encoding back if that went away from zero.
pub(crate) fn narrow_toward_zero(cx: &mut Cx<'_>, ty: IrType, value: Value) -> Value {
    if let Some(kind) = types::small_float(ty) {
        let value = if cx.b.ty(value) == Type::F64 { to_odd(cx, value) } else { value };
        return narrow(cx, kind, Rounding::TowardZero, value);
    }
    let nearest = narrow_to(cx, ty, value);
    let register = cx.b.ty(nearest);
    let bits = cx.b.bitcast(nearest, register.as_int());
    let stepped = step_back(cx, ty, bits, value);
    cx.b.bitcast(stepped, register)
}

/// One encoding toward zero where an encoding of a type is larger than the number it stands for.
fn step_back(cx: &mut Cx<'_>, ty: IrType, encoded: Value, value: Value) -> Value {
    let (float, small) = (cx.b.ty(value), cx.b.ty(encoded));
    let register = types::register(ty);
    let narrow = cx.b.bitcast(encoded, register);
    let back = as_wide(cx, ty, narrow);
    let back = cx.b.resize_float(back, float);
    let [size, limit] = [back, value].map(|value| cx.b.intrinsic("llvm.fabs", float, &[value]));
    let larger = cx.b.fcmp(FloatCompare::Ogt, size, limit);
    let infinity = cx.b.float(float, f64::INFINITY);
    let was_finite = cx.b.fcmp(FloatCompare::Olt, limit, infinity);
    let is_nan = cx.b.fcmp(FloatCompare::Uno, back, back);
    let overflowed = cx.b.and(was_finite, is_nan);
    let away = cx.b.or(larger, overflowed);
    // Counting down is done in 16 bits: machines have no arithmetic of 8.
    let wide = cx.b.resize_unsigned(encoded, Type::I16);
    let step = cx.b.resize_unsigned(away, Type::I16);
    let stepped = cx.b.sub(wide, step);
    cx.b.resize_unsigned(stepped, small)
}

/// binary64 to binary32 such that a second rounding to a narrower format gives what one rounding would.
fn to_odd(cx: &mut Cx<'_>, value: Value) -> Value {
    let near = cx.b.cast(Op::FPTRUNC, value, Type::F32);
    let back = cx.b.cast(Op::FPEXT, near, Type::F64);
    let inexact = cx.b.fcmp(FloatCompare::One, back, value);
    let [size, limit] = [back, value].map(|value| cx.b.intrinsic("llvm.fabs", Type::F64, &[value]));
    let larger = cx.b.fcmp(FloatCompare::Ogt, size, limit);
    let bits = cx.b.bitcast(near, Type::I32);
    let one = cx.b.i32(1);
    let lower = cx.b.sub(bits, one);
    let toward_zero = cx.b.select(larger, lower, bits);
    let odd = cx.b.or(toward_zero, one);
    let bits = cx.b.select(inexact, odd, bits);
    cx.b.bitcast(bits, Type::F32)
}

fn narrow_bits(cx: &mut Cx<'_>, format: &Format, bits: Value) -> Value {
    let drop = 23 - format.mantissa as i32;
    let magnitude_mask = cx.b.i32(0x7fff_ffff);
    let magnitude = cx.b.and(bits, magnitude_mask);
    // Normal numbers: round the mantissa; a carry moves into the exponent by itself.
    let [one, by, half, rebias] =
        [1, drop, (1 << (drop - 1)) - 1, (127 - format.bias) << format.mantissa].map(|value| cx.b.i32(value));
    let kept = cx.b.lshr(magnitude, by);
    let odd = cx.b.and(kept, one);
    let sum = cx.b.add(magnitude, half);
    let sum = cx.b.add(sum, odd);
    let rounded = cx.b.lshr(sum, by);
    let normal = cx.b.sub(rounded, rebias);
    // Subnormal numbers: adding a number whose last place is theirs rounds them.
    let magic = cx.b.float(Type::F32, 2f64.powi(24 - format.bias - format.mantissa as i32));
    let size = cx.b.bitcast(magnitude, Type::F32);
    let shifted = cx.b.fadd(size, magic);
    let [shifted, magic] = [shifted, magic].map(|value| cx.b.bitcast(value, Type::I32));
    let subnormal = cx.b.sub(shifted, magic);
    let smallest = cx.b.i32((127 + 1 - format.bias) << 23);
    let is_small = cx.b.icmp(IntCompare::Ult, magnitude, smallest);
    let encoded = cx.b.select(is_small, subnormal, normal);
    narrow_specials(cx, format, (bits, magnitude), encoded)
}

/// Overflow, sign, NaN.
fn narrow_specials(
    cx: &mut Cx<'_>,
    format: &Format,
    (bits, magnitude): (Value, Value),
    encoded: Value,
) -> Value {
    let [max, overflow, nan, zero, sign_down, sign_mask, infinity] =
        [format.max, format.overflow, format.nan, 0, 24, 0x80, 0x7f80_0000].map(|value| cx.b.i32(value));
    let is_over = cx.b.icmp(IntCompare::Sgt, encoded, max);
    let sign = cx.b.lshr(bits, sign_down);
    let mut sign = cx.b.and(sign, sign_mask);
    if format.is_fnuz {
        let is_zero = cx.b.icmp(IntCompare::Eq, encoded, zero);
        sign = cx.b.select(is_zero, zero, sign);
    }
    // What is too large is held at the largest finite number, as machines with such formats do.
    let limit = if format.is_fnuz { overflow } else { max };
    let held = cx.b.select(is_over, limit, encoded);
    let signed = cx.b.or(held, sign);
    let is_nan = cx.b.icmp(IntCompare::Ugt, magnitude, infinity);
    cx.b.select(is_nan, nan, signed)
}
