//! Inverse hyperbolic functions by `log1p`; singles go through doubles.

use super::Elem;
use super::builder::Builder;
use super::logarithm::log1p;
use llir::{FloatCompare, Value};

/// Beyond this squares may overflow, and the logarithm of twice the argument is exact enough.
const HUGE: f64 = 1e100;

/// `log1p(small)`, or `log(2 x)` where `x` is huge.
fn finish(b: &mut Builder<'_, '_>, x: Value, small: Value) -> Value {
    let huge = b.float(HUGE);
    let is_huge = b.fcmp(FloatCompare::Ogt, x, huge);
    let argument = b.select(is_huge, x, small);
    let log = log1p(b, &[argument]);
    let ln2 = b.float(std::f64::consts::LN_2);
    let more = b.fadd(log, ln2);
    b.select(is_huge, more, log)
}

/// `asinh(x)`, by `log1p(x + x^2 / (1 + sqrt(x^2 + 1)))`.
pub(super) fn asinh(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, asinh);
    }
    let sign = b.sign_bit(arguments[0]);
    let x = b.fabs(arguments[0]);
    let one = b.float(1.0);
    let square = b.fmul(x, x);
    let sum = b.fadd(square, one);
    let root = b.sqrt(sum);
    let root = b.fadd(root, one);
    let quotient = b.fdiv(square, root);
    let small = b.fadd(x, quotient);
    let result = finish(b, x, small);
    b.flip_sign(result, sign)
}

/// `acosh(x)`, by `log1p(t + sqrt(2 t + t^2))` with `t = x - 1`.
pub(super) fn acosh(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, acosh);
    }
    let x = arguments[0];
    let (one, two, nan) = (b.float(1.0), b.float(2.0), b.float(f64::NAN));
    let t = b.fsub(x, one);
    let sum = b.fadd(t, two);
    let product = b.fmul(t, sum);
    let root = b.sqrt(product);
    let small = b.fadd(t, root);
    let result = finish(b, x, small);
    let outside = b.fcmp(FloatCompare::Olt, x, one);
    b.select(outside, nan, result)
}

/// `atanh(x)`, by `log1p(2 x / (1 - x)) / 2`.
pub(super) fn atanh(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, atanh);
    }
    let sign = b.sign_bit(arguments[0]);
    let x = b.fabs(arguments[0]);
    let (one, half) = (b.float(1.0), b.float(0.5));
    let twice = b.fadd(x, x);
    let rest = b.fsub(one, x);
    let quotient = b.fdiv(twice, rest);
    let log = log1p(b, &[quotient]);
    let result = b.fmul(log, half);
    b.flip_sign(result, sign)
}
