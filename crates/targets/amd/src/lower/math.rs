//! Elementary functions by instructions. Those of 32 bits are exact to about one unit and take denormal numbers for
//! zero, so that arguments which may be denormal are scaled.

use amdgcn_isa::{Row, convert};
use elementwise::Math;
use elementwise::lane_math::{by_base_two, plainly, quotient};
use llir::{FloatCompare, FunctionBuilder, Type, Value, intrinsics};
use std::f64::consts::{LN_2, LOG2_E};

/// The smallest normal number of 32 bits, by its exponent.
const SMALLEST: i32 = -126;

/// A function within two units in the last place, where instructions give that.
pub(super) fn exact(b: &mut FunctionBuilder<'_>, function: Math, x: &[Value]) -> Option<Value> {
    let ty = b.ty(x[0]);
    match (function, ty) {
        (Math::Exp, Type::F32) => Some(plainly(b, |b| exp(b, x[0]))),
        (Math::Exp2, Type::F32) => Some(b.intrinsic(&convert::EXP2, ty, x)),
        (Math::Sqrt, Type::F32) => Some(plainly(b, |b| root(b, &convert::SQRT, x[0], (32, -16)))),
        (Math::Rsqrt, Type::F32) => Some(plainly(b, |b| root(b, &convert::RSQ, x[0], (24, 12)))),
        (Math::Sqrt | Math::PreciseSqrt, Type::F32 | Type::F64) => {
            Some(b.intrinsic(&intrinsics::SQRT, ty, x))
        }
        (Math::DivideByShared, Type::F32) => Some(quotient(b, x[0], x[1], &reciprocal)),
        _ => None,
    }
}

fn power_of_two(b: &mut FunctionBuilder<'_>, exponent: i32) -> Value {
    b.float(Type::F32, 2f64.powi(exponent))
}

/// `2^p·(1 + c)` with `p` the rounded product `x·log2 e`, and `c = x - p·ln 2` what was lost by rounding it. One of the
/// factors is split in two (Cody and Waite, "Software Manual for the Elementary Functions", 1980), so `c` is exact
/// where it counts. The middle of three keeps `c` harmless where the power is zero or infinite: there it is huge, or
/// NaN.
fn exp(b: &mut FunctionBuilder<'_>, x: Value) -> Value {
    let ty = Type::F32;
    let nearest = f64::from(LN_2 as f32);
    let [factor, ln2, rest, low, high, one] =
        [LOG2_E, -nearest, nearest - LN_2, -1e-3, 1e-3, 1.0].map(|number| b.float(ty, number));
    let product = b.fmul(x, factor);
    let lost = b.intrinsic(&intrinsics::FMA, ty, &[product, ln2, x]);
    let lost = b.intrinsic(&intrinsics::FMA, ty, &[product, rest, lost]);
    let lost = b.intrinsic(&convert::FMED3, ty, &[lost, low, high]);
    let power = b.intrinsic(&convert::EXP2, ty, &[product]);
    let correction = b.fadd(lost, one);
    b.fmul(power, correction)
}

/// A root by an instruction, of a denormal number times `2^up`, and then times `2^down`.
fn root(b: &mut FunctionBuilder<'_>, row: &'static Row, x: Value, (up, down): (i32, i32)) -> Value {
    let [smallest, up, down, one] = [SMALLEST, up, down, 0].map(|exponent| power_of_two(b, exponent));
    let is_small = b.fcmp(FloatCompare::Olt, x, smallest);
    let scale = b.select(is_small, up, one);
    let scaled = b.fmul(x, scale);
    let root = b.intrinsic(row, Type::F32, &[scaled]);
    let back = b.select(is_small, down, one);
    b.fmul(root, back)
}

/// A function of a maths library whose name asks for speed.
pub(super) fn fast(b: &mut FunctionBuilder<'_>, name: &str, x: &[Value]) -> Option<Value> {
    let ty = b.ty(*x.first()?);
    if ty != Type::F32 {
        return None;
    }
    let exp2 = |b: &mut FunctionBuilder<'_>, x| b.intrinsic(&convert::EXP2, Type::F32, &[x]);
    let log2 = |b: &mut FunctionBuilder<'_>, x| b.intrinsic(&convert::LOG, Type::F32, &[x]);
    match (name, x) {
        ("dividef" | "fdividef" | "divide" | "fdivide", [x, y]) => {
            let reciprocal = reciprocal(b, *y);
            Some(b.fmul(*x, reciprocal))
        }
        (_, [x]) => by_base_two(b, name, *x, (&exp2, &log2)),
        _ => None,
    }
}

fn reciprocal(b: &mut FunctionBuilder<'_>, x: Value) -> Value {
    b.intrinsic(&convert::RCP, Type::F32, &[x])
}

/// The high half of the product of two integers of 32 or 64 bits.
pub(super) fn mul_high(b: &mut FunctionBuilder<'_>, signed: bool, x: Value, y: Value) -> Value {
    if b.ty(x).lane_bits() > 32 {
        return mul_high_by_halves(b, signed, x, y);
    }
    elementwise::mul_high_by_widening(b, signed, x, y)
}

/// The same for 64 bits: four products of halves, whose sums do not leave 64 bits.
fn mul_high_by_halves(b: &mut FunctionBuilder<'_>, signed: bool, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let (half, mask) = (b.int(ty, 32), b.int(ty, i64::from(u32::MAX)));
    let [low, high] = [[x, y].map(|value| b.and(value, mask)), [x, y].map(|value| b.lshr(value, half))];
    let lowest = b.mul(low[0], low[1]);
    let [one, other] = [b.mul(low[0], high[1]), b.mul(high[0], low[1])];
    let highest = b.mul(high[0], high[1]);
    let carry = b.lshr(lowest, half);
    let one = b.add(one, carry);
    let below = b.and(one, mask);
    let other = b.add(other, below);
    let [one, other] = [one, other].map(|middle| b.lshr(middle, half));
    let sum = b.add(highest, one);
    let sum = b.add(sum, other);
    if !signed {
        return sum;
    }
    // A negative factor was taken as 2^64 more than it is.
    let sign = b.int(ty, 63);
    [(x, y), (y, x)].into_iter().fold(sum, |sum, (factor, other)| {
        let all = b.ashr(factor, sign);
        let excess = b.and(all, other);
        b.sub(sum, excess)
    })
}
