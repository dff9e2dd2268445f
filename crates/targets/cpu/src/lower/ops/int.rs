//! Integer arithmetic and addresses.
//!
//! What the language leaves undefined (a zero divisor, a shift by the width or more) gives some value here and never
//! stops the process: divisors are replaced by one where the division would trap, amounts are cut to the width.

use super::{Elems, Entry};
use crate::lower::cx::Cx;
use crate::lower::error::Result;
use llir::{IntCompare, Op, Value};
use ttir::ops::{arith_int, math, memory};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_int::ADDI, |cx, _, x| Ok(cx.b.add(x[0], x[1]))),
    (&arith_int::SUBI, |cx, _, x| Ok(cx.b.sub(x[0], x[1]))),
    (&arith_int::MULI, |cx, _, x| Ok(cx.b.mul(x[0], x[1]))),
    (&arith_int::DIVSI, |cx, _, x| Ok(signed_division(cx, Op::SDIV, x))),
    (&arith_int::REMSI, |cx, _, x| Ok(signed_division(cx, Op::SREM, x))),
    (&arith_int::DIVUI, |cx, _, x| Ok(unsigned_division(cx, Op::UDIV, x))),
    (&arith_int::REMUI, |cx, _, x| Ok(unsigned_division(cx, Op::UREM, x))),
    (&arith_int::ANDI, |cx, _, x| Ok(cx.b.and(x[0], x[1]))),
    (&arith_int::ORI, |cx, _, x| Ok(cx.b.or(x[0], x[1]))),
    (&arith_int::XORI, |cx, _, x| Ok(cx.b.xor(x[0], x[1]))),
    (&arith_int::SHLI, |cx, _, x| Ok(shift(cx, Op::SHL, x))),
    (&arith_int::SHRSI, |cx, _, x| Ok(shift(cx, Op::ASHR, x))),
    (&arith_int::SHRUI, |cx, _, x| Ok(shift(cx, Op::LSHR, x))),
    (&arith_int::MAXSI, |cx, _, x| Ok(choice(cx, "llvm.smax", x))),
    (&arith_int::MAXUI, |cx, _, x| Ok(choice(cx, "llvm.umax", x))),
    (&arith_int::MINSI, |cx, _, x| Ok(choice(cx, "llvm.smin", x))),
    (&arith_int::MINUI, |cx, _, x| Ok(choice(cx, "llvm.umin", x))),
    (&arith_int::MULHIUI, |cx, _, x| Ok(high_product(cx, x))),
    (&math::ABSI, absolute),
    (&memory::ADDPTR, add_pointer),
];

fn choice(cx: &mut Cx<'_>, intrinsic: &str, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    cx.b.intrinsic(intrinsic, ty, x)
}

/// A divisor that is a constant needs no guard.
fn is_harmless(cx: &Cx<'_>, divisor: Value) -> bool {
    cx.b.as_int(divisor).is_some_and(|value| value != 0 && value != -1)
}

/// The smallest value divided by -1 overflows, and by zero everything does: both divide by one instead, which for -1
/// wraps as it should once the sign is turned.
fn signed_division(cx: &mut Cx<'_>, op: Op, x: &[Value]) -> Value {
    if is_harmless(cx, x[1]) {
        return cx.b.binary(op, x[0], x[1]);
    }
    let ty = cx.b.ty(x[1]);
    let (zero, one, minus) = (cx.b.zero(ty), cx.b.int(ty, 1), cx.b.int(ty, -1));
    let negates = cx.b.icmp(IntCompare::Eq, x[1], minus);
    let is_zero = cx.b.icmp(IntCompare::Eq, x[1], zero);
    let traps = cx.b.or(negates, is_zero);
    let divisor = cx.b.select(traps, one, x[1]);
    let result = cx.b.binary(op, x[0], divisor);
    if op == Op::SREM {
        return result;
    }
    let negated = cx.b.neg(x[0]);
    cx.b.select(negates, negated, result)
}

fn unsigned_division(cx: &mut Cx<'_>, op: Op, x: &[Value]) -> Value {
    if is_harmless(cx, x[1]) {
        return cx.b.binary(op, x[0], x[1]);
    }
    let ty = cx.b.ty(x[1]);
    let (zero, one) = (cx.b.zero(ty), cx.b.int(ty, 1));
    let is_zero = cx.b.icmp(IntCompare::Eq, x[1], zero);
    let divisor = cx.b.select(is_zero, one, x[1]);
    cx.b.binary(op, x[0], divisor)
}

fn shift(cx: &mut Cx<'_>, op: Op, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    let bits = ty.lane_bits();
    let mut amount = x[1];
    if cx.b.as_int(amount).is_none_or(|value| !(0..i128::from(bits)).contains(&value)) {
        // Widths are powers of two but for i1, which is only ever shifted by zero.
        let mask = cx.b.int(ty, i64::from(bits - 1));
        amount = cx.b.and(amount, mask);
    }
    cx.b.binary(op, x[0], amount)
}

fn high_product(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    let bits = ty.lane_bits();
    let wide = ty.with_scalar(llir::Type::int(2 * bits as u16));
    let [a, b] = [x[0], x[1]].map(|value| cx.b.resize_unsigned(value, wide));
    let product = cx.b.mul(a, b);
    let amount = cx.b.int(wide, i64::from(bits));
    let high = cx.b.lshr(product, amount);
    cx.b.resize_unsigned(high, ty)
}

fn absolute(cx: &mut Cx<'_>, _: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let ty = cx.b.ty(x[0]);
    let poison = cx.b.bool(false);
    Ok(cx.b.intrinsic("llvm.abs", ty, &[x[0], poison]))
}

fn add_pointer(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let element = cx.pointee(elems.operands[0]);
    Ok(cx.b.gep(element, x[0], x[1]))
}
