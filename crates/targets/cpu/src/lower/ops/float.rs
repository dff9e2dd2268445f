//! Float arithmetic. Formats below 32 bits compute in binary32 and round after each operation.

use super::{Elems, Entry, small_float};
use crate::lower::cx::Cx;
use crate::lower::error::Result;
use crate::lower::types;
use llir::{FloatCompare, Op, Value};
use ttir::ops::arith_float;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_float::ADDF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fadd(v[0], v[1]))),
    (&arith_float::SUBF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fsub(v[0], v[1]))),
    (&arith_float::MULF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fmul(v[0], v[1]))),
    (&arith_float::DIVF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fdiv(v[0], v[1]))),
    (&arith_float::PRECISE_DIVF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fdiv(v[0], v[1]))),
    (&arith_float::REMF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.frem(v[0], v[1]))),
    (&arith_float::MAXIMUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| binary(cx, "llvm.maximum", v))),
    (&arith_float::MINIMUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| binary(cx, "llvm.minimum", v))),
    (&arith_float::MAXNUMF, |cx, e, x| on_wide(cx, e, x, maxnum)),
    (&arith_float::MINNUMF, |cx, e, x| on_wide(cx, e, x, minnum)),
    (&arith_float::CLAMPF, clamp),
    (&arith_float::NEGF, negate),
];

/// Widens the operands where their format is narrow, applies a function, and rounds back.
pub(crate) fn on_wide(
    cx: &mut Cx<'_>,
    elems: &Elems<'_>,
    x: &[Value],
    apply: impl FnOnce(&mut Cx<'_>, &[Value]) -> Value,
) -> Result<Value> {
    let wide: Vec<Value> = x
        .iter()
        .zip(&elems.operands)
        .map(|(&value, &ty)| match types::small_float(ty) {
            Some(kind) => small_float::widen(cx, kind, value),
            None => value,
        })
        .collect();
    let result = apply(cx, &wide);
    Ok(match types::small_float(elems.result) {
        Some(kind) => small_float::narrow(cx, kind, result),
        None => result,
    })
}

/// An intrinsic of two operands.
pub(crate) fn binary(cx: &mut Cx<'_>, intrinsic: &str, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    cx.b.intrinsic(intrinsic, ty, x)
}

/// The larger number; +0 is above -0, which the instruction does not promise.
fn maxnum(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    let larger = binary(cx, "llvm.maxnum", x);
    // Of two zeros the conjunction of their bits has the sign that is wanted.
    settle_zeros(cx, x, larger, 0.0, Op::AND)
}

/// The smaller number; -0 is below +0.
fn minnum(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    let smaller = binary(cx, "llvm.minnum", x);
    settle_zeros(cx, x, smaller, -0.0, Op::OR)
}

/// Decides between zeros of both signs, unless an operand is a constant that is no zero or the `wanted` one, or the sign
/// of zeros is free.
fn settle_zeros(cx: &mut Cx<'_>, x: &[Value], result: Value, wanted: f64, op: Op) -> Value {
    let ty = cx.b.ty(result);
    let wanted = cx.b.float(ty, wanted);
    let zero = cx.b.float(ty, 0.0);
    let negative = cx.b.float(ty, -0.0);
    let is_settled = |cx: &Cx<'_>, value: Value| {
        cx.b.func().constant(value).is_some() && (value == wanted || (value != zero && value != negative))
    };
    if cx.free_zeros || x.iter().any(|&value| is_settled(cx, value)) {
        return result;
    }
    let int = ty.as_int();
    let [a, b] = [x[0], x[1]].map(|value| cx.b.bitcast(value, int));
    let bits = cx.b.binary(op, a, b);
    let both = cx.b.bitcast(bits, ty);
    let equal = cx.b.fcmp(FloatCompare::Oeq, x[0], x[1]);
    cx.b.select(equal, both, result)
}

fn clamp(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let propagates =
        elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&arith_float::PROPAGATE_NAN)) == Some(65535);
    on_wide(cx, elems, x, |cx, v| {
        let low = binary(cx, "llvm.maxnum", &[v[0], v[1]]);
        let held = binary(cx, "llvm.minnum", &[low, v[2]]);
        if !propagates {
            return held;
        }
        let is_nan = cx.b.fcmp(FloatCompare::Uno, v[0], v[0]);
        cx.b.select(is_nan, v[0], held)
    })
}

fn negate(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    if types::small_float(elems.result).is_none() {
        return Ok(cx.b.fneg(x[0]));
    }
    let ty = cx.b.ty(x[0]);
    let sign = cx.b.bits(ty, 1 << (ty.lane_bits() - 1));
    Ok(cx.b.xor(x[0], sign))
}
