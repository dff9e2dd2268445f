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

/// `erfinv(x) / x - 1` in `w = -log2(1 - x²)` up to [`OUTER_FROM`].
const CENTRAL: [f64; 10] = [
    -2.6777669e-10,
    9.96834704e-09,
    -1.28098065e-07,
    2.73414656e-07,
    7.81817926e-06,
    -3.10617143e-05,
    -0.000775221561,
    0.00554718263,
    0.160820067,
    -0.113773093,
];

/// `erfinv(x) / x - 2` in `√w - 3.85`, from there to 24.
const OUTER: [f64; 9] = [
    -2.33255523e-05,
    -5.59425789e-05,
    0.000377289951,
    -0.000816747721,
    0.00138170191,
    -0.00243323692,
    0.00409499928,
    0.836513579,
    1.03899693,
];

/// One argument in 500 between -1 and 1 is beyond.
const OUTER_FROM: f64 = 8.0;

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

/// `erfinv(x)`, infinite at one and NaN beyond, as the logarithm is. A whole multiple of the argument is added last, so
/// that it is rounded once.
pub(super) fn erfinv(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let one = b.float(1.0);
    let rest = b.neg_mul_add(x[0], x[0], one);
    let log = b.log_two(rest);
    let w = b.fneg(log);
    let bound = b.float(OUTER_FROM);
    let is_outer = b.fcmp(FloatCompare::Ogt, w, bound);
    let mut branch = b.b.begin_if(is_outer);
    let outer = outer_erfinv(b, x[0], w);
    b.b.begin_else(&mut branch, &[outer]);
    let central = b.polynomial(w, &CENTRAL);
    let central = b.mul_add(central, x[0], x[0]);
    b.b.end_if(branch, &[central])[0]
}

/// Behind [`OUTER_FROM`].
fn outer_erfinv(b: &mut Builder<'_, '_>, x: Value, w: Value) -> Value {
    let inverse = b.inverse_root(w);
    let root = b.fmul(w, inverse);
    let lacks = b.neg_mul_add(root, root, w);
    let half = b.times(inverse, 0.5);
    let root = b.mul_add(lacks, half, root);
    let middle = b.float(-3.85);
    let root = b.fadd(root, middle);
    let slope = b.polynomial(root, &OUTER);
    let infinity = b.float(f64::INFINITY);
    let endless = b.fcmp(FloatCompare::Oeq, w, infinity);
    let slope = b.select(endless, infinity, slope);
    let twice = b.fadd(x, x);
    b.mul_add(slope, x, twice)
}
