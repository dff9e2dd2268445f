//! Functions of maths libraries on integers and on the bits of floats.

use super::{Make, Row};
use crate::arith_int::absolute;
use crate::cast::{convert, from_int, to_int};
use crate::{Ctx, Elems, Result};
use llir::{FloatCompare, IntCompare, Intrinsic, Op, Type, Value, intrinsics};

/// Plain name, number of operands, meaning.
pub(super) const TABLE: &[Row] = &[
    ("abs", 1, |ctx, _, x| Ok(magnitude(ctx, x[0]))),
    ("llabs", 1, |ctx, _, x| Ok(absolute(ctx, x[0]))),
    ("brev", 1, |ctx, _, x| unary(ctx, &intrinsics::BITREVERSE, x)),
    ("brevll", 1, |ctx, _, x| unary(ctx, &intrinsics::BITREVERSE, x)),
    ("clz", 1, |ctx, _, x| Ok(counted(ctx, &intrinsics::CTLZ, x[0]))),
    ("clzll", 1, |ctx, _, x| Ok(counted(ctx, &intrinsics::CTLZ, x[0]))),
    ("popc", 1, |ctx, _, x| unary(ctx, &intrinsics::CTPOP, x)),
    ("popcll", 1, |ctx, _, x| unary(ctx, &intrinsics::CTPOP, x)),
    ("ffs", 1, |ctx, _, x| Ok(first_set(ctx, x[0]))),
    ("ffsll", 1, |ctx, _, x| Ok(first_set(ctx, x[0]))),
    ("byte_perm", 3, |ctx, _, x| Ok(permute_bytes(ctx, x))),
    ("mulhi", 2, |ctx, _, x| Ok(ctx.target.mul_high(ctx.b, true, x[0], x[1]))),
    ("mul64hi", 2, |ctx, _, x| Ok(ctx.target.mul_high(ctx.b, true, x[0], x[1]))),
    ("umulhi", 2, |ctx, _, x| Ok(ctx.target.mul_high(ctx.b, false, x[0], x[1]))),
    ("umul64hi", 2, |ctx, _, x| Ok(ctx.target.mul_high(ctx.b, false, x[0], x[1]))),
    ("mul24", 2, |ctx, _, x| Ok(product24(ctx, true, x))),
    ("umul24", 2, |ctx, _, x| Ok(product24(ctx, false, x))),
    ("hadd", 2, |ctx, _, x| Ok(average(ctx, true, 0, x))),
    ("rhadd", 2, |ctx, _, x| Ok(average(ctx, true, 1, x))),
    ("uhadd", 2, |ctx, _, x| Ok(average(ctx, false, 0, x))),
    ("urhadd", 2, |ctx, _, x| Ok(average(ctx, false, 1, x))),
    ("sad", 3, |ctx, _, x| Ok(difference_and_sum(ctx, IntCompare::Sgt, x))),
    ("usad", 3, |ctx, _, x| Ok(difference_and_sum(ctx, IntCompare::Ugt, x))),
    ("float_as_int", 1, same),
    ("float_as_uint", 1, same),
    ("double_as_longlong", 1, same),
    ("int_as_float", 1, same),
    ("uint_as_float", 1, same),
    ("longlong_as_double", 1, same),
    ("double2hiint", 1, |ctx, _, x| Ok(half(ctx, 32, x[0]))),
    ("double2loint", 1, |ctx, _, x| Ok(half(ctx, 0, x[0]))),
    ("hiloint2double", 2, |ctx, _, x| Ok(from_halves(ctx, x))),
    ("double2float_rn", 1, |ctx, e, x| Ok(convert(ctx, e, x[0]))),
    ("signbit", 1, |ctx, _, x| Ok(sign_bit(ctx, x[0]))),
];

/// Conversions between integers and floats: the beginning of the name, what it makes of its operand.
const CONVERSIONS: &[(&str, Op)] = &[
    ("int2float_rn", Op::SITOFP),
    ("uint2float_rn", Op::UITOFP),
    ("ll2float_rn", Op::SITOFP),
    ("ull2float_rn", Op::UITOFP),
    ("int2double_rn", Op::SITOFP),
    ("uint2double_rn", Op::UITOFP),
    ("ll2double_rn", Op::SITOFP),
    ("ull2double_rn", Op::UITOFP),
];

/// Roundings, by the end of the name of a conversion to an integer.
static ROUNDINGS: &[(&str, &Intrinsic)] = &[
    ("_rn", &intrinsics::RINT),
    ("_rz", &intrinsics::TRUNC),
    ("_rd", &intrinsics::FLOOR),
    ("_ru", &intrinsics::CEIL),
];

/// How a conversion between integers and floats is made.
pub(super) fn conversion(name: &str) -> Option<Make> {
    if let Some((_, op)) = CONVERSIONS.iter().find(|(own, _)| *own == name) {
        return Some(match *op {
            Op::SITOFP => |ctx, e, x| Ok(from_int(ctx, true, e, x[0])),
            _ => |ctx, e, x| Ok(from_int(ctx, false, e, x[0])),
        });
    }
    let to = name.strip_prefix("float2").or_else(|| name.strip_prefix("double2"))?;
    let (kind, rounding) = to.split_at(to.find('_')?);
    let signed = ["int", "ll"].contains(&kind);
    if !signed && !["uint", "ull"].contains(&kind) {
        return None;
    }
    let makes: [(Make, Make); 4] = [
        (|ctx, e, x| rounded(ctx, e, x, 0, true), |ctx, e, x| rounded(ctx, e, x, 0, false)),
        (|ctx, e, x| rounded(ctx, e, x, 1, true), |ctx, e, x| rounded(ctx, e, x, 1, false)),
        (|ctx, e, x| rounded(ctx, e, x, 2, true), |ctx, e, x| rounded(ctx, e, x, 2, false)),
        (|ctx, e, x| rounded(ctx, e, x, 3, true), |ctx, e, x| rounded(ctx, e, x, 3, false)),
    ];
    let index = ROUNDINGS.iter().position(|(suffix, _)| *suffix == rounding)?;
    Some(if signed { makes[index].0 } else { makes[index].1 })
}

/// A float as an integer, by one of [`ROUNDINGS`].
fn rounded(
    ctx: &mut Ctx<'_, '_>,
    elems: &Elems<'_>,
    x: &[Value],
    rounding: usize,
    signed: bool,
) -> Result<Value> {
    let whole = ctx.b.intrinsic(ROUNDINGS[rounding].1, ctx.b.ty(x[0]), &[x[0]]);
    Ok(to_int(ctx, signed, elems, whole))
}

/// The absolute value of an integer or a float.
fn magnitude(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    if ty.is_float() { ctx.b.intrinsic(&intrinsics::FABS, ty, &[x]) } else { absolute(ctx, x) }
}

fn unary(ctx: &mut Ctx<'_, '_>, intrinsic: &'static Intrinsic, x: &[Value]) -> Result<Value> {
    let ty = ctx.b.ty(x[0]);
    Ok(ctx.b.intrinsic(intrinsic, ty, &x[..1]))
}

/// The same bits; the caller gives them their type.
fn same(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let ty = ctx.result_like(x[0], elems);
    Ok(ctx.b.bitcast(x[0], ty))
}

/// An intrinsic whose second operand says that no input is excluded.
fn counted(ctx: &mut Ctx<'_, '_>, intrinsic: &'static Intrinsic, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    let all_defined = ctx.b.bool(false);
    ctx.b.intrinsic(intrinsic, ty, &[x, all_defined])
}

/// The position of the lowest bit that is set, from one; zero without any.
fn first_set(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    let (zero, one) = (ctx.b.zero(ty), ctx.b.int(ty, 1));
    let below = counted(ctx, &intrinsics::CTTZ, x);
    let position = ctx.b.add(below, one);
    let is_zero = ctx.b.icmp(IntCompare::Eq, x, zero);
    ctx.b.select(is_zero, zero, position)
}

/// Each byte of the result is one of the eight of the operands, picked by a digit of the selector.
fn permute_bytes(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Value {
    let (int, double) = (ctx.like(x[0], Type::I32), ctx.like(x[0], Type::I64));
    let [low, high] = [x[0], x[1]].map(|value| ctx.b.resize_unsigned(value, double));
    let (word, seven, eight) = (ctx.b.int(double, 32), ctx.b.int(int, 7), ctx.b.int(int, 8));
    let high = ctx.b.shl(high, word);
    let bytes = ctx.b.or(low, high);
    let mut result = ctx.b.zero(int);
    for byte in 0..4 {
        let [digit_at, to, mask] = [4 * byte, 8 * byte, 0xff].map(|value| ctx.b.int(int, value));
        let digit = ctx.b.lshr(x[2], digit_at);
        let digit = ctx.b.and(digit, seven);
        let from = ctx.b.mul(digit, eight);
        let from = ctx.b.resize_unsigned(from, double);
        let picked = ctx.b.lshr(bytes, from);
        let picked = ctx.b.resize_unsigned(picked, int);
        let picked = ctx.b.and(picked, mask);
        let placed = ctx.b.shl(picked, to);
        result = ctx.b.or(result, placed);
    }
    result
}

/// The low half of the product of the low 24 bits.
fn product24(ctx: &mut Ctx<'_, '_>, signed: bool, x: &[Value]) -> Value {
    let eight = ctx.b.int(ctx.b.ty(x[0]), 8);
    let low = |ctx: &mut Ctx<'_, '_>, value: Value| {
        let up = ctx.b.shl(value, eight);
        if signed { ctx.b.ashr(up, eight) } else { ctx.b.lshr(up, eight) }
    };
    let (left, right) = (low(ctx, x[0]), low(ctx, x[1]));
    ctx.b.mul(left, right)
}

/// Half of the sum (and one more), without overflow: 32 bits are added in 64.
fn average(ctx: &mut Ctx<'_, '_>, signed: bool, more: i64, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[0]);
    let wide = ctx.like(x[0], Type::I64);
    let [left, right] = [x[0], x[1]].map(|value| match signed {
        true => ctx.b.resize_signed(value, wide),
        false => ctx.b.resize_unsigned(value, wide),
    });
    let (more, one) = (ctx.b.int(wide, more), ctx.b.int(wide, 1));
    let sum = ctx.b.add(left, right);
    let sum = ctx.b.add(sum, more);
    let half = ctx.b.ashr(sum, one);
    ctx.b.resize_unsigned(half, ty)
}

fn difference_and_sum(ctx: &mut Ctx<'_, '_>, greater: IntCompare, x: &[Value]) -> Value {
    let holds = ctx.b.icmp(greater, x[0], x[1]);
    let (forth, back) = (ctx.b.sub(x[0], x[1]), ctx.b.sub(x[1], x[0]));
    let difference = ctx.b.select(holds, forth, back);
    ctx.b.add(difference, x[2])
}

/// 32 bits of a double.
fn half(ctx: &mut Ctx<'_, '_>, from: i64, x: Value) -> Value {
    let (wide, int) = (ctx.like(x, Type::I64), ctx.like(x, Type::I32));
    let bits = ctx.b.bitcast(x, wide);
    let by = ctx.b.int(wide, from);
    let moved = ctx.b.lshr(bits, by);
    ctx.b.resize_unsigned(moved, int)
}

fn from_halves(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Value {
    let (wide, double) = (ctx.like(x[0], Type::I64), ctx.like(x[0], Type::F64));
    let [high, low] = [x[0], x[1]].map(|value| ctx.b.resize_unsigned(value, wide));
    let by = ctx.b.int(wide, 32);
    let high = ctx.b.shl(high, by);
    let bits = ctx.b.or(high, low);
    ctx.b.bitcast(bits, double)
}

fn sign_bit(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let int = ctx.b.ty(x).as_int();
    let bits = ctx.b.bitcast(x, int);
    let zero = ctx.b.zero(int);
    ctx.b.icmp(IntCompare::Slt, bits, zero)
}

/// The facts about a float type: its integer, width of the mantissa, bias.
fn format(ctx: &Ctx<'_, '_>, x: Value) -> (Type, i64, i64) {
    let ty = ctx.b.ty(x);
    if ty.lane() == Type::F64 { (ty.as_int(), 52, 1023) } else { (ty.as_int(), 23, 127) }
}

/// `x · 2^n` in three factors, each a power of two that the format has. A factor that would lead below the normal
/// numbers is preceded by one that does not: then only the last product is rounded, or the result is zero in any case.
pub(super) fn scale(ctx: &mut Ctx<'_, '_>, _: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let (int, mantissa, bias) = format(ctx, x[0]);
    let ty = ctx.b.ty(x[0]);
    let n = ctx.b.resize_signed(x[1], int);
    let limit = ctx.b.int(int, 3 * bias - 3);
    let gentle = bias - 2 - mantissa;
    let least = ctx.b.int(int, -3 * gentle);
    let over = ctx.b.icmp(IntCompare::Sgt, n, limit);
    let n = ctx.b.select(over, limit, n);
    let under = ctx.b.icmp(IntCompare::Slt, n, least);
    let n = ctx.b.select(under, least, n);
    let (most, fewest, gentle) = (ctx.b.int(int, bias), ctx.b.int(int, 1 - bias), ctx.b.int(int, -gentle));
    let (bias, up) = (ctx.b.int(int, bias), ctx.b.int(int, mantissa));
    let (mut rest, mut value) = (n, x[0]);
    for _ in 0..3 {
        let over = ctx.b.icmp(IntCompare::Sgt, rest, most);
        let step = ctx.b.select(over, most, rest);
        let under = ctx.b.icmp(IntCompare::Slt, step, fewest);
        let step = ctx.b.select(under, gentle, step);
        let field = ctx.b.add(step, bias);
        let bits = ctx.b.shl(field, up);
        let factor = ctx.b.bitcast(bits, ty);
        value = ctx.b.fmul(value, factor);
        rest = ctx.b.sub(rest, step);
    }
    Ok(value)
}

/// The exponent of a finite number that is not zero, subnormal numbers included.
fn raw_exponent(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let (int, mantissa, bias) = format(ctx, x);
    let bits = ctx.b.bitcast(x, int);
    let width = i64::from(int.lane_bits());
    let (one, up, zero) = (ctx.b.int(int, 1), ctx.b.int(int, mantissa), ctx.b.zero(int));
    let magnitude = ctx.b.shl(bits, one);
    let magnitude = ctx.b.lshr(magnitude, one);
    let field = ctx.b.lshr(magnitude, up);
    let zeros = counted(ctx, &intrinsics::CTLZ, magnitude);
    let lowest = ctx.b.int(int, width - bias - mantissa);
    let tiny = ctx.b.sub(lowest, zeros);
    let bias = ctx.b.int(int, bias);
    let normal = ctx.b.sub(field, bias);
    let is_tiny = ctx.b.icmp(IntCompare::Eq, field, zero);
    ctx.b.select(is_tiny, tiny, normal)
}

/// The exponent as an integer; the least integer for zero and NaN, the greatest for infinity.
pub(super) fn exponent(ctx: &mut Ctx<'_, '_>, _: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let ty = ctx.b.ty(x[0]);
    let exponent = raw_exponent(ctx, x[0]);
    let int = ctx.like(x[0], Type::I32);
    let exponent = ctx.b.resize_signed(exponent, int);
    let size = ctx.b.intrinsic(&intrinsics::FABS, ty, &[x[0]]);
    let (zero, infinity) = (ctx.b.float(ty, 0.0), ctx.b.float(ty, f64::INFINITY));
    let [least, most] = [i32::MIN, i32::MAX].map(|value| ctx.b.int(int, i64::from(value)));
    let is_infinite = ctx.b.fcmp(FloatCompare::Oeq, size, infinity);
    let result = ctx.b.select(is_infinite, most, exponent);
    let is_nothing = ctx.b.fcmp(FloatCompare::Ueq, size, zero);
    Ok(ctx.b.select(is_nothing, least, result))
}

/// The exponent as a float: minus infinity for zero, infinity for infinity.
pub(super) fn exponent_as_float(ctx: &mut Ctx<'_, '_>, _: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let ty = ctx.b.ty(x[0]);
    let exponent = raw_exponent(ctx, x[0]);
    let exponent = ctx.b.cast(Op::SITOFP, exponent, ty);
    let size = ctx.b.intrinsic(&intrinsics::FABS, ty, &[x[0]]);
    let (zero, infinity) = (ctx.b.float(ty, 0.0), ctx.b.float(ty, f64::INFINITY));
    let least = ctx.b.float(ty, f64::NEG_INFINITY);
    let is_finite = ctx.b.fcmp(FloatCompare::Olt, size, infinity);
    let result = ctx.b.select(is_finite, exponent, size);
    let is_zero = ctx.b.fcmp(FloatCompare::Oeq, size, zero);
    Ok(ctx.b.select(is_zero, least, result))
}
