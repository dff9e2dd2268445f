//! Elementary functions: what the machine has as an instruction of the accuracy of the language, else our own.

use super::arith_float::on_wide;
use super::{ElementEntry, Elems};
use crate::cx::Cx;
use crate::error::Result;
use crate::target::Math;
use crate::types;
use llir::{Type, Value};
use ttir::ops::math;

/// Rows of this file.
pub(crate) const TABLE: &[ElementEntry] = &[
    (&math::ABSF, |cx, e, x| Ok(clear_sign(cx, e, x[0]))),
    (&math::CEIL, |cx, e, x| intrinsic(cx, "llvm.ceil", e, x)),
    (&math::FLOOR, |cx, e, x| intrinsic(cx, "llvm.floor", e, x)),
    (&math::FMA, fma),
    (&math::EXP, |cx, e, x| function(cx, Math::Exp, "exp", e, x)),
    (&math::EXP2, |cx, e, x| function(cx, Math::Exp2, "exp2", e, x)),
    (&math::LOG, |cx, e, x| function(cx, Math::Log, "log", e, x)),
    (&math::LOG2, |cx, e, x| function(cx, Math::Log2, "log2", e, x)),
    (&math::SIN, |cx, e, x| function(cx, Math::Sin, "sin", e, x)),
    (&math::COS, |cx, e, x| function(cx, Math::Cos, "cos", e, x)),
    (&math::SQRT, |cx, e, x| function(cx, Math::Sqrt, "sqrt", e, x)),
    (&math::PRECISE_SQRT, |cx, e, x| function(cx, Math::PreciseSqrt, "sqrt", e, x)),
    (&math::RSQRT, |cx, e, x| function(cx, Math::Rsqrt, "rsqrt", e, x)),
    (&math::TANH, |cx, e, x| function(cx, Math::Tanh, "tanh", e, x)),
    (&math::ERF, |cx, e, x| on_wide(cx, e, x, |cx, v| library(cx, "erf", v))),
];

fn intrinsic(cx: &mut Cx<'_>, name: &str, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    on_wide(cx, elems, x, |cx, v| {
        let ty = cx.b.ty(v[0]);
        Ok(cx.b.intrinsic(name, ty, v))
    })
}

fn function(
    cx: &mut Cx<'_>,
    function: Math,
    name: &'static str,
    elems: &Elems<'_>,
    x: &[Value],
) -> Result<Value> {
    on_wide(cx, elems, x, |cx, v| match cx.target.math(&mut cx.b, function, v) {
        Some(value) => Ok(value),
        None => library(cx, name, v),
    })
}

/// A function of the project's own maths on binary32 or binary64.
pub(crate) fn library(cx: &mut Cx<'_>, name: &str, x: &[Value]) -> Result<Value> {
    crate::maths::call(cx, name, x)
}

/// In binary32 a fused product of narrower formats may round twice in rare ties: the instruction is taken where there is
/// one.
fn fma(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let ty = types::register(elems.result);
    if cx.target.has_arithmetic(ty) && types::small_float(elems.result).is_none() {
        return Ok(cx.b.intrinsic("llvm.fma", ty, x));
    }
    on_wide(cx, elems, x, |cx, v| {
        let ty = cx.b.ty(v[0]);
        Ok(cx.b.intrinsic("llvm.fma", ty, v))
    })
}

fn clear_sign(cx: &mut Cx<'_>, elems: &Elems<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    if ty == Type::F32 || ty == Type::F64 {
        return cx.b.intrinsic("llvm.fabs", ty, &[x]);
    }
    let int = ty.as_int();
    let bits = cx.b.bitcast(x, int);
    let width = elems.result.scalar_bits().unwrap_or(16);
    let mask = cx.b.bits(int, (1u128 << (width - 1)) - 1);
    let cleared = cx.b.and(bits, mask);
    cx.b.bitcast(cleared, ty)
}
