//! `atan`, `asin`, `acos`.

use super::Builder;
use llir::{FloatCompare, Value};

/// `(atan(t) / t - 1) / t²` in `t²`, for |t| ≤ 1.
const ATAN: [f64; 8] = [
    0.00291975634,
    -0.0163642373,
    0.0432059728,
    -0.0755172893,
    0.106657863,
    -0.142110035,
    0.199937671,
    -0.333331525,
];

/// `(asin(t) / t - 1) / t²` in `t²`, for |t| ≤ [`NEAR`].
const ASIN: [f64; 5] = [0.0508391596, 0.018811047, 0.0466189682, 0.0748573244, 0.166669697];

/// `acos(x) / √(1 - x) - 1` for `x` from 0 to 1.
const ACOS: [f64; 8] = [
    -0.0012620904,
    0.00667076418,
    -0.0170929153,
    0.0308989007,
    -0.0501787849,
    0.0889803246,
    -0.214598969,
    0.570796311,
];

/// Up to here the series of the arc sine is that of the argument, from here that of the complement.
const NEAR: f64 = 0.57;

/// Two singles whose product is pi/2 to 2e-13: as a fused product it costs no more than the nearest single.
const HALF_PI: [f64; 2] = [1.768_298_983_573_913_6, 0.888_309_240_341_186_5];

/// `pi/2 + x`.
fn plus_half_pi(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let [one, other] = HALF_PI.map(|factor| b.float(factor));
    b.mul_add(one, other, x)
}

/// The series, of the reciprocal where the argument is more than one.
pub(super) fn atan(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let one = b.float(1.0);
    let is_large = b.fcmp(FloatCompare::Ogt, size, one);
    let inverse = b.inverted(size);
    let t = b.select(is_large, inverse, size);
    let square = b.fmul(t, t);
    let arc = b.odd_series(t, square, &ATAN);
    let minus = b.fneg(arc);
    let other = plus_half_pi(b, minus);
    let result = b.select(is_large, other, arc);
    b.with_sign_of(result, x[0])
}

/// The series, or pi/2 less twice that of the root of `(1 - |x|) / 2`. The coefficients are those for which a root that
/// is a unit off does least.
pub(super) fn asin(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (near, half) = (b.float(NEAR), b.float(0.5));
    let is_far = b.fcmp(FloatCompare::Ogt, size, near);
    let rest = b.times_plus(size, -0.5, half);
    let root = b.rooted(rest);
    let t = b.select(is_far, root, size);
    let square = b.fmul(t, t);
    let leg = b.odd_series(t, square, &ASIN);
    let legs = b.fadd(leg, leg);
    let minus = b.fneg(legs);
    let other = plus_half_pi(b, minus);
    let result = b.select(is_far, other, leg);
    b.with_sign_of(result, x[0])
}

/// The root of a number that is zero, negative, or no less than 2^-30, corrected with what its square lacks. Negative
/// numbers have none.
fn corrected_root(b: &mut Builder<'_, '_>, x: Value) -> Value {
    // So that a zero has a root.
    let least = b.float(1e-30);
    let guarded = b.fadd(x, least);
    let inverse = b.inverse_root(guarded);
    let root = b.fmul(x, inverse);
    let lacks = b.neg_mul_add(root, root, x);
    let half = b.times(inverse, 0.5);
    b.mul_add(lacks, half, root)
}

/// `√(1 - |x|)` times a polynomial in `|x|`, below zero taken from pi.
pub(super) fn acos(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (zero, one) = (b.float(0.0), b.float(1.0));
    let rest = b.fsub(one, size);
    let root = corrected_root(b, rest);
    let slope = b.polynomial(size, &ACOS);
    let arc = b.mul_add(slope, root, root);
    let minus = b.fneg(arc);
    let [half, other] = [HALF_PI[0], 2.0 * HALF_PI[1]].map(|factor| b.float(factor));
    let reflected = b.mul_add(half, other, minus);
    let negative = b.fcmp(FloatCompare::Olt, x[0], zero);
    b.select(negative, reflected, arc)
}
