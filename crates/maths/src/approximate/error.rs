//! `erfc`, `normcdf`, `erfcx`.

use super::Builder;
use super::exponential::shifted_exp;
use llir::{FloatCompare, Value};
use std::f64::consts::FRAC_1_SQRT_2;

/// `(1 + 2a) e^(a²) erfc(a)` in `(a - 2) / (a + 2)`, for `a` from 0 to 10.1.
const COMPLEMENT: [f64; 10] = [
    -0.000404749095,
    -0.00123831606,
    0.0013140497,
    0.00864046253,
    -0.00805790257,
    -0.0542075075,
    0.164054587,
    -0.166030958,
    -0.0927639157,
    1.27697837,
];

/// `(1 + 2a) e^(a²) erfc(a) - 1` likewise, for every `a` from 0 on.
const SCALED: [f64; 12] = [
    7.27535153e-05,
    0.000154178968,
    -0.000383112434,
    -0.00137926452,
    0.00124164403,
    0.00867487956,
    -0.0080289077,
    -0.054206904,
    0.164051041,
    -0.166031718,
    -0.0927638263,
    0.276978403,
];

/// From here on `(1 + 2a) e^(a²) erfc(a)` is what it is at the end.
const FAR: f64 = 1e10;

/// The powers of e are larger and the rest is smaller by two to this, so that only the last product is denormal.
const SHIFT: i32 = 32;

/// `e^-(square + lost) · (e^(a²) erfc(a))`, or two less that where `x` is negative; `factor` in front.
fn complement(
    b: &mut Builder<'_, '_>,
    a: Value,
    (square, lost): (Value, Value),
    (x, factor): (Value, f64),
) -> Value {
    let (one, two) = (b.float(1.0), b.float(2.0));
    let slow = slow_part(b, a, factor);
    let exponent = b.fneg(square);
    let power = shifted_exp(b, exponent, Some(lost), SHIFT);
    let result = b.fmul(slow, power);
    let whole = if factor == 1.0 { two } else { one };
    let reflected = b.fsub(whole, result);
    let zero = b.float(0.0);
    let negative = b.fcmp(FloatCompare::Olt, x, zero);
    b.select(negative, reflected, result)
}

/// `e^(a²) erfc(a) · 2^-SHIFT · factor`: both quotients are corrected.
fn slow_part(b: &mut Builder<'_, '_>, a: Value, factor: f64) -> Value {
    let (one, two, less) = (b.float(1.0), b.float(2.0), b.float(-2.0));
    let above = b.fadd(a, two);
    let inverse = b.inverted(above);
    let below = b.fadd(a, less);
    let quotient = b.fmul(below, inverse);
    let more = b.fadd(quotient, one);
    let lost = b.mul_add(more, less, a);
    let lost = b.neg_mul_add(quotient, a, lost);
    let quotient = b.mul_add(inverse, lost, quotient);
    let scale = factor * 2f64.powi(-SHIFT);
    let weighted =
        b.polynomial(quotient, &COMPLEMENT.map(|coefficient| f64::from(coefficient as f32) * scale));
    let twice = b.fadd(a, a);
    let weight = b.fadd(twice, one);
    let inverse = b.inverted(weight);
    let slow = b.fmul(weighted, inverse);
    let lost = b.fsub(weighted, slow);
    let lost = b.neg_mul_add(slow, twice, lost);
    b.mul_add(lost, inverse, slow)
}

/// `erfc(x)`.
pub(super) fn erfc(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let a = b.below(size, 10.06);
    let square = b.two_product(a, a);
    complement(b, a, square, (x[0], 1.0))
}

/// The normal distribution, half of `erfc(-x/√2)`: its exponent is made of `x`, of which nothing is lost.
pub(super) fn normcdf(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let size = b.below(size, 14.3);
    let half = b.times(size, 0.5);
    let square = b.two_product(size, half);
    let a = b.times(size, FRAC_1_SQRT_2);
    let minus = b.fneg(x[0]);
    complement(b, a, square, (minus, 0.5))
}

/// `e^(a²) erfc(a)` for an `a` that is not negative. Nothing that is rounded on the way is left in the result.
fn scaled_complement(b: &mut Builder<'_, '_>, a: Value) -> Value {
    let (one, less) = (b.float(1.0), b.float(-2.0));
    // Behind it the quotient is one.
    let bounded = b.below(a, FAR);
    let two = b.float(2.0);
    let above = b.fadd(bounded, two);
    let inverse = b.inverted(above);
    let below = b.fadd(bounded, less);
    let quotient = b.fmul(below, inverse);
    let more = b.fadd(quotient, one);
    let lost = b.mul_add(more, less, bounded);
    let lost = b.neg_mul_add(quotient, bounded, lost);
    let quotient = b.mul_add(inverse, lost, quotient);
    let weight = b.polynomial(quotient, &SCALED);
    // One over `1 + 2a`, which is scaled where it would be denormal.
    let far = b.float(FAR);
    let is_far = b.fcmp(FloatCompare::Ogt, a, far);
    let down = b.float(2f64.powi(-40));
    let scale = b.select(is_far, down, one);
    let twice = b.fadd(scale, scale);
    let divisor = b.mul_add(a, twice, scale);
    let inverse = b.inverted(divisor);
    let inverse = b.fmul(inverse, scale);
    let result = b.mul_add(weight, inverse, inverse);
    let finite = b.below(a, f64::from(f32::MAX));
    let lost = b.fsub(one, result);
    let lost = b.fadd(lost, weight);
    let double = b.fadd(result, result);
    let lost = b.neg_mul_add(double, finite, lost);
    b.mul_add(lost, inverse, result)
}

/// `erfcx(x) = e^(x²) erfc(x)`: below zero what `2 e^(x²)` is more than that of `-x`.
pub(super) fn erfcx(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let positive = scaled_complement(b, size);
    let zero = b.float(0.0);
    let negative = b.fcmp(FloatCompare::Olt, x[0], zero);
    b.only_where(
        negative,
        |b| {
            let bounded = b.below(size, 9.5);
            let (square, more) = b.two_product(bounded, bounded);
            let less = b.fneg(more);
            let power = shifted_exp(b, square, Some(less), -8);
            let minus = b.fneg(positive);
            b.times_plus(power, 512.0, minus)
        },
        positive,
    )
}
