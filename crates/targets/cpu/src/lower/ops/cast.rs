//! Conversions.

use super::{Elems, Entry, small_float};
use crate::lower::cx::Cx;
use crate::lower::error::Result;
use crate::lower::types;
use ir::FloatKind;
use llir::{Op, Type, Value};
use ttir::ops::arith_cast;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_cast::EXTSI, |cx, e, x| Ok(resize(cx, Op::SEXT, e, x[0]))),
    (&arith_cast::EXTUI, |cx, e, x| Ok(resize(cx, Op::ZEXT, e, x[0]))),
    (&arith_cast::TRUNCI, |cx, e, x| Ok(resize(cx, Op::TRUNC, e, x[0]))),
    (&arith_cast::SITOFP, |cx, e, x| Ok(from_int(cx, Op::SITOFP, e, x[0]))),
    (&arith_cast::UITOFP, |cx, e, x| Ok(from_int(cx, Op::UITOFP, e, x[0]))),
    (&arith_cast::FPTOSI, |cx, e, x| Ok(to_int(cx, "llvm.fptosi.sat", e, x[0]))),
    (&arith_cast::FPTOUI, |cx, e, x| Ok(to_int(cx, "llvm.fptoui.sat", e, x[0]))),
    (&arith_cast::EXTF, |cx, e, x| Ok(convert(cx, e, x[0]))),
    (&arith_cast::TRUNCF, |cx, e, x| Ok(convert(cx, e, x[0]))),
    (&arith_cast::FP_TO_FP, fp_to_fp),
    (&arith_cast::BITCAST, bitcast),
    (&arith_cast::TT_BITCAST, bitcast),
    (&arith_cast::INT_TO_PTR, |cx, e, x| Ok(resize(cx, Op::INTTOPTR, e, x[0]))),
    (&arith_cast::PTR_TO_INT, |cx, e, x| Ok(resize(cx, Op::PTRTOINT, e, x[0]))),
];

fn resize(cx: &mut Cx<'_>, op: Op, elems: &Elems<'_>, value: Value) -> Value {
    let ty = cx.b.ty(value).with_scalar(types::register(elems.result));
    cx.b.cast(op, value, ty)
}

/// The type that floats of a format compute in.
fn wide(ty: ir::Type) -> Type {
    if ty.as_float() == Some(FloatKind::F64) { Type::F64 } else { Type::F32 }
}

fn from_int(cx: &mut Cx<'_>, op: Op, elems: &Elems<'_>, value: Value) -> Value {
    let ty = cx.b.ty(value);
    let Some(kind) = types::small_float(elems.result) else {
        return cx.b.cast(op, value, ty.with_scalar(wide(elems.result)));
    };
    // Integers of more than 24 bits round once: through binary64, rounded to odd.
    let through = if ty.lane_bits() > 24 { Type::F64 } else { Type::F32 };
    let float = cx.b.cast(op, value, ty.with_scalar(through));
    small_float::narrow(cx, kind, float)
}

fn to_int(cx: &mut Cx<'_>, intrinsic: &str, elems: &Elems<'_>, value: Value) -> Value {
    let value = match types::small_float(elems.operands[0]) {
        Some(kind) => small_float::widen(cx, kind, value),
        None => value,
    };
    let ty = cx.b.ty(value).with_scalar(types::register(elems.result));
    cx.b.intrinsic(intrinsic, ty, &[value])
}

fn convert(cx: &mut Cx<'_>, elems: &Elems<'_>, value: Value) -> Value {
    if elems.operands[0] == elems.result {
        return value;
    }
    let value = match types::small_float(elems.operands[0]) {
        Some(kind) => small_float::widen(cx, kind, value),
        None => value,
    };
    match types::small_float(elems.result) {
        Some(kind) => small_float::narrow(cx, kind, value),
        None => {
            let ty = cx.b.ty(value).with_scalar(wide(elems.result));
            cx.b.resize_float(value, ty)
        }
    }
}

fn fp_to_fp(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let toward_zero = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&arith_cast::ROUNDING)) == Some(0);
    let Some(kind) = types::small_float(elems.result).filter(|_| toward_zero) else {
        return Ok(convert(cx, elems, x[0]));
    };
    let value = match types::small_float(elems.operands[0]) {
        Some(from) => small_float::widen(cx, from, x[0]),
        None => x[0],
    };
    Ok(small_float::narrow_toward_zero(cx, kind, value))
}

fn bitcast(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let (from, to) = (cx.b.ty(x[0]), types::register(elems.result));
    let ty = from.with_scalar(to);
    let op = match (from.is_ptr(), to.is_ptr()) {
        (true, false) => Op::PTRTOINT,
        (false, true) => Op::INTTOPTR,
        _ => Op::BITCAST,
    };
    Ok(cx.b.cast(op, x[0], ty))
}
