//! Float arithmetic. A format without arithmetic on the machine computes in binary32 and rounds after each operation.

use super::small_float::{as_wide, narrow_to};
use super::{ElementEntry, Elems, Emit};
use crate::cx::Cx;
use crate::error::Result;
use crate::target::Math;
use crate::types;
use ir::Op;
use llir::{FloatCompare, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_float;

/// Rows of this file.
pub(crate) const TABLE: &[ElementEntry] = &[
    (&arith_float::ADDF, |cx, e, x| arithmetic(cx, e, x, |cx, v| cx.b.fadd(v[0], v[1]))),
    (&arith_float::SUBF, |cx, e, x| arithmetic(cx, e, x, |cx, v| cx.b.fsub(v[0], v[1]))),
    (&arith_float::MULF, |cx, e, x| arithmetic(cx, e, x, |cx, v| cx.b.fmul(v[0], v[1]))),
    (&arith_float::DIVF, |cx, e, x| on_wide(cx, e, x, |cx, v| Ok(divide(cx, Math::Divide, v)))),
    (&arith_float::PRECISE_DIVF, |cx, e, x| {
        on_wide(cx, e, x, |cx, v| Ok(divide(cx, Math::PreciseDivide, v)))
    }),
    (&arith_float::REMF, |cx, e, x| on_wide(cx, e, x, |cx, v| super::math::library(cx, "fmod", v))),
    (&arith_float::MAXIMUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| Ok(minmax_nan(cx, true, v)))),
    (&arith_float::MINIMUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| Ok(minmax_nan(cx, false, v)))),
    (&arith_float::MAXNUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| Ok(minmax(cx, "llvm.maxnum", v)))),
    (&arith_float::MINNUMF, |cx, e, x| on_wide(cx, e, x, |cx, v| Ok(minmax(cx, "llvm.minnum", v)))),
    (&arith_float::CLAMPF, clamp),
    (&arith_float::NEGF, |cx, e, x| Ok(flip_sign(cx, e, x[0]))),
];

/// An operation that machines have for narrow formats too.
fn arithmetic(
    cx: &mut Cx<'_>,
    elems: &Elems<'_>,
    x: &[Value],
    apply: impl FnOnce(&mut Cx<'_>, &[Value]) -> Value,
) -> Result<Value> {
    if cx.target.has_arithmetic(types::register(elems.result)) && types::small_float(elems.result).is_none() {
        return Ok(apply(cx, x));
    }
    on_wide(cx, elems, x, |cx, v| Ok(apply(cx, v)))
}

/// Widens the operands where their format is narrow, applies a function, and rounds back.
pub(crate) fn on_wide(
    cx: &mut Cx<'_>,
    elems: &Elems<'_>,
    x: &[Value],
    apply: impl FnOnce(&mut Cx<'_>, &[Value]) -> Result<Value>,
) -> Result<Value> {
    let pairs = x.iter().zip(&elems.operands);
    let wide: Vec<Value> = pairs.map(|(value, ty)| as_wide(cx, *ty, *value)).collect();
    let result = apply(cx, &wide)?;
    Ok(narrow_to(cx, elems.result, result))
}

fn divide(cx: &mut Cx<'_>, function: Math, x: &[Value]) -> Value {
    let found = cx.target.math(&mut cx.b, function, x);
    found.unwrap_or_else(|| cx.b.fdiv(x[0], x[1]))
}

/// From so many quotients with one divisor on it is worth instructions of its own, which may also leave a loop.
const SHARERS: usize = 2;

/// How a quotient of blocks is made where their divisors are few: by the sum of a row, the count of its elements.
pub(crate) fn by_shared_divisors(cx: &Cx<'_>, op: Op) -> Result<Option<Emit>> {
    if !cx.module.is(op, &arith_float::DIVF) {
        return Ok(None);
    }
    let (dividends, divisors) = (cx.operand(op, 0)?, cx.operand(op, 1)?);
    let different: FxHashSet<Value> = divisors.iter().copied().collect();
    let emit: Emit = |cx, e, x| {
        on_wide(cx, e, x, |cx, v| {
            let found = cx.target.math(&mut cx.b, Math::DivideByShared, v);
            Ok(found.unwrap_or_else(|| divide(cx, Math::Divide, v)))
        })
    };
    Ok((different.len() * SHARERS <= dividends.len()).then_some(emit))
}

/// The number that is larger or smaller; a NaN is ignored.
pub(crate) fn minmax(cx: &mut Cx<'_>, intrinsic: &str, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    if cx.target.has_minmax(ty) {
        return cx.b.intrinsic(intrinsic, ty, x);
    }
    let compare = if intrinsic == "llvm.maxnum" { FloatCompare::Ogt } else { FloatCompare::Olt };
    let better = cx.b.fcmp(compare, x[0], x[1]);
    let second_is_nan = cx.b.fcmp(FloatCompare::Uno, x[1], x[1]);
    let first = cx.b.or(better, second_is_nan);
    let chosen = cx.b.select(first, x[0], x[1]);
    settle_zeros(cx, x, chosen, intrinsic == "llvm.maxnum")
}

/// Of two zeros the conjunction (for a minimum the disjunction) of the bits has the sign that is wanted.
fn settle_zeros(cx: &mut Cx<'_>, x: &[Value], chosen: Value, max: bool) -> Value {
    let ty = cx.b.ty(chosen);
    let [left, right] = [x[0], x[1]].map(|value| cx.b.bitcast(value, ty.as_int()));
    let bits = cx.b.binary(if max { llir::Op::AND } else { llir::Op::OR }, left, right);
    let both = cx.b.bitcast(bits, ty);
    let equal = cx.b.fcmp(FloatCompare::Oeq, x[0], x[1]);
    cx.b.select(equal, both, chosen)
}

/// The number that is larger or smaller; NaN where an operand is.
fn minmax_nan(cx: &mut Cx<'_>, max: bool, x: &[Value]) -> Value {
    if let Some(value) = cx.target.minmax_nan(&mut cx.b, max, x) {
        return value;
    }
    let chosen = minmax(cx, if max { "llvm.maxnum" } else { "llvm.minnum" }, x);
    let unordered = cx.b.fcmp(FloatCompare::Uno, x[0], x[1]);
    let nan = cx.b.float(cx.b.ty(chosen), f64::NAN);
    cx.b.select(unordered, nan, chosen)
}

fn clamp(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let propagates =
        elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&arith_float::PROPAGATE_NAN)) == Some(65535);
    on_wide(cx, elems, x, |cx, v| {
        let low = minmax(cx, "llvm.maxnum", &[v[0], v[1]]);
        let held = minmax(cx, "llvm.minnum", &[low, v[2]]);
        if !propagates {
            return Ok(held);
        }
        let is_nan = cx.b.fcmp(FloatCompare::Uno, v[0], v[0]);
        Ok(cx.b.select(is_nan, v[0], held))
    })
}

fn flip_sign(cx: &mut Cx<'_>, elems: &Elems<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    if ty == Type::F32 || ty == Type::F64 {
        return cx.b.fneg(x);
    }
    let int = ty.as_int();
    let bits = cx.b.bitcast(x, int);
    let sign = cx.b.bits(int, 1 << (elems.result.scalar_bits().unwrap_or(16) - 1));
    let flipped = cx.b.xor(bits, sign);
    cx.b.bitcast(flipped, ty)
}
