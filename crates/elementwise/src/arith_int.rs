//! Integer arithmetic and addresses.
//!
//! What the language leaves undefined (a zero divisor) gives some value here and never stops the process: divisors are
//! replaced where a division would trap. What overflows wraps.

use crate::target::Division;
use crate::{Ctx, Elems, Entry, Result};
use llir::{IntCompare, Intrinsic, Op, Type, Value, intrinsics};
use ttir::ops::{arith_int, math, memory};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&arith_int::ADDI, |ctx, _, x| Ok(ctx.sums.add(ctx.b, x[0], x[1]))),
    (&arith_int::SUBI, |ctx, _, x| Ok(ctx.sums.sub(ctx.b, x[0], x[1]))),
    (&arith_int::MULI, |ctx, e, x| Ok(multiply(ctx, e, x))),
    (&arith_int::DIVSI, |ctx, _, x| Ok(divide(ctx, Op::SDIV, x))),
    (&arith_int::REMSI, |ctx, _, x| Ok(divide(ctx, Op::SREM, x))),
    (&arith_int::DIVUI, |ctx, _, x| Ok(divide(ctx, Op::UDIV, x))),
    (&arith_int::REMUI, |ctx, _, x| Ok(divide(ctx, Op::UREM, x))),
    (&arith_int::ANDI, |ctx, _, x| Ok(ctx.b.and(x[0], x[1]))),
    (&arith_int::ORI, |ctx, _, x| Ok(ctx.b.or(x[0], x[1]))),
    (&arith_int::XORI, |ctx, _, x| Ok(ctx.b.xor(x[0], x[1]))),
    (&arith_int::SHLI, |ctx, e, x| Ok(shift(ctx, Op::SHL, e, x))),
    (&arith_int::SHRSI, |ctx, e, x| Ok(shift(ctx, Op::ASHR, e, x))),
    (&arith_int::SHRUI, |ctx, e, x| Ok(shift(ctx, Op::LSHR, e, x))),
    (&arith_int::MAXSI, |ctx, _, x| Ok(choose(ctx, IntCompare::Sgt, &intrinsics::SMAX, x))),
    (&arith_int::MAXUI, |ctx, _, x| Ok(choose(ctx, IntCompare::Ugt, &intrinsics::UMAX, x))),
    (&arith_int::MINSI, |ctx, _, x| Ok(choose(ctx, IntCompare::Slt, &intrinsics::SMIN, x))),
    (&arith_int::MINUI, |ctx, _, x| Ok(choose(ctx, IntCompare::Ult, &intrinsics::UMIN, x))),
    (&arith_int::MULHIUI, |ctx, _, x| Ok(ctx.target.mul_high(ctx.b, false, x[0], x[1]))),
    (&math::ABSI, |ctx, _, x| Ok(absolute(ctx, x[0]))),
    (&memory::ADDPTR, add_pointer),
];

/// A product by a constant of what has bounds may be known not to wrap: a loop then carries addresses made with it.
fn multiply(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Value {
    let has_factor = x.iter().any(|&value| ctx.b.as_int(value).is_some());
    let fits = has_factor && elems.result_fits();
    ctx.sums.mul(ctx.b, (x[0], x[1]), fits)
}

/// Integers narrower than what the machine divides are widened and cut again. The result of the division by a constant
/// power of two is left to later stages.
fn divide(ctx: &mut Ctx<'_, '_>, op: Op, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[0]);
    let least = ctx.target.abilities().widths.divide;
    if ty.lane_bits() >= least {
        return guarded(ctx, op, x);
    }
    let signed = op == Op::SDIV || op == Op::SREM;
    let wide = ty.with_scalar(Type::int(least as u16));
    let [left, right] = [x[0], x[1]].map(|value| match signed {
        true => ctx.b.resize_signed(value, wide),
        false => ctx.b.resize_unsigned(value, wide),
    });
    let result = guarded(ctx, op, &[left, right]);
    ctx.b.resize_unsigned(result, ty)
}

/// A division that has a result whatever the divisor is.
fn guarded(ctx: &mut Ctx<'_, '_>, op: Op, x: &[Value]) -> Value {
    let divisor = ctx.b.as_int(x[1]);
    let harmless = divisor.is_some_and(|value| value != 0 && value != -1);
    if divisor.is_none()
        && ctx.target.abilities().division != Division::Traps
        && let Some(dividend) = short_dividend(ctx, op, x[0])
    {
        return of_short(ctx, op, dividend, x[1]);
    }
    match ctx.target.abilities().division {
        Division::Traps if !harmless => untrapped(ctx, op, x),
        Division::Undefined if !harmless => defined(ctx, op, x),
        _ => ctx.b.binary(op, x[0], x[1]),
    }
}

/// The 32 bits that are widened to the dividend of a signed division of 64 bits: such a division is a long routine.
fn short_dividend(ctx: &mut Ctx<'_, '_>, op: Op, dividend: Value) -> Option<Value> {
    if !(op == Op::SDIV || op == Op::SREM) || ctx.b.ty(dividend) != Type::I64 {
        return None;
    }
    let widened = ctx.b.func().defining(dividend).filter(|inst| inst.op == Op::SEXT)?.operands[0];
    (ctx.b.ty(widened).lane_bits() <= 32).then(|| ctx.b.resize_signed(widened, Type::I32))
}

/// A signed division of 32 bits that are widened to 64, by magnitudes: a divisor of more bits leaves zero, and the
/// whole dividend as the remainder. Only the sign needs 64 bits, as the least number has a magnitude of 32.
fn of_short(ctx: &mut Ctx<'_, '_>, op: Op, dividend: Value, divisor: Value) -> Value {
    let (sign_32, sign_64) = (ctx.b.int(Type::I32, 31), ctx.b.int(Type::I64, 63));
    let sign = ctx.b.binary(Op::ASHR, dividend, sign_32);
    let other_sign = ctx.b.binary(Op::ASHR, divisor, sign_64);
    let dividend = turned(ctx, dividend, sign);
    let divisor = turned(ctx, divisor, other_sign);
    let low = ctx.b.resize_unsigned(divisor, Type::I32);
    let half = ctx.b.int(Type::I64, 32);
    let high = ctx.b.binary(Op::LSHR, divisor, half);
    let high = ctx.b.resize_unsigned(high, Type::I32);
    let zero = ctx.b.zero(Type::I32);
    let fits = ctx.b.icmp(IntCompare::Eq, high, zero);
    let sign = ctx.b.resize_signed(sign, Type::I64);
    let (unsigned, otherwise, sign) = match op {
        Op::SDIV => (Op::UDIV, zero, ctx.b.xor(sign, other_sign)),
        _ => (Op::UREM, dividend, sign),
    };
    let result = guarded(ctx, unsigned, &[dividend, low]);
    let result = ctx.b.select(fits, result, otherwise);
    let result = ctx.b.resize_unsigned(result, Type::I64);
    turned(ctx, result, sign)
}

/// The number, or where the sign is all ones its negation.
fn turned(ctx: &mut Ctx<'_, '_>, value: Value, sign: Value) -> Value {
    let other = ctx.b.xor(value, sign);
    ctx.b.sub(other, sign)
}

/// A division of magnitudes, which is what machines without an instruction for it do anyway. The magnitude of the least
/// number is right as an unsigned one, and the result wraps. Zero divides as one does.
fn defined(ctx: &mut Ctx<'_, '_>, op: Op, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[0]);
    let one = ctx.b.int(ty, 1);
    let by_some = |ctx: &mut Ctx<'_, '_>, op: Op, dividend: Value, divisor: Value| {
        let divisor = choose(ctx, IntCompare::Ugt, &intrinsics::UMAX, &[divisor, one]);
        ctx.b.binary(op, dividend, divisor)
    };
    let (unsigned, of_both) = match op {
        Op::SDIV => (Op::UDIV, true),
        Op::SREM => (Op::UREM, false),
        _ => return by_some(ctx, op, x[0], x[1]),
    };
    let sign_bit = ctx.b.int(ty, i64::from(ty.lane_bits()) - 1);
    // All ones for negative numbers, else zero.
    let signs = [x[0], x[1]].map(|value| ctx.b.binary(Op::ASHR, value, sign_bit));
    let (dividend, divisor) = (turned(ctx, x[0], signs[0]), turned(ctx, x[1], signs[1]));
    let result = by_some(ctx, unsigned, dividend, divisor);
    let sign = if of_both { ctx.b.xor(signs[0], signs[1]) } else { signs[0] };
    turned(ctx, result, sign)
}

/// A division that never traps: the smallest value divided by -1 overflows, and by zero everything does: both divide by
/// one instead, which for -1 wraps as it should once the sign is turned.
fn untrapped(ctx: &mut Ctx<'_, '_>, op: Op, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[1]);
    let (zero, one) = (ctx.b.zero(ty), ctx.b.int(ty, 1));
    let is_zero = ctx.b.icmp(IntCompare::Eq, x[1], zero);
    if op == Op::UDIV || op == Op::UREM {
        let divisor = ctx.b.select(is_zero, one, x[1]);
        return harmless(ctx, op, x[0], divisor);
    }
    let minus = ctx.b.int(ty, -1);
    let negates = ctx.b.icmp(IntCompare::Eq, x[1], minus);
    let traps = ctx.b.or(negates, is_zero);
    let divisor = ctx.b.select(traps, one, x[1]);
    let result = harmless(ctx, op, x[0], divisor);
    if op == Op::SREM {
        return result;
    }
    let negated = ctx.b.neg(x[0]);
    ctx.b.select(negates, negated, result)
}

/// A division that neither overflows nor divides by zero.
fn harmless(ctx: &mut Ctx<'_, '_>, op: Op, dividend: Value, divisor: Value) -> Value {
    let ty = ctx.b.ty(dividend);
    let is_narrow = ty.is_vector() && (8..=32).contains(&ty.lane_bits());
    if !is_narrow || !ctx.target.divides_by_floats() {
        return ctx.b.binary(op, dividend, divisor);
    }
    let quotient = ctx.exactly(|ctx| by_floats(ctx, op == Op::SDIV || op == Op::SREM, dividend, divisor));
    if op == Op::SDIV || op == Op::UDIV {
        return quotient;
    }
    let product = ctx.b.mul(quotient, divisor);
    ctx.b.sub(dividend, product)
}

/// A quotient as the product with a reciprocal, which loops compute once where the divisor stays the same. With one
/// half more in its magnitude, the quotient of a dividend is at least half the reciprocal away from every integer,
/// which is more than a float of twice the width is wrong by after two roundings.
fn by_floats(ctx: &mut Ctx<'_, '_>, signed: bool, dividend: Value, divisor: Value) -> Value {
    let ty = ctx.b.ty(dividend);
    let float = ctx.like(dividend, if ty.lane_bits() == 32 { Type::F64 } else { Type::F32 });
    let (to_float, to_int) = if signed { (Op::SITOFP, Op::FPTOSI) } else { (Op::UITOFP, Op::FPTOUI) };
    let [dividend, divisor] = [dividend, divisor].map(|value| ctx.b.cast(to_float, value, float));
    let (half, one) = (ctx.b.float(float, 0.5), ctx.b.float(float, 1.0));
    let half = if signed { ctx.b.intrinsic(&intrinsics::COPYSIGN, float, &[half, dividend]) } else { half };
    let reciprocal = ctx.b.fdiv(one, divisor);
    let dividend = ctx.b.fadd(dividend, half);
    let quotient = ctx.b.fmul(dividend, reciprocal);
    ctx.b.cast(to_int, quotient, ty)
}

/// Minimum or maximum, by a comparison where the machine has no instruction.
fn choose(ctx: &mut Ctx<'_, '_>, compare: IntCompare, intrinsic: &'static Intrinsic, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[0]);
    if ty.lane_bits() >= ctx.target.abilities().widths.minmax {
        return ctx.b.intrinsic(intrinsic, ty, x);
    }
    let holds = ctx.b.icmp(compare, x[0], x[1]);
    ctx.b.select(holds, x[0], x[1])
}

/// Amounts of the width and more leave zeros, or copies of the sign.
fn shift(ctx: &mut Ctx<'_, '_>, op: Op, elems: &Elems<'_>, x: &[Value]) -> Value {
    let ty = ctx.b.ty(x[0]);
    let bits = ty.lane_bits();
    match ctx.b.as_int(x[1]) {
        Some(amount) if (0..i128::from(bits)).contains(&amount) && op == Op::SHL => {
            return ctx.sums.shl(ctx.b, x[0], (amount as u32, x[1]));
        }
        Some(amount) if (0..i128::from(bits)).contains(&amount) => return ctx.b.binary(op, x[0], x[1]),
        _ => {}
    }
    if elems.bounds_of(1).is_some_and(|of| of.low >= 0 && of.high < i64::from(bits)) {
        return ctx.b.binary(op, x[0], x[1]);
    }
    let most = ctx.b.int(ty, i64::from(bits - 1));
    if op == Op::ASHR {
        let amount = choose(ctx, IntCompare::Ult, &intrinsics::UMIN, &[x[1], most]);
        return ctx.b.binary(op, x[0], amount);
    }
    // Widths are powers of two.
    let (amount, fits) = (ctx.b.and(x[1], most), ctx.b.icmp(IntCompare::Ule, x[1], most));
    let (shifted, zero) = (ctx.b.binary(op, x[0], amount), ctx.b.zero(ty));
    ctx.b.select(fits, shifted, zero)
}

/// The magnitude; the smallest number stays.
pub(crate) fn absolute(ctx: &mut Ctx<'_, '_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    let (zero, negative) = (ctx.b.zero(ty), ctx.b.neg(x));
    let is_negative = ctx.b.icmp(IntCompare::Slt, x, zero);
    ctx.b.select(is_negative, negative, x)
}

fn add_pointer(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    // Truth values take a byte.
    let element = ttir::types::pointee(elems.operands[0]).map(|ty| ctx.target.register(ty));
    let element = element.filter(|ty| *ty != Type::I1).unwrap_or(Type::I8);
    Ok(ctx.sums.add_pointer(ctx.b, x[0], x[1], element))
}
