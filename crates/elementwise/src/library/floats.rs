//! Functions of maths libraries on floats. Those of the project's own maths are not listed.

use super::{Row, bits};
use crate::arith_float::minmax;
use crate::{Ctx, Elems, Result};
use llir::{FloatCompare, IntCompare, Intrinsic, Op, Value, intrinsics};

/// Plain name, number of operands, meaning.
pub(super) const TABLE: &[Row] = &[
    ("fabs", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::FABS, x)),
    ("floor", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::FLOOR, x)),
    ("ceil", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::CEIL, x)),
    ("trunc", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::TRUNC, x)),
    ("rint", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::RINT, x)),
    ("nearbyint", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::RINT, x)),
    ("sqrt", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::SQRT, x)),
    ("copysign", 2, |ctx, _, x| intrinsic(ctx, &intrinsics::COPYSIGN, x)),
    ("fmax", 2, |ctx, _, x| Ok(minmax(ctx, true, x))),
    ("fmin", 2, |ctx, _, x| Ok(minmax(ctx, false, x))),
    ("fma", 3, |ctx, _, x| intrinsic(ctx, &intrinsics::FMA, x)),
    ("round", 1, |ctx, _, x| Ok(round(ctx, x[0]))),
    ("llrint", 1, |ctx, _, x| intrinsic(ctx, &intrinsics::RINT, x)),
    ("llround", 1, |ctx, _, x| Ok(round(ctx, x[0]))),
    ("remainder", 2, |ctx, _, x| remainder(ctx, x)),
    ("powi", 2, |ctx, _, x| power_of_integer(ctx, x)),
    ("dividef", 2, fast_quotient),
    ("fdividef", 2, fast_quotient),
    ("add", 2, |ctx, _, x| Ok(ctx.b.fadd(x[0], x[1]))),
    ("sub", 2, |ctx, _, x| Ok(ctx.b.fsub(x[0], x[1]))),
    ("mul", 2, |ctx, _, x| Ok(ctx.b.fmul(x[0], x[1]))),
    ("div", 2, |ctx, _, x| Ok(ctx.b.fdiv(x[0], x[1]))),
    ("rcp", 1, |ctx, _, x| Ok(reciprocal(ctx, x[0]))),
    ("rcp64h", 1, |ctx, _, x| Ok(upper_reciprocal(ctx, x[0]))),
    ("saturate", 1, |ctx, _, x| Ok(saturate(ctx, x[0]))),
    ("isnan", 1, |ctx, _, x| Ok(ctx.b.fcmp(FloatCompare::Uno, x[0], x[0]))),
    ("isinf", 1, |ctx, _, x| Ok(beside_infinity(ctx, x[0], FloatCompare::Oeq))),
    ("finite", 1, |ctx, _, x| Ok(beside_infinity(ctx, x[0], FloatCompare::Olt))),
    ("isfinite", 1, |ctx, _, x| Ok(beside_infinity(ctx, x[0], FloatCompare::Olt))),
    ("ldexp", 2, bits::scale),
    ("scalbn", 2, bits::scale),
    ("ilogb", 1, bits::exponent),
    ("logb", 1, bits::exponent_as_float),
    ("norm3d", 3, |ctx, _, x| norm(ctx, x)),
    ("norm4d", 4, |ctx, _, x| norm(ctx, x)),
    ("rnorm3d", 3, |ctx, _, x| norm(ctx, x).map(|length| reciprocal(ctx, length))),
    ("rnorm4d", 4, |ctx, _, x| norm(ctx, x).map(|length| reciprocal(ctx, length))),
];

fn intrinsic(ctx: &mut Ctx<'_, '_>, row: &'static Intrinsic, x: &[Value]) -> Result<Value> {
    Ok(ctx.b.intrinsic(row, ctx.b.ty(x[0]), x))
}

fn fast_quotient(ctx: &mut Ctx<'_, '_>, _: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let found = ctx.target.fast_math(ctx.b, "fdividef", x);
    Ok(found.unwrap_or_else(|| ctx.b.fdiv(x[0], x[1])))
}

/// To the nearest integer, halves away from zero: what is left of the fraction once the number below one half is added.
/// With one half the sum of the number below it would be one.
fn round(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    let half = match ty.lane_bits() {
        32 => u128::from(0.5_f32.next_down().to_bits()),
        _ => u128::from(0.5_f64.next_down().to_bits()),
    };
    let half = ctx.b.bits(ty, half);
    let half = ctx.b.intrinsic(&intrinsics::COPYSIGN, ty, &[half, x]);
    let sum = ctx.exactly(|ctx| ctx.b.fadd(x, half));
    ctx.b.intrinsic(&intrinsics::TRUNC, ty, &[sum])
}

fn reciprocal(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let one = ctx.b.float(ctx.b.ty(x), 1.0);
    ctx.b.fdiv(one, x)
}

/// The reciprocal of a double, of which only the upper half is meant.
fn upper_reciprocal(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    let whole = reciprocal(ctx, x);
    let bits = ctx.b.bitcast(whole, ty.as_int());
    let upper = ctx.b.int(ty.as_int(), !0xffff_ffff);
    let bits = ctx.b.and(bits, upper);
    ctx.b.bitcast(bits, ty)
}

/// Between zero and one; NaN gives zero.
fn saturate(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    let (zero, one) = (ctx.b.float(ty, 0.0), ctx.b.float(ty, 1.0));
    let low = ctx.b.intrinsic(&intrinsics::MAXNUM, ty, &[x, zero]);
    ctx.b.intrinsic(&intrinsics::MINNUM, ty, &[low, one])
}

fn beside_infinity(ctx: &mut Ctx<'_, '_>, x: Value, compare: FloatCompare) -> Value {
    let ty = ctx.b.ty(x);
    let size = ctx.b.intrinsic(&intrinsics::FABS, ty, &[x]);
    let infinity = ctx.b.float(ty, f64::INFINITY);
    ctx.b.fcmp(compare, size, infinity)
}

/// The remainder of the division whose quotient is rounded to nearest even.
fn remainder(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Result<Value> {
    let ty = ctx.b.ty(x[0]);
    let [size, divisor] = [x[0], x[1]].map(|value| ctx.b.intrinsic(&intrinsics::FABS, ty, &[value]));
    // Of twice the divisor, so that the parity of the quotient shows in what is left.
    let double = ctx.b.fadd(divisor, divisor);
    let rest = ctx.maths("fmod", &[size, double])?;
    let infinity = ctx.b.float(ty, f64::INFINITY);
    let overflows = ctx.b.fcmp(FloatCompare::Oeq, double, infinity);
    let rest = ctx.b.select(overflows, size, rest);
    let half = ctx.b.float(ty, 0.5);
    let middle = ctx.b.fmul(divisor, half);
    let above = ctx.b.fcmp(FloatCompare::Ogt, rest, middle);
    let once = ctx.b.fsub(rest, divisor);
    let first = ctx.b.select(above, once, rest);
    let again = ctx.b.fcmp(FloatCompare::Oge, first, middle);
    let again = ctx.b.and(again, above);
    let twice = ctx.b.fsub(first, divisor);
    let result = ctx.b.select(again, twice, first);
    // An infinite divisor leaves a finite number as it is.
    let unchanged = ctx.b.fcmp(FloatCompare::Oeq, divisor, infinity);
    let finite = ctx.b.fcmp(FloatCompare::Olt, size, infinity);
    let unchanged = ctx.b.and(unchanged, finite);
    let result = ctx.b.select(unchanged, size, result);
    // Nothing is left of infinity.
    let nan = ctx.b.float(ty, f64::NAN);
    let result = ctx.b.select(finite, result, nan);
    let negated = ctx.b.fneg(result);
    let int = ty.as_int();
    let bits = ctx.b.bitcast(x[0], int);
    let zero = ctx.b.zero(int);
    let negative = ctx.b.icmp(IntCompare::Slt, bits, zero);
    Ok(ctx.b.select(negative, negated, result))
}

fn power_of_integer(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Result<Value> {
    let exponent = ctx.b.cast(Op::SITOFP, x[1], ctx.b.ty(x[0]));
    ctx.maths("pow", &[x[0], exponent])
}

/// The length of a vector of several components.
fn norm(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Result<Value> {
    let mut sum = x[0];
    for value in &x[1..] {
        sum = ctx.maths("hypot", &[sum, *value])?;
    }
    Ok(sum)
}
