//! Float arithmetic. Formats below 32 bits compute in binary32 and round after each operation.

use super::{Elems, Entry, small_float};
use crate::lower::cx::Cx;
use crate::lower::error::Result;
use crate::lower::types;
use llir::{FloatCompare, Type, Value};
use ttir::ops::arith_float;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_float::ADDF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fadd(v[0], v[1]))),
    (&arith_float::SUBF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fsub(v[0], v[1]))),
    (&arith_float::MULF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fmul(v[0], v[1]))),
    (&arith_float::DIVF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fdiv(v[0], v[1]))),
    (&arith_float::PRECISE_DIVF, |cx, e, x| on_wide(cx, e, x, |cx, v| cx.b.fdiv(v[0], v[1]))),
    (&arith_float::REMF, |cx, e, x| on_wide(cx, e, x, remainder)),
    (&arith_float::MAXIMUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| binary(cx, "llvm.maximum", v))),
    (&arith_float::MINIMUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| binary(cx, "llvm.minimum", v))),
    (&arith_float::MAXNUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| binary(cx, "llvm.maxnum", v))),
    (&arith_float::MINNUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| binary(cx, "llvm.minnum", v))),
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

/// `fmod` without a library: exact in binary64 for quotients below 2^53, which long division steps reach for all others.
///
/// Each step takes away the largest multiple of the divisor that fits into 52 bits of the quotient; a product with `fma`
/// is exact, so nothing is lost.
fn remainder(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    let wide = ty.with_scalar(Type::F64);
    let [a, b] = [x[0], x[1]].map(|value| cx.b.resize_float(value, wide));
    let [mut rest, divisor] = [a, b].map(|value| cx.b.intrinsic("llvm.fabs", wide, &[value]));
    let zero = cx.b.float(wide, 0.0);
    // 2^128 / 2^-149 has 277 bits, 24 a step are safe; binary64 operands far apart keep a rest that is then cut off.
    for _ in 0..if ty.lane_bits() == 64 { 44 } else { 6 } {
        let quotient = cx.b.fdiv(rest, divisor);
        let whole = cx.b.intrinsic("llvm.trunc", wide, &[quotient]);
        let minus = cx.b.fneg(whole);
        let next = cx.b.intrinsic("llvm.fma", wide, &[minus, divisor, rest]);
        // The quotient may have been rounded up by one place.
        let negative = cx.b.fcmp(FloatCompare::Olt, next, zero);
        let repaired = cx.b.fadd(next, divisor);
        rest = cx.b.select(negative, repaired, next);
    }
    let [size, limit] = [a, b].map(|value| cx.b.intrinsic("llvm.fabs", wide, &[value]));
    let smaller = cx.b.fcmp(FloatCompare::Olt, size, limit);
    let rest = cx.b.select(smaller, size, rest);
    let signed = cx.b.intrinsic("llvm.copysign", wide, &[rest, a]);
    cx.b.resize_float(signed, ty)
}

fn clamp(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let propagates = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&arith_float::PROPAGATE_NAN))
        == Some(65535);
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
