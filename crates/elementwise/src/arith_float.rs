//! Float arithmetic. A format without arithmetic on the machine computes in binary32 and rounds after each operation.

use crate::small_float::{as_wide, narrow_to};
use crate::{Ctx, Elems, Entry, Math, MinMax, Result};
use llir::{FloatCompare, Value, intrinsics};
use ttir::ops::arith_float::{self, ClampOp, PropagateNan};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_float::ADDF, |ctx, e, x| arithmetic(ctx, e, x, |ctx, v| Ok(ctx.b.fadd(v[0], v[1])))),
    (&arith_float::SUBF, |ctx, e, x| arithmetic(ctx, e, x, |ctx, v| Ok(ctx.b.fsub(v[0], v[1])))),
    (&arith_float::MULF, |ctx, e, x| arithmetic(ctx, e, x, |ctx, v| Ok(ctx.b.fmul(v[0], v[1])))),
    (&arith_float::DIVF, divide),
    (&arith_float::PRECISE_DIVF, |ctx, e, x| {
        on_wide(ctx, e, x, |ctx, v| Ok(quotient(ctx, Math::PreciseDivide, v)))
    }),
    (&arith_float::REMF, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| ctx.maths("fmod", v))),
    (&arith_float::MAXIMUMF, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| Ok(minmax_nan(ctx, true, v)))),
    (&arith_float::MINIMUMF, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| Ok(minmax_nan(ctx, false, v)))),
    (&arith_float::MAXNUMF, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| Ok(minmax(ctx, true, v)))),
    (&arith_float::MINNUMF, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| Ok(minmax(ctx, false, v)))),
    (&arith_float::CLAMPF, clamp),
    (&arith_float::NEGF, |ctx, _, x| Ok(flip_sign(ctx, x[0]))),
];

/// An operation that machines may have for narrow formats too.
pub(crate) fn arithmetic(
    ctx: &mut Ctx<'_, '_>,
    elems: &Elems<'_>,
    x: &[Value],
    apply: impl FnOnce(&mut Ctx<'_, '_>, &[Value]) -> Result<Value>,
) -> Result<Value> {
    let kind = elems.result.as_float();
    if kind.is_some_and(|kind| kind.bits() >= 32 || ctx.target.has_arithmetic(kind)) {
        return apply(ctx, x);
    }
    on_wide(ctx, elems, x, apply)
}

/// Widens the operands where their format is narrow, applies a function, and rounds back.
pub(crate) fn on_wide(
    ctx: &mut Ctx<'_, '_>,
    elems: &Elems<'_>,
    x: &[Value],
    apply: impl FnOnce(&mut Ctx<'_, '_>, &[Value]) -> Result<Value>,
) -> Result<Value> {
    let pairs = x.iter().zip(&elems.operands);
    let wide: Vec<Value> = pairs.map(|(value, ty)| as_wide(ctx, *ty, *value)).collect();
    let result = apply(ctx, &wide)?;
    Ok(narrow_to(ctx, elems.result, result))
}

fn quotient(ctx: &mut Ctx<'_, '_>, function: Math, x: &[Value]) -> Value {
    let found = ctx.target.math(ctx.b, function, x);
    found.unwrap_or_else(|| ctx.b.fdiv(x[0], x[1]))
}

/// The quotient.
///
/// # Errors
/// None.
pub fn divide(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    on_wide(ctx, elems, x, |ctx, v| Ok(quotient(ctx, Math::Divide, v)))
}

/// The quotient of one of many elements that have the same divisor.
///
/// # Errors
/// None.
pub fn divide_by_shared(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    on_wide(ctx, elems, x, |ctx, v| {
        let found = ctx.target.math(ctx.b, Math::DivideByShared, v);
        Ok(found.unwrap_or_else(|| quotient(ctx, Math::Divide, v)))
    })
}

/// The number that is larger or smaller; a NaN is ignored, and -0 is below +0.
pub fn minmax(ctx: &mut Ctx<'_, '_>, max: bool, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[0]);
    let form = ctx.target.minmax(ty);
    if form == MinMax::Compared {
        let compare = if max { FloatCompare::Ogt } else { FloatCompare::Olt };
        let better = ctx.b.fcmp(compare, x[0], x[1]);
        let second_is_nan = ctx.b.fcmp(FloatCompare::Uno, x[1], x[1]);
        let first = ctx.b.or(better, second_is_nan);
        let chosen = ctx.b.select(first, x[0], x[1]);
        return settle_zeros(ctx, x, chosen, max);
    }
    let chosen = ctx.b.intrinsic(if max { &intrinsics::MAXNUM } else { &intrinsics::MINNUM }, ty, x);
    if form == MinMax::Ordered { chosen } else { settle_zeros(ctx, x, chosen, max) }
}

/// Of two zeros the conjunction (for a minimum the disjunction) of the bits has the sign that is wanted. Nothing is to
/// be decided where an operand is a constant that is no zero or the wanted one, or where the sign of zeros is free.
fn settle_zeros(ctx: &mut Ctx<'_, '_>, x: &[Value], chosen: Value, max: bool) -> Value {
    let ty = ctx.b.ty(chosen);
    let [zero, negative] = [0.0, -0.0].map(|value| ctx.b.float(ty, value));
    let wanted = if max { zero } else { negative };
    let is_settled = |value: &Value| {
        let constant = ctx.b.func().constant(*value).is_some();
        constant && (*value == wanted || (*value != zero && *value != negative))
    };
    if ctx.target.zeros_are_free() || x.iter().any(is_settled) {
        return chosen;
    }
    let [left, right] = [x[0], x[1]].map(|value| ctx.b.bitcast(value, ty.as_int()));
    let bits = ctx.b.binary(if max { llir::Op::AND } else { llir::Op::OR }, left, right);
    let both = ctx.b.bitcast(bits, ty);
    let equal = ctx.b.fcmp(FloatCompare::Oeq, x[0], x[1]);
    ctx.b.select(equal, both, chosen)
}

/// The number that is larger or smaller; NaN where an operand is.
fn minmax_nan(ctx: &mut Ctx<'_, '_>, max: bool, x: &[Value]) -> Value {
    if let Some(value) = ctx.target.minmax_nan(ctx.b, max, x) {
        return value;
    }
    let chosen = minmax(ctx, max, x);
    let unordered = ctx.b.fcmp(FloatCompare::Uno, x[0], x[1]);
    let nan = ctx.b.float(ctx.b.ty(chosen), f64::NAN);
    ctx.b.select(unordered, nan, chosen)
}

fn clamp(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let propagates = ClampOp::new(elems.module, elems.op).propagate_nan() == PropagateNan::All;
    on_wide(ctx, elems, x, |ctx, v| {
        let low = minmax(ctx, true, &[v[0], v[1]]);
        let held = minmax(ctx, false, &[low, v[2]]);
        if !propagates {
            return Ok(held);
        }
        let is_nan = ctx.b.fcmp(FloatCompare::Uno, v[0], v[0]);
        Ok(ctx.b.select(is_nan, v[0], held))
    })
}

fn flip_sign(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    if matches!(ty.lane(), llir::Type::F32 | llir::Type::F64) {
        return ctx.b.fneg(x);
    }
    let int = ty.as_int();
    let bits = ctx.b.bitcast(x, int);
    let sign = ctx.b.bits(int, 1 << (ty.lane_bits() - 1));
    let flipped = ctx.b.xor(bits, sign);
    ctx.b.bitcast(flipped, ty)
}
