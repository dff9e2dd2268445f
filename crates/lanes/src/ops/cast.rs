//! Conversions.

use super::small_float::{as_wide, narrow_to, narrow_toward_zero};
use super::{ElementEntry, Elems};
use crate::cx::Cx;
use crate::error::Result;
use crate::target::Rounding;
use crate::types;
use ir::FloatKind;
use llir::{Op, Type, Value};
use ttir::ops::arith_cast;

/// Rows of this file.
pub(crate) const TABLE: &[ElementEntry] = &[
    (&arith_cast::EXTSI, |cx, e, x| {
        let ty = types::register(e.result);
        Ok(cx.affine.extend(&mut cx.b, x[0], ty))
    }),
    (&arith_cast::EXTUI, |cx, e, x| Ok(resize(cx, Op::ZEXT, e, x[0]))),
    (&arith_cast::TRUNCI, |cx, e, x| Ok(resize(cx, Op::TRUNC, e, x[0]))),
    (&arith_cast::SITOFP, |cx, e, x| Ok(from_int(cx, true, e, x[0]))),
    (&arith_cast::UITOFP, |cx, e, x| Ok(from_int(cx, false, e, x[0]))),
    (&arith_cast::FPTOSI, |cx, e, x| Ok(to_int(cx, Op::FPTOSI, e, x[0]))),
    (&arith_cast::FPTOUI, |cx, e, x| Ok(to_int(cx, Op::FPTOUI, e, x[0]))),
    (&arith_cast::EXTF, |cx, e, x| Ok(convert(cx, e, x[0]))),
    (&arith_cast::TRUNCF, |cx, e, x| Ok(convert(cx, e, x[0]))),
    (&arith_cast::FP_TO_FP, fp_to_fp),
    (&arith_cast::BITCAST, |cx, e, x| Ok(bitcast(cx, e, x[0]))),
    (&arith_cast::TT_BITCAST, |cx, e, x| Ok(bitcast(cx, e, x[0]))),
    (&arith_cast::INT_TO_PTR, |cx, e, x| Ok(resize(cx, Op::INTTOPTR, e, x[0]))),
    (&arith_cast::PTR_TO_INT, |cx, e, x| Ok(resize(cx, Op::PTRTOINT, e, x[0]))),
];

fn resize(cx: &mut Cx<'_>, op: Op, elems: &Elems<'_>, value: Value) -> Value {
    let ty = types::register(elems.result);
    match op {
        // Addresses are 64 bits wide.
        Op::INTTOPTR => {
            let wide = cx.b.resize_unsigned(value, Type::I64);
            cx.b.cast(op, wide, ty)
        }
        Op::PTRTOINT => {
            let wide = cx.b.cast(op, value, Type::I64);
            cx.b.resize_unsigned(wide, ty)
        }
        _ => cx.b.cast(op, value, ty),
    }
}

/// Integers of fewer than 32 bits are widened first; formats narrower than binary32 are reached through it, or through
/// binary64 where the integer has more than 24 bits, so that it is rounded once.
fn from_int(cx: &mut Cx<'_>, signed: bool, elems: &Elems<'_>, value: Value) -> Value {
    let bits = cx.b.ty(value).lane_bits();
    let wide = match (signed, bits < 32) {
        (_, false) => value,
        (true, true) => cx.b.resize_signed(value, Type::I32),
        (false, true) => cx.b.resize_unsigned(value, Type::I32),
    };
    let through = match types::register(elems.result) {
        ty @ (Type::F32 | Type::F64) => ty,
        _ if bits > 24 => Type::F64,
        _ => Type::F32,
    };
    let float = cx.b.cast(if signed { Op::SITOFP } else { Op::UITOFP }, wide, through);
    narrow_to(cx, elems.result, float)
}

/// Integers of fewer than 32 bits come through 32 bits, unsigned ones of 32 bits through 64: in range that changes nothing.
fn to_int(cx: &mut Cx<'_>, op: Op, elems: &Elems<'_>, value: Value) -> Value {
    let value = as_wide(cx, elems.operands[0], value);
    let ty = types::register(elems.result);
    if ty.lane_bits() >= 32 {
        return cx.b.cast(op, value, ty);
    }
    let wide = cx.b.cast(Op::FPTOSI, value, Type::I32);
    cx.b.resize_unsigned(wide, ty)
}

fn convert(cx: &mut Cx<'_>, elems: &Elems<'_>, value: Value) -> Value {
    let (from, to) = (elems.operands[0], elems.result);
    if from == to {
        return value;
    }
    if let (Some(from), Some(to)) = (from.as_float(), to.as_float()) {
        // One instruction may do what would be two steps.
        let small = from.bits() == 8 || to.bits() == 8;
        let found = small.then(|| cx.target.convert(&mut cx.b, from, to, Rounding::NearestEven, value));
        if let Some(value) = found.flatten() {
            return value;
        }
    }
    let wide = as_wide(cx, from, value);
    narrow_to(cx, to, wide)
}

fn fp_to_fp(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let toward_zero = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&arith_cast::ROUNDING)) == Some(0);
    let (from, to) = (elems.operands[0], elems.result);
    let narrows = to.as_float() != Some(FloatKind::F64) && from != to;
    if !toward_zero || !narrows {
        return Ok(convert(cx, elems, x[0]));
    }
    if let (Some(from), Some(to)) = (from.as_float(), to.as_float())
        && let Some(value) = cx.target.convert(&mut cx.b, from, to, Rounding::TowardZero, x[0])
    {
        return Ok(value);
    }
    let wide = as_wide(cx, from, x[0]);
    Ok(narrow_toward_zero(cx, to, wide))
}

fn bitcast(cx: &mut Cx<'_>, elems: &Elems<'_>, value: Value) -> Value {
    let (from, to) = (cx.b.ty(value), types::register(elems.result));
    let op = match (from.is_ptr(), to.is_ptr()) {
        (true, true) => return value,
        (true, false) => Op::PTRTOINT,
        (false, true) => Op::INTTOPTR,
        _ => Op::BITCAST,
    };
    cx.b.cast(op, value, to)
}
