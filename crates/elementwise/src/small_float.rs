//! Narrow floats: to binary32 and back.
//!
//! A 16-bit format converts by instructions where the machine has them, and an 8-bit one likewise; else exponent and
//! mantissa are moved into place and a multiplication by a power of two puts the exponent right, subnormal numbers
//! included.

use crate::{Ctx, Rounding};
use ir::{FloatKind, Type as IrType};
use llir::{FloatCompare, IntCompare, Op, Type, Value, intrinsics};

/// A format: its width and that of its mantissa, bias, what the top of its encodings means.
struct Format {
    bits: u32,
    mantissa: u32,
    bias: i32,
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
    let (bits, mantissa, bias, max, overflow, nan, is_fnuz) = match kind {
        FloatKind::F8E5M2 => (8, 2, 15, 0x7b, 0x7c, 0x7f, false),
        FloatKind::F8E5M2FNUZ => (8, 2, 16, 0x7f, 0x80, 0x80, true),
        FloatKind::F8E4M3FNUZ => (8, 3, 8, 0x7f, 0x80, 0x80, true),
        FloatKind::F16 => (16, 10, 15, 0x7bff, 0x7c00, 0x7e00, false),
        _ => (8, 3, 7, 0x7e, 0x7f, 0x7f, false),
    };
    Format { bits, mantissa, bias, max, overflow, nan, is_fnuz }
}

/// The type of a 16-bit format.
fn half_type(kind: FloatKind) -> Type {
    if kind == FloatKind::F16 { Type::F16 } else { Type::BF16 }
}

/// The value as binary32 (binary64 stays), exactly.
pub fn as_wide(ctx: &mut Ctx<'_, '_>, ty: IrType, value: Value) -> Value {
    match ty.as_float() {
        Some(kind @ (FloatKind::F16 | FloatKind::BF16)) => widen_half(ctx, kind, value),
        Some(kind) if kind.bits() == 8 => widen(ctx, kind, value),
        _ => value,
    }
}

fn widen_half(ctx: &mut Ctx<'_, '_>, kind: FloatKind, value: Value) -> Value {
    let float = ctx.like(value, Type::F32);
    if ctx.target.converts(kind) {
        let half = ctx.like(value, half_type(kind));
        let half = ctx.b.bitcast(value, half);
        return ctx.b.cast(Op::FPEXT, half, float);
    }
    let bits = ctx.b.bitcast(value, ctx.b.ty(value).as_int());
    if kind == FloatKind::F16 {
        return ctx.exactly(|ctx| widen_bits(ctx, &format(kind), bits));
    }
    let int = ctx.like(value, Type::I32);
    let wide = ctx.b.resize_unsigned(bits, int);
    let sixteen = ctx.b.int(int, 16);
    let bits = ctx.b.shl(wide, sixteen);
    ctx.b.bitcast(bits, float)
}

/// A binary32 or binary64 number in the format of a type, to nearest even, as the machine keeps it in a register.
pub fn narrow_to(ctx: &mut Ctx<'_, '_>, ty: IrType, value: Value) -> Value {
    let from = ctx.b.ty(value).lane();
    match ty.as_float() {
        Some(kind) if kind.bits() == 8 => {
            let value = if from == Type::F64 { to_odd(ctx, value) } else { value };
            narrow(ctx, kind, Rounding::NearestEven, value)
        }
        Some(kind @ (FloatKind::F16 | FloatKind::BF16)) if from != half_type(kind) => {
            let half = narrow_half(ctx, kind, value);
            let register = ctx.like(half, ctx.target.register(ty));
            ctx.b.bitcast(half, register)
        }
        Some(FloatKind::F32) => {
            let float = ctx.like(value, Type::F32);
            ctx.b.resize_float(value, float)
        }
        Some(FloatKind::F64) => {
            let float = ctx.like(value, Type::F64);
            ctx.b.resize_float(value, float)
        }
        _ => value,
    }
}

/// A 16-bit format, as a float or as its bits.
fn narrow_half(ctx: &mut Ctx<'_, '_>, kind: FloatKind, value: Value) -> Value {
    let from = ctx.b.ty(value).lane();
    let value = if from == Type::F64 {
        let formats = (FloatKind::F64, kind);
        if let Some(value) = ctx.target.convert(ctx.b, formats, Rounding::NearestEven, value) {
            return value;
        }
        to_odd(ctx, value)
    } else {
        value
    };
    if ctx.target.converts(kind) {
        let half = ctx.like(value, half_type(kind));
        return ctx.b.resize_float(value, half);
    }
    if let Some(value) = ctx.target.convert(ctx.b, (FloatKind::F32, kind), Rounding::NearestEven, value) {
        return value;
    }
    ctx.exactly(|ctx| {
        let int = ctx.like(value, Type::I32);
        let bits = ctx.b.bitcast(value, int);
        let encoded =
            if kind == FloatKind::F16 { narrow_bits(ctx, &format(kind), bits) } else { to_bf16(ctx, bits) };
        let small = ctx.like(value, Type::I16);
        ctx.b.resize_unsigned(encoded, small)
    })
}

/// The binary32 number of an 8-bit encoding, exactly.
fn widen(ctx: &mut Ctx<'_, '_>, kind: FloatKind, value: Value) -> Value {
    let formats = (kind, FloatKind::F32);
    if let Some(value) = ctx.target.convert(ctx.b, formats, Rounding::NearestEven, value) {
        return value;
    }
    ctx.exactly(|ctx| widen_bits(ctx, &format(kind), value))
}

fn widen_bits(ctx: &mut Ctx<'_, '_>, format: &Format, value: Value) -> Value {
    let (int, float) = (ctx.like(value, Type::I32), ctx.like(value, Type::F32));
    let wide = ctx.b.resize_unsigned(value, int);
    let sign = 1 << (format.bits - 1);
    let [magnitude_mask, up, sign_mask, to_top] =
        [sign - 1, 23 - i64::from(format.mantissa), sign, 32 - i64::from(format.bits)]
            .map(|value| ctx.b.int(int, value));
    let magnitude = ctx.b.and(wide, magnitude_mask);
    let placed = ctx.b.shl(magnitude, up);
    let placed = ctx.b.bitcast(placed, float);
    let scale = ctx.b.float(float, 2f64.powi(127 - format.bias));
    let scaled = ctx.b.fmul(placed, scale);
    let scaled = widen_specials(ctx, format, wide, magnitude, scaled);
    let sign = ctx.b.and(wide, sign_mask);
    let sign = ctx.b.shl(sign, to_top);
    let bits = ctx.b.bitcast(scaled, int);
    let signed = ctx.b.or(bits, sign);
    ctx.b.bitcast(signed, float)
}

/// The number of an encoding without infinities and NaN, of so many exponent and mantissa bits below its sign.
pub fn widen_tiny(ctx: &mut Ctx<'_, '_>, exponent: u32, mantissa: u32, value: Value) -> Value {
    let (int, float) = (ctx.like(value, Type::I32), ctx.like(value, Type::F32));
    let wide = ctx.b.resize_unsigned(value, int);
    let width = exponent + mantissa;
    let [magnitude_mask, sign_mask, up, to_top] = [(1 << width) - 1, 1 << width, 23 - mantissa, 31 - width]
        .map(|value| ctx.b.int(int, i64::from(value)));
    let magnitude = ctx.b.and(wide, magnitude_mask);
    let placed = ctx.b.shl(magnitude, up);
    let placed = ctx.b.bitcast(placed, float);
    let bias = (1 << (exponent - 1)) - 1;
    let scale = ctx.b.float(float, 2f64.powi(127 - bias));
    let scaled = ctx.exactly(|ctx| ctx.b.fmul(placed, scale));
    let sign = ctx.b.and(wide, sign_mask);
    let sign = ctx.b.shl(sign, to_top);
    let bits = ctx.b.bitcast(scaled, int);
    let signed = ctx.b.or(bits, sign);
    ctx.b.bitcast(signed, float)
}

/// Infinity and NaN of an encoding.
fn widen_specials(
    ctx: &mut Ctx<'_, '_>,
    format: &Format,
    wide: Value,
    magnitude: Value,
    scaled: Value,
) -> Value {
    let (int, float) = (ctx.b.ty(wide), ctx.b.ty(scaled));
    let nan = ctx.b.float(float, f64::NAN);
    if format.is_fnuz {
        let marker = ctx.b.int(int, format.nan);
        let is_nan = ctx.b.icmp(IntCompare::Eq, wide, marker);
        return ctx.b.select(is_nan, nan, scaled);
    }
    let top = ctx.b.int(int, format.overflow);
    if format.overflow == format.nan {
        let is_nan = ctx.b.icmp(IntCompare::Eq, magnitude, top);
        return ctx.b.select(is_nan, nan, scaled);
    }
    let infinity = ctx.b.float(float, f64::INFINITY);
    let is_infinite = ctx.b.icmp(IntCompare::Eq, magnitude, top);
    let scaled = ctx.b.select(is_infinite, infinity, scaled);
    let is_nan = ctx.b.icmp(IntCompare::Sgt, magnitude, top);
    ctx.b.select(is_nan, nan, scaled)
}

/// The 8-bit encoding of a binary32 number.
fn narrow(ctx: &mut Ctx<'_, '_>, kind: FloatKind, rounding: Rounding, value: Value) -> Value {
    let formats = (FloatKind::F32, kind);
    if let Some(value) = ctx.target.convert(ctx.b, formats, rounding, value) {
        return value;
    }
    let encoded = ctx.exactly(|ctx| {
        let (int, small) = (ctx.like(value, Type::I32), ctx.like(value, Type::I8));
        let bits = ctx.b.bitcast(value, int);
        let encoded = narrow_bits(ctx, &format(kind), bits);
        ctx.b.resize_unsigned(encoded, small)
    });
    match rounding {
        Rounding::NearestEven => encoded,
        Rounding::TowardZero => step_back(ctx, IrType::float(kind), encoded, value),
    }
}

/// A number in the format of a type, toward zero: the nearest, then one encoding back if that went away from zero.
pub fn narrow_toward_zero(ctx: &mut Ctx<'_, '_>, ty: IrType, value: Value) -> Value {
    if let Some(kind) = ty.as_float().filter(|kind| kind.bits() == 8) {
        let value = if ctx.b.ty(value).lane() == Type::F64 { to_odd(ctx, value) } else { value };
        return narrow(ctx, kind, Rounding::TowardZero, value);
    }
    let nearest = narrow_to(ctx, ty, value);
    let register = ctx.b.ty(nearest);
    let bits = ctx.b.bitcast(nearest, register.as_int());
    let stepped = step_back(ctx, ty, bits, value);
    ctx.b.bitcast(stepped, register)
}

/// One encoding toward zero where an encoding of a type is larger than the number it stands for.
fn step_back(ctx: &mut Ctx<'_, '_>, ty: IrType, encoded: Value, value: Value) -> Value {
    let (float, small) = (ctx.b.ty(value), ctx.b.ty(encoded));
    let register = ctx.like(encoded, ctx.target.register(ty));
    let narrow = ctx.b.bitcast(encoded, register);
    let back = as_wide(ctx, ty, narrow);
    let back = ctx.b.resize_float(back, float);
    let [size, limit] = [back, value].map(|value| ctx.b.intrinsic(&intrinsics::FABS, float, &[value]));
    let larger = ctx.b.fcmp(FloatCompare::Ogt, size, limit);
    let infinity = ctx.b.float(float, f64::INFINITY);
    let was_finite = ctx.b.fcmp(FloatCompare::Olt, limit, infinity);
    let is_nan = ctx.b.fcmp(FloatCompare::Uno, back, back);
    let overflowed = ctx.b.and(was_finite, is_nan);
    let away = ctx.b.or(larger, overflowed);
    // Machines may have no arithmetic of 8 bits.
    let int = small.lane_bits().max(ctx.target.abilities().widths.add);
    let int = ctx.like(encoded, Type::int(int as u16));
    let wide = ctx.b.resize_unsigned(encoded, int);
    let step = ctx.b.resize_unsigned(away, int);
    let mut stepped = ctx.b.sub(wide, step);
    if ty.as_float().is_some_and(|kind| kind.bits() == 8 && format(kind).is_fnuz) {
        stepped = step_around_nan(ctx, stepped, (away, overflowed), value);
    }
    ctx.b.resize_unsigned(stepped, small)
}

/// The encoding below the one that would be a negative zero, and is a NaN, is zero; overflow has lost its sign to that
/// NaN.
fn step_around_nan(
    ctx: &mut Ctx<'_, '_>,
    stepped: Value,
    (away, overflowed): (Value, Value),
    value: Value,
) -> Value {
    let (int, float) = (ctx.b.ty(stepped), ctx.b.ty(value));
    let [none, sign] = [0, 0x80].map(|value| ctx.b.int(int, value));
    let is_nan = ctx.b.icmp(IntCompare::Eq, stepped, sign);
    let vanishes = ctx.b.and(away, is_nan);
    let stepped = ctx.b.select(vanishes, none, stepped);
    let zero = ctx.b.float(float, 0.0);
    let is_negative = ctx.b.fcmp(FloatCompare::Olt, value, zero);
    let lost = ctx.b.and(overflowed, is_negative);
    let lost = ctx.b.select(lost, sign, none);
    ctx.b.or(stepped, lost)
}

/// binary64 to binary32 such that a second rounding to a narrower format gives what one rounding would.
fn to_odd(ctx: &mut Ctx<'_, '_>, value: Value) -> Value {
    let wide = ctx.b.ty(value);
    let (float, int) = (ctx.like(value, Type::F32), ctx.like(value, Type::I32));
    let near = ctx.b.cast(Op::FPTRUNC, value, float);
    let back = ctx.b.cast(Op::FPEXT, near, wide);
    let inexact = ctx.b.fcmp(FloatCompare::One, back, value);
    let [size, limit] = [back, value].map(|value| ctx.b.intrinsic(&intrinsics::FABS, wide, &[value]));
    let larger = ctx.b.fcmp(FloatCompare::Ogt, size, limit);
    let bits = ctx.b.bitcast(near, int);
    let one = ctx.b.int(int, 1);
    let lower = ctx.b.sub(bits, one);
    let toward_zero = ctx.b.select(larger, lower, bits);
    let odd = ctx.b.or(toward_zero, one);
    let bits = ctx.b.select(inexact, odd, bits);
    ctx.b.bitcast(bits, float)
}

fn to_bf16(ctx: &mut Ctx<'_, '_>, bits: Value) -> Value {
    let int = ctx.b.ty(bits);
    let [one, sixteen, bias, quiet, mask, infinity] =
        [1, 16, 0x7fff, 0x40, 0x7fff_ffff, 0x7f80_0000].map(|value| ctx.b.int(int, value));
    let high = ctx.b.lshr(bits, sixteen);
    let odd = ctx.b.and(high, one);
    let biased = ctx.b.add(bits, bias);
    let biased = ctx.b.add(biased, odd);
    let rounded = ctx.b.lshr(biased, sixteen);
    let nan = ctx.b.or(high, quiet);
    let magnitude = ctx.b.and(bits, mask);
    let is_nan = ctx.b.icmp(IntCompare::Ugt, magnitude, infinity);
    ctx.b.select(is_nan, nan, rounded)
}

fn narrow_bits(ctx: &mut Ctx<'_, '_>, format: &Format, bits: Value) -> Value {
    let (int, float) = (ctx.b.ty(bits), ctx.like(bits, Type::F32));
    let drop = 23 - i64::from(format.mantissa);
    let magnitude_mask = ctx.b.int(int, 0x7fff_ffff);
    let magnitude = ctx.b.and(bits, magnitude_mask);
    // Normal numbers: round the mantissa; a carry moves into the exponent by itself.
    let rebias = i64::from(127 - format.bias) << format.mantissa;
    let [one, by, half, rebias] = [1, drop, (1 << (drop - 1)) - 1, rebias].map(|value| ctx.b.int(int, value));
    let kept = ctx.b.lshr(magnitude, by);
    let odd = ctx.b.and(kept, one);
    let sum = ctx.b.add(magnitude, half);
    let sum = ctx.b.add(sum, odd);
    let rounded = ctx.b.lshr(sum, by);
    let normal = ctx.b.sub(rounded, rebias);
    // Subnormal numbers: adding a number whose last place is theirs rounds them.
    let magic = ctx.b.float(float, 2f64.powi(24 - format.bias - format.mantissa as i32));
    let size = ctx.b.bitcast(magnitude, float);
    let shifted = ctx.b.fadd(size, magic);
    let [shifted, magic] = [shifted, magic].map(|value| ctx.b.bitcast(value, int));
    let subnormal = ctx.b.sub(shifted, magic);
    let smallest = ctx.b.int(int, i64::from(127 + 1 - format.bias) << 23);
    let is_small = ctx.b.icmp(IntCompare::Ult, magnitude, smallest);
    let encoded = ctx.b.select(is_small, subnormal, normal);
    narrow_specials(ctx, format, (bits, magnitude), encoded)
}

/// Overflow, sign, NaN.
fn narrow_specials(
    ctx: &mut Ctx<'_, '_>,
    format: &Format,
    (bits, magnitude): (Value, Value),
    encoded: Value,
) -> Value {
    let int = ctx.b.ty(bits);
    let sign_down = 32 - i64::from(format.bits);
    let [max, overflow, nan, zero, sign_down, sign_mask, infinity] =
        [format.max, format.overflow, format.nan, 0, sign_down, 1 << (format.bits - 1), 0x7f80_0000]
            .map(|value| ctx.b.int(int, value));
    let is_over = ctx.b.icmp(IntCompare::Sgt, encoded, max);
    let sign = ctx.b.lshr(bits, sign_down);
    let mut sign = ctx.b.and(sign, sign_mask);
    if format.is_fnuz {
        let is_zero = ctx.b.icmp(IntCompare::Eq, encoded, zero);
        sign = ctx.b.select(is_zero, zero, sign);
    }
    // What is too large for 8 bits is held at the largest finite number, as machines with such formats do.
    let limit = if format.bits == 8 && !format.is_fnuz { max } else { overflow };
    let held = ctx.b.select(is_over, limit, encoded);
    let signed = ctx.b.or(held, sign);
    let is_nan = ctx.b.icmp(IntCompare::Ugt, magnitude, infinity);
    ctx.b.select(is_nan, nan, signed)
}
