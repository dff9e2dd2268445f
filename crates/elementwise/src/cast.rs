//! Conversions.

use crate::small_float::{as_wide, narrow_to, narrow_toward_zero};
use crate::{Ctx, Elems, Entry, Result, Rounding};
use ir::FloatKind;
use llir::{Op, Type, Value};
use ttir::ops::arith_cast::{self, FpToFpOp};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_cast::EXTSI, |ctx, e, x| {
        let ty = ctx.result_like(x[0], e);
        Ok(ctx.sums.extend(ctx.b, x[0], ty, e.source_bounds()))
    }),
    (&arith_cast::EXTUI, |ctx, e, x| Ok(resize(ctx, Op::ZEXT, e, x[0]))),
    (&arith_cast::TRUNCI, |ctx, e, x| Ok(resize(ctx, Op::TRUNC, e, x[0]))),
    (&arith_cast::SITOFP, |ctx, e, x| Ok(from_int(ctx, true, e, x[0]))),
    (&arith_cast::UITOFP, |ctx, e, x| Ok(from_int(ctx, false, e, x[0]))),
    (&arith_cast::FPTOSI, |ctx, e, x| Ok(to_int(ctx, true, e, x[0]))),
    (&arith_cast::FPTOUI, |ctx, e, x| Ok(to_int(ctx, false, e, x[0]))),
    (&arith_cast::EXTF, |ctx, e, x| Ok(convert(ctx, e, x[0]))),
    (&arith_cast::TRUNCF, |ctx, e, x| Ok(convert(ctx, e, x[0]))),
    (&arith_cast::FP_TO_FP, fp_to_fp),
    (&arith_cast::BITCAST, |ctx, e, x| Ok(bitcast(ctx, e, x[0]))),
    (&arith_cast::TT_BITCAST, |ctx, e, x| Ok(bitcast(ctx, e, x[0]))),
    (&arith_cast::INT_TO_PTR, |ctx, e, x| Ok(resize(ctx, Op::INTTOPTR, e, x[0]))),
    (&arith_cast::PTR_TO_INT, |ctx, e, x| Ok(resize(ctx, Op::PTRTOINT, e, x[0]))),
];

fn resize(ctx: &mut Ctx<'_, '_>, op: Op, elems: &Elems<'_>, value: Value) -> Value {
    let (ty, address) = (ctx.result_like(value, elems), ctx.like(value, Type::I64));
    match op {
        // Addresses are 64 bits wide.
        Op::INTTOPTR => {
            let wide = ctx.b.resize_unsigned(value, address);
            ctx.b.cast(op, wide, ty)
        }
        Op::PTRTOINT => {
            let wide = ctx.b.cast(op, value, address);
            ctx.b.resize_unsigned(wide, ty)
        }
        _ => ctx.b.cast(op, value, ty),
    }
}

/// Integers narrower than what the machine converts are widened first; formats narrower than binary32 are reached
/// through it, to which GPUs convert integers faster than to any other, or through binary64 where the integer may need
/// more than 24 bits and no instruction rounds it once.
pub(crate) fn from_int(ctx: &mut Ctx<'_, '_>, signed: bool, elems: &Elems<'_>, value: Value) -> Value {
    let bits = ctx.b.ty(value).lane_bits();
    let least = ctx.target.abilities().widths.divide;
    let int = ctx.like(value, Type::int(least as u16));
    let wide = match (signed, bits < least) {
        (_, false) => value,
        (true, true) => ctx.b.resize_signed(value, int),
        (false, true) => ctx.b.resize_unsigned(value, int),
    };
    let is_direct = ctx.target.abilities().halves_from_int;
    let through = match elems.result.as_float() {
        Some(FloatKind::F64) => Type::F64,
        Some(FloatKind::F32) => Type::F32,
        _ if bits <= 24 || is_small(signed, elems) => Type::F32,
        Some(FloatKind::F16) if is_direct => Type::F16,
        _ => Type::F64,
    };
    let through = ctx.like(value, through);
    let float = ctx.b.cast(if signed { Op::SITOFP } else { Op::UITOFP }, wide, through);
    narrow_to(ctx, elems.result, float)
}

/// Whether the code shows that the integer that is converted has no more bits than the significand of binary32.
fn is_small(signed: bool, elems: &Elems<'_>) -> bool {
    let least = if signed { -(1 << 24) } else { 0 };
    elems.source_bounds().is_some_and(|of| of.low >= least && of.high <= 1 << 24)
}

/// Narrow integers come through a wider one that the machine names: in range that changes nothing.
pub(crate) fn to_int(ctx: &mut Ctx<'_, '_>, signed: bool, elems: &Elems<'_>, value: Value) -> Value {
    let value = as_wide(ctx, elems.operands[0], value);
    let ty = ctx.result_like(value, elems);
    let (bits, signed) = ctx.target.way_to_int(signed, ty.lane_bits());
    if ty.lane_bits() == bits {
        return ctx.target.to_int(ctx.b, signed, value, ty);
    }
    let int = ctx.like(value, Type::int(bits as u16));
    let wide = ctx.target.to_int(ctx.b, signed, value, int);
    ctx.b.resize_unsigned(wide, ty)
}

/// From one float format to another, to nearest even.
pub(crate) fn convert(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, value: Value) -> Value {
    let (from, to) = (elems.operands[0], elems.result);
    if from == to {
        return value;
    }
    if let (Some(from), Some(to)) = (from.as_float(), to.as_float()) {
        // One instruction may do what would be two steps.
        let small = from.bits() == 8 || to.bits() == 8;
        let found = small.then(|| ctx.target.convert(ctx.b, (from, to), Rounding::NearestEven, value));
        if let Some(value) = found.flatten() {
            return value;
        }
    }
    let wide = as_wide(ctx, from, value);
    narrow_to(ctx, to, wide)
}

fn fp_to_fp(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let toward_zero = FpToFpOp::new(elems.module, elems.op).rounding() == Some(arith_cast::Rounding::Rtz);
    let (from, to) = (elems.operands[0], elems.result);
    let narrows = to.as_float() != Some(FloatKind::F64) && from != to;
    if !toward_zero || !narrows {
        return Ok(convert(ctx, elems, x[0]));
    }
    if let (Some(from), Some(to)) = (from.as_float(), to.as_float())
        && let Some(value) = ctx.target.convert(ctx.b, (from, to), Rounding::TowardZero, x[0])
    {
        return Ok(value);
    }
    let wide = as_wide(ctx, from, x[0]);
    Ok(narrow_toward_zero(ctx, to, wide))
}

fn bitcast(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, value: Value) -> Value {
    let (from, to) = (ctx.b.ty(value), ctx.result_like(value, elems));
    let op = match (from.is_ptr(), to.is_ptr()) {
        (true, true) => return value,
        (true, false) => Op::PTRTOINT,
        (false, true) => Op::INTTOPTR,
        _ => Op::BITCAST,
    };
    ctx.b.cast(op, value, to)
}
