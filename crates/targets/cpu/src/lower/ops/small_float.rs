//! Floats of 16 and 8 bits as integers: to binary32 and back.
//!
//! binary16 uses the processor's conversions where there are any. All others move exponent and mantissa into place and
//! let a multiplication by a power of two put the exponent right, subnormal numbers included.

use crate::lower::cx::Cx;
use ir::FloatKind;
use llir::{FloatCompare, IntCompare, Op, Type, Value};

/// A format: widths, bias, what the top of its encodings means.
struct Format {
    mantissa: u32,
    bias: i32,
    bits: u32,
    /// The largest finite encoding without its sign.
    max: i64,
    /// What overflow gives, without a sign.
    overflow: i64,
    /// What a NaN becomes.
    nan: i64,
    /// There is no negative zero; its encoding is the NaN.
    is_fnuz: bool,
}

const fn format(kind: FloatKind) -> Format {
    let (mantissa, bias, bits, max, overflow, nan, is_fnuz) = match kind {
        FloatKind::F8E5M2 => (2, 15, 8, 0x7b, 0x7c, 0x7f, false),
        FloatKind::F8E4M3FN => (3, 7, 8, 0x7e, 0x7f, 0x7f, false),
        FloatKind::F8E5M2FNUZ => (2, 16, 8, 0x7f, 0x80, 0x80, true),
        FloatKind::F8E4M3FNUZ => (3, 8, 8, 0x7f, 0x80, 0x80, true),
        _ => (10, 15, 16, 0x7bff, 0x7c00, 0x7e00, false),
    };
    Format { mantissa, bias, bits, max, overflow, nan, is_fnuz }
}

/// The binary32 number of an encoding, exactly.
pub(crate) fn widen(cx: &mut Cx<'_>, kind: FloatKind, value: Value) -> Value {
    let ty = cx.b.ty(value);
    let (int, float) = (ty.with_scalar(Type::I32), ty.with_scalar(Type::F32));
    if kind == FloatKind::F16 && cx.machine.has_f16 {
        let half = cx.b.bitcast(value, ty.with_scalar(Type::F16));
        return cx.b.resize_float(half, float);
    }
    let wide = cx.b.resize_unsigned(value, int);
    if kind == FloatKind::BF16 {
        let sixteen = cx.b.int(int, 16);
        let bits = cx.b.shl(wide, sixteen);
        return cx.b.bitcast(bits, float);
    }
    let format = format(kind);
    let magnitude_mask = cx.b.int(int, (1 << (format.bits - 1)) - 1);
    let magnitude = cx.b.and(wide, magnitude_mask);
    let up = cx.b.int(int, i64::from(23 - format.mantissa));
    let placed = cx.b.shl(magnitude, up);
    let placed = cx.b.bitcast(placed, float);
    let scale = cx.b.float(float, 2f64.powi(127 - format.bias));
    let scaled = cx.b.fmul(placed, scale);
    let scaled = specials(cx, &format, wide, magnitude, scaled);
    let sign_mask = cx.b.int(int, 1 << (format.bits - 1));
    let sign = cx.b.and(wide, sign_mask);
    let to_top = cx.b.int(int, i64::from(32 - format.bits));
    let sign = cx.b.shl(sign, to_top);
    let bits = cx.b.bitcast(scaled, int);
    let signed = cx.b.or(bits, sign);
    cx.b.bitcast(signed, float)
}

/// The number of an encoding without infinities and NaN, of so many exponent and mantissa bits below its sign.
pub(crate) fn widen_tiny(cx: &mut Cx<'_>, exponent: u32, mantissa: u32, value: Value) -> Value {
    let int = cx.b.ty(value).with_scalar(Type::I32);
    let float = int.with_scalar(Type::F32);
    let wide = cx.b.resize_unsigned(value, int);
    let width = exponent + mantissa;
    let [magnitude_mask, sign_mask, up, to_top] = [(1 << width) - 1, 1 << width, 23 - mantissa, 31 - width]
        .map(|value| cx.b.int(int, i64::from(value)));
    let magnitude = cx.b.and(wide, magnitude_mask);
    let placed = cx.b.shl(magnitude, up);
    let placed = cx.b.bitcast(placed, float);
    let bias = (1 << (exponent - 1)) - 1;
    let scale = cx.b.float(float, 2f64.powi(127 - bias));
    let scaled = cx.b.fmul(placed, scale);
    let sign = cx.b.and(wide, sign_mask);
    let sign = cx.b.shl(sign, to_top);
    let bits = cx.b.bitcast(scaled, int);
    let signed = cx.b.or(bits, sign);
    cx.b.bitcast(signed, float)
}

/// Puts infinities and NaN in place.
fn specials(cx: &mut Cx<'_>, format: &Format, wide: Value, magnitude: Value, scaled: Value) -> Value {
    let float = cx.b.ty(scaled);
    let int = cx.b.ty(magnitude);
    let nan = cx.b.bits(float, 0x7fc0_0000);
    if format.is_fnuz {
        let code = cx.b.int(int, format.nan);
        let is_nan = cx.b.icmp(IntCompare::Eq, wide, code);
        return cx.b.select(is_nan, nan, scaled);
    }
    let mut result = scaled;
    let top = cx.b.int(int, format.overflow);
    if format.overflow == format.nan {
        let is_nan = cx.b.icmp(IntCompare::Eq, magnitude, top);
        return cx.b.select(is_nan, nan, result);
    }
    let infinity = cx.b.float(float, f64::INFINITY);
    let is_infinite = cx.b.icmp(IntCompare::Eq, magnitude, top);
    result = cx.b.select(is_infinite, infinity, result);
    let is_nan = cx.b.icmp(IntCompare::Sgt, magnitude, top);
    cx.b.select(is_nan, nan, result)
}

/// The encoding of a binary32 (or, rounded to odd first, binary64) number, to nearest even.
pub(crate) fn narrow(cx: &mut Cx<'_>, kind: FloatKind, value: Value) -> Value {
    let ty = cx.b.ty(value);
    let value = if ty.lane_bits() == 64 { to_odd(cx, value) } else { value };
    let (int, small) = (ty.with_scalar(Type::I32), ty.with_scalar(Type::int(kind.bits() as u16)));
    if kind == FloatKind::F16 && cx.machine.has_f16 {
        let half = cx.b.resize_float(value, ty.with_scalar(Type::F16));
        return cx.b.bitcast(half, small);
    }
    let bits = cx.b.bitcast(value, int);
    let encoded = if kind == FloatKind::BF16 { to_bf16(cx, bits) } else { to_small(cx, &format(kind), bits) };
    cx.b.resize_unsigned(encoded, small)
}

/// The nearest encodings toward zero.
pub(crate) fn narrow_toward_zero(cx: &mut Cx<'_>, kind: FloatKind, value: Value) -> Value {
    let nearest = narrow(cx, kind, value);
    let (float, small) = (cx.b.ty(value), cx.b.ty(nearest));
    let back = widen(cx, kind, nearest);
    let back = cx.b.resize_float(back, float);
    let [size, limit] = [back, value].map(|value| cx.b.intrinsic("llvm.fabs", float, &[value]));
    let larger = cx.b.fcmp(FloatCompare::Ogt, size, limit);
    let infinity = cx.b.float(float, f64::INFINITY);
    let was_finite = cx.b.fcmp(FloatCompare::Olt, limit, infinity);
    let is_nan = cx.b.fcmp(FloatCompare::Uno, back, back);
    let overflowed = cx.b.and(was_finite, is_nan);
    let away = cx.b.or(larger, overflowed);
    let (one, zero) = (cx.b.int(small, 1), cx.b.zero(small));
    let step = cx.b.select(away, one, zero);
    cx.b.sub(nearest, step)
}

/// binary64 to binary32 such that a second rounding to a narrower format gives what one rounding would.
fn to_odd(cx: &mut Cx<'_>, value: Value) -> Value {
    let wide = cx.b.ty(value);
    let (float, int) = (wide.with_scalar(Type::F32), wide.with_scalar(Type::I32));
    let near = cx.b.resize_float(value, float);
    let back = cx.b.resize_float(near, wide);
    let inexact = cx.b.fcmp(FloatCompare::One, back, value);
    let [size, limit] = [back, value].map(|value| cx.b.intrinsic("llvm.fabs", wide, &[value]));
    let larger = cx.b.fcmp(FloatCompare::Ogt, size, limit);
    let bits = cx.b.bitcast(near, int);
    let one = cx.b.int(int, 1);
    let lower = cx.b.sub(bits, one);
    let toward_zero = cx.b.select(larger, lower, bits);
    let odd = cx.b.or(toward_zero, one);
    let bits = cx.b.select(inexact, odd, bits);
    cx.b.bitcast(bits, float)
}

fn to_bf16(cx: &mut Cx<'_>, bits: Value) -> Value {
    let int = cx.b.ty(bits);
    let [one, sixteen, bias, quiet] = [1, 16, 0x7fff, 0x40].map(|value| cx.b.int(int, value));
    let high = cx.b.lshr(bits, sixteen);
    let odd = cx.b.and(high, one);
    let biased = cx.b.add(bits, bias);
    let biased = cx.b.add(biased, odd);
    let rounded = cx.b.lshr(biased, sixteen);
    let nan = cx.b.or(high, quiet);
    let is_nan = is_nan(cx, bits);
    cx.b.select(is_nan, nan, rounded)
}

fn is_nan(cx: &mut Cx<'_>, bits: Value) -> Value {
    let int = cx.b.ty(bits);
    let (mask, infinity) = (cx.b.int(int, 0x7fff_ffff), cx.b.int(int, 0x7f80_0000));
    let magnitude = cx.b.and(bits, mask);
    cx.b.icmp(IntCompare::Ugt, magnitude, infinity)
}

fn to_small(cx: &mut Cx<'_>, format: &Format, bits: Value) -> Value {
    let int = cx.b.ty(bits);
    let float = int.with_scalar(Type::F32);
    let drop = 23 - format.mantissa;
    let magnitude_mask = cx.b.int(int, 0x7fff_ffff);
    let magnitude = cx.b.and(bits, magnitude_mask);
    // Normal numbers: round the mantissa; a carry moves into the exponent by itself.
    let [one, by] = [1, i64::from(drop)].map(|value| cx.b.int(int, value));
    let kept = cx.b.lshr(magnitude, by);
    let odd = cx.b.and(kept, one);
    let half = cx.b.int(int, (1 << (drop - 1)) - 1);
    let sum = cx.b.add(magnitude, half);
    let sum = cx.b.add(sum, odd);
    let rounded = cx.b.lshr(sum, by);
    let rebias = cx.b.int(int, i64::from(127 - format.bias) << format.mantissa);
    let normal = cx.b.sub(rounded, rebias);
    // Subnormal numbers: adding a number whose last place is theirs rounds them.
    let magic = cx.b.float(float, 2f64.powi(24 - format.bias - format.mantissa as i32));
    let size = cx.b.bitcast(magnitude, float);
    let shifted = cx.b.fadd(size, magic);
    let [shifted, magic] = [shifted, magic].map(|value| cx.b.bitcast(value, int));
    let subnormal = cx.b.sub(shifted, magic);
    let smallest = cx.b.int(int, i64::from(127 + 1 - format.bias) << 23);
    let is_small = cx.b.icmp(IntCompare::Ult, magnitude, smallest);
    let encoded = cx.b.select(is_small, subnormal, normal);
    finish(cx, format, bits, encoded)
}

/// Overflow, sign, NaN.
fn finish(cx: &mut Cx<'_>, format: &Format, bits: Value, encoded: Value) -> Value {
    let int = cx.b.ty(bits);
    let [max, overflow, nan, zero] =
        [format.max, format.overflow, format.nan, 0].map(|value| cx.b.int(int, value));
    let is_over = cx.b.icmp(IntCompare::Sgt, encoded, max);
    let sign_down = cx.b.int(int, i64::from(32 - format.bits));
    let sign_mask = cx.b.int(int, 1 << (format.bits - 1));
    let sign = cx.b.cast(Op::LSHR, bits, int);
    let sign = cx.b.lshr(sign, sign_down);
    let mut sign = cx.b.and(sign, sign_mask);
    if format.is_fnuz {
        let is_zero = cx.b.icmp(IntCompare::Eq, encoded, zero);
        sign = cx.b.select(is_zero, zero, sign);
    }
    // What is too large for 8 bits is held at the largest finite number, as processors with such formats do.
    let limit = if format.bits == 8 && !format.is_fnuz { max } else { overflow };
    let held = cx.b.select(is_over, limit, encoded);
    let signed = cx.b.or(held, sign);
    let is_nan = is_nan(cx, bits);
    cx.b.select(is_nan, nan, signed)
}
