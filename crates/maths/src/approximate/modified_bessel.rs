//! `cyl_bessel_i0`, `cyl_bessel_i1`: a polynomial in the square of the argument, from [`LIMIT`] on `e^x / √x` times one
//! in `1 / x`.

use super::Builder;
use super::exponential::shifted_exp;
use llir::{FloatCompare, Value};

/// Where the second one begins.
const LIMIT: f64 = 6.0;

/// `I0(x)` in `x²`.
const I0_SMALL: [f64; 9] = [
    1.36252475e-14,
    2.19833461e-12,
    4.75175677e-10,
    6.77909213e-08,
    6.78134302e-06,
    0.000434033456,
    0.0156249749,
    0.25000003,
    1.0,
];

/// `I1(x) / x` likewise.
const I1_SMALL: [f64; 8] = [
    2.34756496e-13,
    2.89619474e-11,
    5.77810333e-09,
    6.76358695e-07,
    5.42667076e-05,
    0.0026041232,
    0.0625000447,
    0.5,
];

/// `√x e^-x I0(x)` in `1 / x`.
const I0_LARGE: [f64; 6] = [0.621589065, -0.0947110876, 0.043995209, 0.0273273382, 0.049883198, 0.398942173];

/// The same of `I1(x)`.
const I1_LARGE: [f64; 6] =
    [-0.728222311, 0.105681613, -0.058344122, -0.0458897278, -0.149621874, 0.398942411];

/// The power of e is smaller and the rest is larger by two to this: the power overflows before the function does.
const SHIFT: i32 = 16;

/// From the limit on; infinite where singles end.
fn large(b: &mut Builder<'_, '_>, size: Value, coefficients: &[f64; 6]) -> Value {
    let bounded = b.below(size, 93.0);
    let power = shifted_exp(b, bounded, None, -SHIFT);
    let root = b.inverse_root(bounded);
    let inverse = b.fmul(root, root);
    let series = b.polynomial(inverse, &coefficients.map(|coefficient| coefficient * 2f64.powi(SHIFT)));
    let series = b.fmul(series, root);
    b.fmul(power, series)
}

/// One of two results by the size of the argument.
fn choose(b: &mut Builder<'_, '_>, size: Value, small: Value, large: Value) -> Value {
    let limit = b.float(LIMIT);
    let is_small = b.fcmp(FloatCompare::Olt, size, limit);
    b.select(is_small, small, large)
}

/// `I0(x)`.
pub(super) fn cyl_bessel_i0(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let square = b.fmul(x[0], x[0]);
    let small = b.polynomial(square, &I0_SMALL);
    let large = large(b, size, &I0_LARGE);
    choose(b, size, small, large)
}

/// `I1(x)`.
pub(super) fn cyl_bessel_i1(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let square = b.fmul(x[0], x[0]);
    let slope = b.polynomial(square, &I1_SMALL);
    let small = b.fmul(slope, x[0]);
    let large = large(b, size, &I1_LARGE);
    let large = b.with_sign_of(large, x[0]);
    choose(b, size, small, large)
}
