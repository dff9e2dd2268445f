//! Elementary functions: what a processor has as an instruction, and the vector maths of this target.

use super::float::on_wide;
use super::{Elems, Entry};
use crate::lower::cx::Cx;
use crate::lower::error::{LowerError, Result};
use crate::math::{self as library, Elem};
use ir::OpRow;
use llir::{Purity, Type, Value};
use ttir::ops::math;

/// Rows that are many instructions.
pub(super) const FUNCTIONS: [&OpRow; 8] =
    [&math::EXP, &math::EXP2, &math::LOG, &math::LOG2, &math::SIN, &math::COS, &math::ERF, &math::TANH];

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&math::ABSF, |cx, e, x| intrinsic(cx, "llvm.fabs", e, x)),
    (&math::CEIL, |cx, e, x| intrinsic(cx, "llvm.ceil", e, x)),
    (&math::FLOOR, |cx, e, x| intrinsic(cx, "llvm.floor", e, x)),
    (&math::SQRT, |cx, e, x| intrinsic(cx, "llvm.sqrt", e, x)),
    (&math::PRECISE_SQRT, |cx, e, x| intrinsic(cx, "llvm.sqrt", e, x)),
    (&math::FMA, |cx, e, x| intrinsic(cx, "llvm.fma", e, x)),
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
