//! Arithmetic and conversions that round toward zero, downwards or upwards: `add_rz`, `fsqrt_rd`, `ll2float_ru`.
//!
//! The result rounded to nearest comes with the sign of what is missing, which is found without error; where it lies on
//! the wrong side, the number next to it is the result. Of singles both are computed in doubles.

use super::Make;
use crate::small_float::as_wide;
use crate::{Ctx, Elems, Result};
use ir::FloatKind;
use llir::{FloatCompare, IntCompare, Op, Type, Value, intrinsics};

/// Where to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Zero,
    Down,
    Up,
}

/// A function, its direction, and how many operands it has.
pub(super) fn find(name: &str) -> Option<(usize, Make)> {
    let (stem, suffix) = name.rsplit_once('_')?;
    let direction = ["rz", "rd", "ru"].iter().position(|word| *word == suffix)?;
    STEMS.iter().find(|(own, _, _)| *own == stem).map(|(_, arity, makes)| (*arity, makes[direction]))
}

/// The name in [`find`] of one that says its format too: `fadd_rz`, `dadd_rz`, `fmaf_rz`.
pub(super) fn plain_name(name: &str) -> Option<&'static str> {
    let (stem, suffix) = name.rsplit_once('_')?;
    let known = |plain: &str| NAMES.iter().find(|own| **own == format!("{plain}_{suffix}")).copied();
    let bare = stem.strip_prefix(['f', 'd']).and_then(known);
    bare.or_else(|| stem.strip_suffix('f').and_then(known))
}

/// The names whose format may be said too.
const NAMES: &[&str] = &[
    "add_rz", "add_rd", "add_ru", "sub_rz", "sub_rd", "sub_ru", "mul_rz", "mul_rd", "mul_ru", "div_rz",
    "div_rd", "div_ru", "rcp_rz", "rcp_rd", "rcp_ru", "sqrt_rz", "sqrt_rd", "sqrt_ru", "fma_rz", "fma_rd",
    "fma_ru",
];

/// How a function is made in each direction.
macro_rules! directions {
    ($parts:expr) => {
        [
            |ctx, e, x| rounded(ctx, e, x, Direction::Zero, $parts),
            |ctx, e, x| rounded(ctx, e, x, Direction::Down, $parts),
            |ctx, e, x| rounded(ctx, e, x, Direction::Up, $parts),
        ]
    };
}

/// Names without their rounding, numbers of operands.
const STEMS: &[(&str, usize, [Make; 3])] = &[
    ("add", 2, directions!(|ctx, x| sum(ctx, x[0], x[1]))),
    ("sub", 2, directions!(difference)),
    ("mul", 2, directions!(product)),
    ("div", 2, directions!(quotient)),
    ("rcp", 1, directions!(reciprocal)),
    ("sqrt", 1, directions!(root)),
    ("fma", 3, directions!(multiply_add)),
    ("double2float", 1, directions!(|ctx, x| exact(ctx, x[0]))),
    ("int2float", 1, directions!(|ctx, x| integer(ctx, true, x[0]))),
    ("uint2float", 1, directions!(|ctx, x| integer(ctx, false, x[0]))),
    ("ll2float", 1, directions!(|ctx, x| integer(ctx, true, x[0]))),
    ("ull2float", 1, directions!(|ctx, x| integer(ctx, false, x[0]))),
    ("ll2double", 1, directions!(|ctx, x| integer(ctx, true, x[0]))),
    ("ull2double", 1, directions!(|ctx, x| integer(ctx, false, x[0]))),
];

/// A double to nearest, and a number of the sign of what is missing; zeros are the sum's that rounds downwards to `-0`.
struct Parts {
    near: Value,
    missing: Value,
    /// The addends, of which the sign of a zero depends.
    addends: Option<[Value; 2]>,
}

fn double(ctx: &Ctx<'_, '_>, x: Value) -> Type {
    ctx.like(x, Type::F64)
}

fn rounded(
    ctx: &mut Ctx<'_, '_>,
    elems: &Elems<'_>,
    x: &[Value],
    direction: Direction,
    parts: fn(&mut Ctx<'_, '_>, &[Value]) -> Parts,
) -> Result<Value> {
    ctx.exactly(|ctx| {
        let wide: Vec<Value> = x
            .iter()
            .zip(&elems.operands)
            .map(|(value, ty)| {
                let value = as_wide(ctx, *ty, *value);
                let double = double(ctx, value);
                if ctx.b.ty(value).is_float() { ctx.b.resize_float(value, double) } else { value }
            })
            .collect();
        let parts = parts(ctx, &wide);
        let single = elems.result.as_float() != Some(FloatKind::F64);
        Ok(step(ctx, &wide, &parts, (single, direction)))
    })
}

/// The number beside the nearest one where that lies on the wrong side.
fn step(ctx: &mut Ctx<'_, '_>, x: &[Value], parts: &Parts, (single, direction): (bool, Direction)) -> Value {
    let near = parts.near;
    let wide = double(ctx, near);
    let (zero, infinity) = (ctx.b.float(wide, 0.0), ctx.b.float(wide, f64::INFINITY));
    let (mut above, mut below) = (
        ctx.b.fcmp(FloatCompare::Olt, parts.missing, zero),
        ctx.b.fcmp(FloatCompare::Ogt, parts.missing, zero),
    );
    // An infinity of finite operands is beyond what is meant, but for what is divided by zero, which misses nothing.
    let size = ctx.b.intrinsic(&intrinsics::FABS, wide, &[near]);
    let mut overflows = ctx.b.fcmp(FloatCompare::Oeq, size, infinity);
    for value in x.iter().filter(|value| ctx.b.ty(**value).is_float()).copied().collect::<Vec<_>>() {
        let size = ctx.b.intrinsic(&intrinsics::FABS, wide, &[value]);
        let finite = ctx.b.fcmp(FloatCompare::Olt, size, infinity);
        overflows = ctx.b.and(overflows, finite);
    }
    if let [_, divisor] | [divisor] = x
        && parts.addends.is_none()
        && ctx.b.ty(*divisor).is_float()
    {
        let some = ctx.b.fcmp(FloatCompare::One, *divisor, zero);
        overflows = ctx.b.and(overflows, some);
    }
    let positive = ctx.b.fcmp(FloatCompare::Ogt, near, zero);
    let too_large = ctx.b.and(overflows, positive);
    let not_positive = ctx.b.not(positive);
    let too_small = ctx.b.and(overflows, not_positive);
    above = ctx.b.or(above, too_large);
    below = ctx.b.or(below, too_small);
    let result = if single {
        let float = ctx.like(near, Type::F32);
        let narrow = ctx.b.cast(Op::FPTRUNC, near, float);
        let back = ctx.b.cast(Op::FPEXT, narrow, wide);
        let (over, under) =
            (ctx.b.fcmp(FloatCompare::Ogt, back, near), ctx.b.fcmp(FloatCompare::Olt, back, near));
        let equal = ctx.b.fcmp(FloatCompare::Oeq, back, near);
        let (rest_above, rest_below) = (ctx.b.and(equal, above), ctx.b.and(equal, below));
        above = ctx.b.or(over, rest_above);
        below = ctx.b.or(under, rest_below);
        narrow
    } else {
        near
    };
    let moved = beside(ctx, result, (above, below), direction);
    match parts.addends {
        Some(addends) if direction == Direction::Down => {
            zero_below(ctx, addends, (near, parts.missing), moved)
        }
        _ => moved,
    }
}

/// The neighbour on the side of a direction, of a number that lies above or below what is meant.
fn beside(ctx: &mut Ctx<'_, '_>, x: Value, (above, below): (Value, Value), direction: Direction) -> Value {
    let (float, int) = (ctx.b.ty(x), ctx.b.ty(x).as_int());
    let bits = ctx.b.bitcast(x, int);
    let (zero, one) = (ctx.b.zero(int), ctx.b.int(int, 1));
    let negative = ctx.b.icmp(IntCompare::Slt, bits, zero);
    let not_negative = ctx.b.not(negative);
    let (less, more) = (ctx.b.sub(bits, one), ctx.b.add(bits, one));
    let magnitude_mask = ctx.b.bits(int, (1 << (int.lane_bits() - 1)) - 1);
    let magnitude = ctx.b.and(bits, magnitude_mask);
    let is_zero = ctx.b.icmp(IntCompare::Eq, magnitude, zero);
    let stepped = match direction {
        Direction::Zero => {
            let (from_above, from_below) = (ctx.b.and(above, not_negative), ctx.b.and(below, negative));
            let steps = ctx.b.or(from_above, from_below);
            ctx.b.select(steps, less, bits)
        }
        Direction::Down | Direction::Up => {
            let down = direction == Direction::Down;
            let (away, toward) = (more, less);
            let grows = if down { negative } else { not_negative };
            let next = ctx.b.select(grows, away, toward);
            // Beyond zero comes the smallest number of the other sign.
            let smallest = ctx.b.bits(int, if down { 1 << (int.lane_bits() - 1) | 1 } else { 1 });
            let next = ctx.b.select(is_zero, smallest, next);
            ctx.b.select(if down { above } else { below }, next, bits)
        }
    };
    ctx.b.bitcast(stepped, float)
}

/// A sum that is exactly zero is -0 downwards, unless both addends are +0.
fn zero_below(
    ctx: &mut Ctx<'_, '_>,
    addends: [Value; 2],
    (near, missing): (Value, Value),
    result: Value,
) -> Value {
    let zero = ctx.b.float(ctx.b.ty(near), 0.0);
    let none = ctx.b.fcmp(FloatCompare::Oeq, near, zero);
    let nothing = ctx.b.fcmp(FloatCompare::Oeq, missing, zero);
    let none = ctx.b.and(none, nothing);
    let wide = ctx.b.ty(near).as_int();
    let [left, right] = addends.map(|value| ctx.b.bitcast(value, wide));
    let both = ctx.b.or(left, right);
    let no_bits = ctx.b.zero(wide);
    let some = ctx.b.icmp(IntCompare::Ne, both, no_bits);
    let negative = ctx.b.and(none, some);
    let minus = ctx.b.float(ctx.b.ty(result), -0.0);
    ctx.b.select(negative, minus, result)
}

fn exact(ctx: &mut Ctx<'_, '_>, x: Value) -> Parts {
    let missing = ctx.b.float(ctx.b.ty(x), 0.0);
    Parts { near: x, missing, addends: None }
}

fn sum(ctx: &mut Ctx<'_, '_>, x: Value, y: Value) -> Parts {
    let near = ctx.b.fadd(x, y);
    let moved = ctx.b.fsub(near, x);
    let origin = ctx.b.fsub(near, moved);
    let (lost_x, lost_y) = (ctx.b.fsub(x, origin), ctx.b.fsub(y, moved));
    Parts { near, missing: ctx.b.fadd(lost_x, lost_y), addends: Some([x, y]) }
}

fn difference(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Parts {
    let minus = ctx.b.fneg(x[1]);
    sum(ctx, x[0], minus)
}

/// A power of two where a number is below a limit in magnitude, else one.
fn lift(ctx: &mut Ctx<'_, '_>, x: Value, limit: i32, by: i32) -> Value {
    let ty = ctx.b.ty(x);
    let [limit, by, one] = [limit, by, 0].map(|exponent| ctx.b.float(ty, 2f64.powi(exponent)));
    let size = ctx.b.intrinsic(&intrinsics::FABS, ty, &[x]);
    let small = ctx.b.fcmp(FloatCompare::Olt, size, limit);
    ctx.b.select(small, by, one)
}

/// What is missing of a product shows in a fused product; a small one is scaled, so that this does not underflow.
fn product(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Parts {
    let ty = ctx.b.ty(x[0]);
    let near = ctx.b.fmul(x[0], x[1]);
    let scale = lift(ctx, near, -900, 700);
    let [left, right] = [x[0], x[1]].map(|value| ctx.b.intrinsic(&intrinsics::FABS, ty, &[value]));
    let first = ctx.b.fcmp(FloatCompare::Olt, left, right);
    let (smaller, larger) = (ctx.b.select(first, x[0], x[1]), ctx.b.select(first, x[1], x[0]));
    let smaller = ctx.b.fmul(smaller, scale);
    let scaled = ctx.b.fmul(near, scale);
    let minus = ctx.b.fneg(scaled);
    let missing = ctx.b.intrinsic(&intrinsics::FMA, ty, &[smaller, larger, minus]);
    Parts { near, missing, addends: None }
}

/// What is missing of a quotient has the signs of remainder and divisor.
fn quotient(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Parts {
    let ty = ctx.b.ty(x[0]);
    let near = ctx.b.fdiv(x[0], x[1]);
    let scale = lift(ctx, x[0], -300, 700);
    let one = ctx.b.float(ty, 1.0);
    let size = ctx.b.intrinsic(&intrinsics::FABS, ty, &[x[1]]);
    let small = ctx.b.fcmp(FloatCompare::Olt, size, one);
    let (of_divisor, of_quotient) = (ctx.b.select(small, scale, one), ctx.b.select(small, one, scale));
    let divisor = ctx.b.fmul(x[1], of_divisor);
    let quotient = ctx.b.fmul(near, of_quotient);
    let dividend = ctx.b.fmul(x[0], scale);
    let minus = ctx.b.fneg(quotient);
    let rest = ctx.b.intrinsic(&intrinsics::FMA, ty, &[minus, divisor, dividend]);
    let missing = ctx.b.intrinsic(&intrinsics::COPYSIGN, ty, &[one, x[1]]);
    Parts { near, missing: ctx.b.fmul(rest, missing), addends: None }
}

fn reciprocal(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Parts {
    let one = ctx.b.float(ctx.b.ty(x[0]), 1.0);
    quotient(ctx, &[one, x[0]])
}

fn root(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Parts {
    let ty = ctx.b.ty(x[0]);
    let near = ctx.b.intrinsic(&intrinsics::SQRT, ty, &[x[0]]);
    let scale = lift(ctx, x[0], -700, 300);
    let scaled = ctx.b.fmul(near, scale);
    let whole = ctx.b.fmul(x[0], scale);
    let whole = ctx.b.fmul(whole, scale);
    let minus = ctx.b.fneg(scaled);
    let missing = ctx.b.intrinsic(&intrinsics::FMA, ty, &[minus, scaled, whole]);
    Parts { near, missing, addends: None }
}

/// Three numbers remain of the product, its error and the addend; their sum less the result is found in two steps.
fn multiply_add(ctx: &mut Ctx<'_, '_>, x: &[Value]) -> Parts {
    let ty = ctx.b.ty(x[0]);
    let near = ctx.b.intrinsic(&intrinsics::FMA, ty, x);
    let whole = ctx.b.fmul(x[0], x[1]);
    let minus = ctx.b.fneg(whole);
    let lost = ctx.b.intrinsic(&intrinsics::FMA, ty, &[x[0], x[1], minus]);
    let first = sum(ctx, whole, x[2]);
    let rest = ctx.b.fsub(first.near, near);
    let second = sum(ctx, rest, first.missing);
    let third = sum(ctx, second.near, lost);
    let tail = ctx.b.fadd(second.missing, third.missing);
    let missing = ctx.b.fadd(third.near, tail);
    Parts { near, missing, addends: Some([whole, x[2]]) }
}

/// An integer is the sum of two halves that are doubles.
fn integer(ctx: &mut Ctx<'_, '_>, signed: bool, x: Value) -> Parts {
    let double = double(ctx, x);
    if ctx.b.ty(x).lane_bits() <= 32 {
        let near = ctx.b.cast(if signed { Op::SITOFP } else { Op::UITOFP }, x, double);
        return exact(ctx, near);
    }
    let ty = ctx.b.ty(x);
    let (by, mask) = (ctx.b.int(ty, 32), ctx.b.int(ty, 0xffff_ffff));
    let low = ctx.b.and(x, mask);
    let high = if signed { ctx.b.ashr(x, by) } else { ctx.b.lshr(x, by) };
    let low = ctx.b.cast(Op::UITOFP, low, double);
    let high = ctx.b.cast(Op::SITOFP, high, double);
    let scale = ctx.b.float(double, 2f64.powi(32));
    let high = ctx.b.fmul(high, scale);
    let Parts { near, missing, .. } = sum(ctx, high, low);
    Parts { near, missing, addends: None }
}
