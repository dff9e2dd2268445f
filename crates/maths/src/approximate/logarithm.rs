//! `log`, `log2`, `log10`, `log1p`.

use super::{Builder, LN_2, SMALLEST, split};
use llir::{FloatCompare, Value};
use std::f64::consts::{LN_2 as LN_OF_2, LOG2_E, LOG10_2, LOG10_E};

/// `(log(1 + f) - f) / f²` for `1 + f` from 2/3 to 4/3.
pub(super) const LOG: [f64; 9] = [
    -0.128742635,
    0.139867067,
    -0.121883817,
    0.140053406,
    -0.166801795,
    0.200104445,
    -0.249998048,
    0.333332151,
    -0.5,
];

/// The same from the root of 1/2 to that of 2, where neither a binary nor a decimal logarithm cancels.
const LOG_AROUND_ROOTS: [f64; 9] = [
    -0.0760882795,
    0.129011407,
    -0.132463962,
    0.141823158,
    -0.166087165,
    0.200019598,
    -0.250016004,
    0.333333254,
    -0.499999881,
];

/// The same from 3/4 to 3/2, between which `f` of `log1p` is exact.
const LOG_1P: [f64; 9] = [
    -0.0451120548,
    0.104688786,
    -0.131638736,
    0.144783214,
    -0.166469991,
    0.199908197,
    -0.250001043,
    0.333334506,
    -0.5,
];

/// The bits of 2/3, of the root of 1/2, and of the number after 3/4.
pub(super) const TWO_THIRDS: i64 = 0x3f2a_aaab;
pub(super) const HALF_ROOT: i64 = 0x3f35_04f3;
const AFTER_THREE_QUARTERS: i64 = 0x3f40_0001;

/// `x = 2^exponent · (1 + fraction)`, where it is positive and finite.
pub(super) struct Parts {
    pub(super) exponent: Value,
    pub(super) mantissa: Value,
    /// The number itself, but lifted where it is denormal.
    pub(super) lifted: Value,
}

/// The parts of a number, whose mantissa begins at the number of these bits. What is negative is lifted as well.
pub(super) fn parts(b: &mut Builder<'_, '_>, x: Value, first: i64) -> Parts {
    let (smallest, none, down) = (b.float(SMALLEST), b.float(0.0), b.float(-24.0));
    let tiny = b.fcmp(FloatCompare::Olt, x, smallest);
    let up = b.times(x, 2f64.powi(24));
    let lifted = b.select(tiny, up, x);
    let less = b.select(tiny, down, none);
    let (field, mantissa) = field_and_mantissa(b, (lifted, lifted), first);
    let exponent = b.b.cast(llir::Op::SITOFP, field, llir::Type::F32);
    let exponent = b.times_plus(exponent, 2f64.powi(-23), less);
    Parts { exponent, mantissa, lifted }
}

/// The bits of the exponent of a number, relative to a first mantissa, and another number without that exponent.
pub(super) fn field_and_mantissa(
    b: &mut Builder<'_, '_>,
    (of, from): (Value, Value),
    first: i64,
) -> (Value, Value) {
    let (first, mask) = (b.int(first), b.int(!0x007f_ffff));
    let bits = b.bits(of);
    let bits = b.isub(bits, first);
    let field = b.iand(bits, mask);
    let bits = b.bits(from);
    let bits = b.isub(bits, field);
    (field, b.with_bits(bits))
}

/// The result where a number is positive and finite, else what the instruction says of it.
fn unless_special(b: &mut Builder<'_, '_>, x: Value, result: Value) -> Value {
    let (zero, infinity) = (b.float(0.0), b.float(f64::INFINITY));
    let positive = b.fcmp(FloatCompare::Ogt, x, zero);
    let finite = b.fcmp(FloatCompare::Olt, x, infinity);
    let plain = b.both(positive, finite);
    let special = b.log_two(x);
    b.select(plain, result, special)
}

/// The natural logarithm of one and a fraction.
fn series(b: &mut Builder<'_, '_>, fraction: Value, coefficients: &[f64]) -> Value {
    let square = b.fmul(fraction, fraction);
    let tail = b.polynomial(fraction, coefficients);
    b.mul_add(square, tail, fraction)
}

/// `log(x)`.
pub(super) fn log(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let Parts { exponent, mantissa, lifted } = parts(b, x[0], TWO_THIRDS);
    let one = b.float(1.0);
    let fraction = b.fsub(mantissa, one);
    let result = series(b, fraction, &LOG);
    let result = b.times_plus(exponent, LN_OF_2, result);
    unless_special(b, lifted, result)
}

/// A logarithm of another base: a factor, and that of the exponent.
fn scaled_log(b: &mut Builder<'_, '_>, x: Value, by: f64, of_exponent: f64) -> Value {
    let Parts { exponent, mantissa, lifted } = parts(b, x, HALF_ROOT);
    let one = b.float(1.0);
    let fraction = b.fsub(mantissa, one);
    let tail = b.polynomial(fraction, &LOG_AROUND_ROOTS.map(|coefficient| coefficient * by));
    let square = b.fmul(fraction, fraction);
    let tail = b.fmul(square, tail);
    let [high, low] = split(by);
    let mut result = b.times_plus(fraction, low, tail);
    let [exponent_high, exponent_low] = split(of_exponent);
    if exponent_low != 0.0 {
        result = b.times_plus(exponent, exponent_low, result);
    }
    result = b.times_plus(fraction, high, result);
    result = match exponent_high {
        1.0 => b.fadd(exponent, result),
        factor => b.times_plus(exponent, factor, result),
    };
    unless_special(b, lifted, result)
}

/// `log2(x)`.
pub(super) fn log2(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    scaled_log(b, x[0], LOG2_E, 1.0)
}

/// `log10(x)`.
pub(super) fn log10(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    scaled_log(b, x[0], LOG10_E, LOG10_2)
}

/// `log(1 + x)`, and the rounded sum.
pub(super) fn log1p_and_sum(b: &mut Builder<'_, '_>, x: Value) -> (Value, Value) {
    let (one, less) = (b.float(1.0), b.float(-1.0));
    let sum = b.fadd(x, one);
    let (field, scaled) = field_and_mantissa(b, (sum, x), AFTER_THREE_QUARTERS);
    // Of `2^-n · (1 + x) - 1` neither term is rounded. The power is four times larger, so that it is no denormal.
    let four = b.int(0x4080_0000);
    let power = b.isub(four, field);
    let power = b.with_bits(power);
    let power = b.times_plus(power, 0.25, less);
    let fraction = b.fadd(scaled, power);
    let result = series(b, fraction, &LOG_1P);
    let exponent = b.b.cast(llir::Op::SITOFP, field, llir::Type::F32);
    (b.times_plus(exponent, LN_2[0] * 2f64.powi(-23), result), sum)
}

/// `log(1 + x)`, which has the sign of `x`.
pub(super) fn log1p(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let (result, sum) = log1p_and_sum(b, x[0]);
    let result = unless_special(b, sum, result);
    b.with_sign_of(result, x[0])
}
