//! `asinh`, `acosh`, `atanh`, by `log(1 + x)`.

use super::Builder;
use super::logarithm::log1p_and_sum;
use llir::{FloatCompare, IntCompare, Value};
use std::f64::consts::LN_2;

/// From here on one is nothing beside the argument, whose square is about to be infinite.
const LARGE: f64 = 1e18;

/// `log(1 + x)` with `x` of the argument, or the logarithm of twice the argument where that is large.
fn log1p_or_log(b: &mut Builder<'_, '_>, argument: Value, x: Value) -> Value {
    let large = b.float(LARGE);
    let is_large = b.fcmp(FloatCompare::Ogt, argument, large);
    let x = b.select(is_large, argument, x);
    let (result, _) = log1p_and_sum(b, x);
    let (more, none) = (b.float(LN_2), b.float(0.0));
    let more = b.select(is_large, more, none);
    b.fadd(result, more)
}

/// `log(|x| + √(x² + 1))`, of whose root one is taken away.
pub(super) fn asinh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let one = b.float(1.0);
    let square = b.mul_add(size, size, one);
    let root = b.rooted(square);
    let sum = b.fadd(root, one);
    let inverse = b.inverted(sum);
    let less = b.fmul(size, inverse);
    let more = b.mul_add(less, size, size);
    let result = log1p_or_log(b, size, more);
    let infinity = b.float(f64::INFINITY);
    let finite = b.fcmp(FloatCompare::Olt, size, infinity);
    let result = b.select(finite, result, size);
    b.with_sign_of(result, x[0])
}

/// `log(1 + t + √(t² + 2t))` with `t = x - 1`. The root of `t` is NaN where the argument is less than one.
pub(super) fn acosh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let minus_one = b.float(-1.0);
    let less = b.fadd(x[0], minus_one);
    let twice = b.fadd(less, less);
    let square = b.mul_add(less, less, twice);
    let root = b.rooted(square);
    let sum = b.fadd(less, root);
    let result = log1p_or_log(b, x[0], sum);
    let infinity = b.int(0x7f80_0000);
    let bits = b.bits(less);
    let defined = b.icmp(IntCompare::Ult, bits, infinity);
    let other = b.rooted(less);
    b.select(defined, result, other)
}

/// Half of `log(1 + 2|x| / (1 - |x|))`. The root of the divisor tells what is at one and beyond.
pub(super) fn atanh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (zero, one) = (b.float(0.0), b.float(1.0));
    let divisor = b.fsub(one, size);
    let inverse = b.inverted(divisor);
    let twice = b.fadd(size, size);
    let quotient = b.fmul(twice, inverse);
    let lost = b.neg_mul_add(quotient, divisor, twice);
    let quotient = b.mul_add(lost, inverse, quotient);
    let (result, _) = log1p_and_sum(b, quotient);
    let result = b.times(result, 0.5);
    let inside = b.fcmp(FloatCompare::Ogt, divisor, zero);
    let other = b.inverse_root(divisor);
    let result = b.select(inside, result, other);
    b.with_sign_of(result, x[0])
}
