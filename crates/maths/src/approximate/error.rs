//! `erfc`, `normcdf`, `erfinv`.

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

/// The powers of e are larger and the rest is smaller by two to this, so that only the last product is denormal.
const SHIFT: i32 = 32;

/// `erfinv(x) / x` in `w = -log2(1 - x²)` up to 8.
const CENTRAL: [f64; 10] = [
    -2.50299698e-10,
    9.34943589e-09,
    -1.18991906e-07,
    2.01422168e-07,
    8.14843497e-06,
    -3.19470855e-05,
    -0.000773894484,
    0.00554618472,
    0.160820365,
    0.886226892,
];

/// The same in `√w - 3.85`, from there to 24.
const OUTER: [f64; 9] = [
    -2.61806144e-05,
    -5.40768488e-05,
    0.000382802624,
    -0.000820022076,
    0.00137846952,
    -0.00243154983,
    0.00409554923,
    0.83651334,
    3.03899693,
];

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

/// `erfinv(x)`, infinite at one and NaN beyond, as the logarithm is.
pub(super) fn erfinv(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let one = b.float(1.0);
    let rest = b.neg_mul_add(x[0], x[0], one);
    let log = b.log_two(rest);
    let w = b.fneg(log);
    let central = b.polynomial(w, &CENTRAL);
    let root = b.rooted(w);
    let middle = b.float(-3.85);
    let root = b.fadd(root, middle);
    let outer = b.polynomial(root, &OUTER);
    let (bound, infinity) = (b.float(8.0), b.float(f64::INFINITY));
    let is_outer = b.fcmp(FloatCompare::Ogt, w, bound);
    let slope = b.select(is_outer, outer, central);
    let endless = b.fcmp(FloatCompare::Oeq, w, infinity);
    let slope = b.select(endless, infinity, slope);
    b.fmul(slope, x[0])
}
