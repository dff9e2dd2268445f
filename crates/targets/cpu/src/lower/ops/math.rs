//! Elementary functions: what a processor has as an instruction, and the vector maths of this target.

use super::float::on_wide;
use super::{Elems, Entry};
use crate::lower::cx::Cx;
use crate::lower::error::{LowerError, Result};
use crate::math::{self as library, Elem};
use llir::{Purity, Type, Value};
use ttir::ops::math;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&math::ABSF, |cx, e, x| intrinsic(cx, "llvm.fabs", e, x)),
    (&math::CEIL, |cx, e, x| intrinsic(cx, "llvm.ceil", e, x)),
    (&math::FLOOR, |cx, e, x| intrinsic(cx, "llvm.floor", e, x)),
    (&math::SQRT, |cx, e, x| intrinsic(cx, "llvm.sqrt", e, x)),
    (&math::PRECISE_SQRT, |cx, e, x| intrinsic(cx, "llvm.sqrt", e, x)),
    (&math::FMA, fused),
    (&math::EXP, |cx, e, x| function(cx, "exp", e, x)),
    (&math::EXP2, |cx, e, x| function(cx, "exp2", e, x)),
    (&math::LOG, |cx, e, x| function(cx, "log", e, x)),
    (&math::LOG2, |cx, e, x| function(cx, "log2", e, x)),
    (&math::SIN, |cx, e, x| function(cx, "sin", e, x)),
    (&math::COS, |cx, e, x| function(cx, "cos", e, x)),
    (&math::RSQRT, |cx, e, x| function(cx, "rsqrt", e, x)),
    (&math::ERF, |cx, e, x| function(cx, "erf", e, x)),
    (&math::TANH, |cx, e, x| function(cx, "tanh", e, x)),
];

fn intrinsic(cx: &mut Cx<'_>, name: &str, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    on_wide(cx, elems, x, |cx, v| {
        let ty = cx.b.ty(v[0]);
        cx.b.intrinsic(name, ty, v)
    })
}

/// Without an instruction, `fma` would be a call of a library that is not there: binary64 holds the product of two
/// binary32 numbers, so that only the sum rounds twice.
fn fused(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let has_fma = cx.machine.has_fma;
    on_wide(cx, elems, x, |cx, v| {
        let ty = cx.b.ty(v[0]);
        if has_fma {
            return cx.b.intrinsic("llvm.fma", ty, v);
        }
        let wide = ty.with_scalar(Type::F64);
        let [a, b, c] = [v[0], v[1], v[2]].map(|value| cx.b.resize_float(value, wide));
        let product = cx.b.fmul(a, b);
        let sum = cx.b.fadd(product, c);
        cx.b.resize_float(sum, ty)
    })
}

fn function(cx: &mut Cx<'_>, name: &str, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let mut failed = None;
    let result = on_wide(cx, elems, x, |cx, v| {
        call(cx, name, v).unwrap_or_else(|error| {
            failed = Some(error);
            v[0]
        })
    })?;
    failed.map_or(Ok(result), Err)
}

/// Calls a function of the vector maths on binary32 or binary64 vectors or scalars.
pub(crate) fn call(cx: &mut Cx<'_>, name: &str, x: &[Value]) -> Result<Value> {
    let ty = cx.b.ty(x[0]);
    let elem = match ty.lane() {
        Type::F32 => Elem::F32,
        Type::F64 => Elem::F64,
        other => return Err(LowerError::new(format!("`{name}` has no version for {other}"))),
    };
    let definitions = library::definitions(name, elem, ty.lanes(), cx.machine.math())?;
    let symbol = library::function_name(name, elem, ty.lanes());
    // LLVM inlines it; until then it is known to be pure.
    let result = cx.call_text(&definitions, &symbol, ty, x, Purity::Pure);
    result.ok_or_else(|| LowerError::new(format!("`{name}` gives no result")))
}
