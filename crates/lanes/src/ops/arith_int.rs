//! Integer arithmetic and addresses.
//!
//! What the language leaves undefined (a zero divisor, a shift by the width or more) gives some value here and stops
//! nothing: machines for which this is used do not trap on division, and amounts are cut to the width.

use super::{ElementEntry, Elems};
use crate::cx::Cx;
use crate::error::Result;
use crate::types;
use llir::{IntCompare, Op, Type, Value};
use ttir::ops::{arith_int, math, memory};

/// Rows of this file.
pub(crate) const TABLE: &[ElementEntry] = &[
    (&arith_int::ADDI, |cx, _, x| Ok(cx.add(x[0], x[1]))),
    (&arith_int::SUBI, |cx, _, x| Ok(cx.affine.sub(&mut cx.b, x[0], x[1]))),
    (&arith_int::MULI, |cx, _, x| Ok(cx.affine.mul(&mut cx.b, x[0], x[1]))),
    (&arith_int::DIVSI, |cx, _, x| Ok(divide(cx, Op::SDIV, x))),
    (&arith_int::REMSI, |cx, _, x| Ok(divide(cx, Op::SREM, x))),
    (&arith_int::DIVUI, |cx, _, x| Ok(divide(cx, Op::UDIV, x))),
    (&arith_int::REMUI, |cx, _, x| Ok(divide(cx, Op::UREM, x))),
    (&arith_int::ANDI, |cx, _, x| Ok(cx.b.and(x[0], x[1]))),
    (&arith_int::ORI, |cx, _, x| Ok(cx.b.or(x[0], x[1]))),
    (&arith_int::XORI, |cx, _, x| Ok(cx.b.xor(x[0], x[1]))),
    (&arith_int::SHLI, |cx, _, x| Ok(shift(cx, Op::SHL, x))),
    (&arith_int::SHRSI, |cx, _, x| Ok(shift(cx, Op::ASHR, x))),
    (&arith_int::SHRUI, |cx, _, x| Ok(shift(cx, Op::LSHR, x))),
    (&arith_int::MAXSI, |cx, _, x| Ok(choose(cx, IntCompare::Sgt, "llvm.smax", x))),
    (&arith_int::MAXUI, |cx, _, x| Ok(choose(cx, IntCompare::Ugt, "llvm.umax", x))),
    (&arith_int::MINSI, |cx, _, x| Ok(choose(cx, IntCompare::Slt, "llvm.smin", x))),
    (&arith_int::MINUI, |cx, _, x| Ok(choose(cx, IntCompare::Ult, "llvm.umin", x))),
    (&arith_int::MULHIUI, |cx, _, x| Ok(cx.target.mul_high(&mut cx.b, false, x[0], x[1]))),
    (&math::ABSI, |cx, _, x| Ok(absolute(cx, x[0]))),
    (&memory::ADDPTR, add_pointer),
];

/// Machines divide 32 and 64 bits; narrower integers are widened and cut again. A divisor of zero or an overflow gives
/// anything; the result of the division by a constant power of two is left to later stages.
fn divide(cx: &mut Cx<'_>, op: Op, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    if ty.lane_bits() >= 32 {
        return cx.b.binary(op, x[0], x[1]);
    }
    let signed = op == Op::SDIV || op == Op::SREM;
    let wide = |cx: &mut Cx<'_>, value: Value| match signed {
        true => cx.b.resize_signed(value, Type::I32),
        false => cx.b.resize_unsigned(value, Type::I32),
    };
    let (left, right) = (wide(cx, x[0]), wide(cx, x[1]));
    let result = cx.b.binary(op, left, right);
    cx.b.resize_unsigned(result, ty)
}

/// Minimum or maximum: of 16 bits and more an instruction, of fewer a comparison.
fn choose(cx: &mut Cx<'_>, compare: IntCompare, intrinsic: &str, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    if ty.lane_bits() >= 16 {
        return cx.b.intrinsic(intrinsic, ty, x);
    }
    let holds = cx.b.icmp(compare, x[0], x[1]);
    cx.b.select(holds, x[0], x[1])
}

fn shift(cx: &mut Cx<'_>, op: Op, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    let bits = ty.lane_bits();
    match cx.b.as_int(x[1]) {
        Some(amount) if (0..i128::from(bits)).contains(&amount) && op == Op::SHL => {
            return cx.affine.shl(&mut cx.b, x[0], amount as u32);
        }
        Some(amount) if (0..i128::from(bits)).contains(&amount) => return cx.b.binary(op, x[0], x[1]),
        _ => {}
    }
    // Widths are powers of two; i1 is only ever shifted by zero.
    let mask = cx.b.int(ty, i64::from(bits - 1));
    let amount = cx.b.and(x[1], mask);
    cx.b.binary(op, x[0], amount)
}

fn absolute(cx: &mut Cx<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let (zero, negative) = (cx.b.zero(ty), cx.b.neg(x));
    let is_negative = cx.b.icmp(IntCompare::Slt, x, zero);
    cx.b.select(is_negative, negative, x)
}

fn add_pointer(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let bits = ttir::types::pointee(elems.operands[0]).map_or(8, types::memory_bits);
    Ok(cx.add_pointer(x[0], x[1], bits / 8))
}
