//! `atan`, `asin`, `acos`.

use super::Builder;
use llir::{FloatCompare, Value};
use std::f64::consts::{FRAC_PI_2, PI};

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
const ASIN: [f64; 5] = [0.0507702827, 0.0188115053, 0.0466168039, 0.0748574361, 0.166669965];

/// Up to here the series of the arc sine is that of the argument, from here that of the complement.
const NEAR: f64 = 0.56;

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

/// The series of the argument, or that of what `root_of` makes of `(1 - |x|) / 2`, and whether it is that.
fn leg(
    b: &mut Builder<'_, '_>,
    size: Value,
    root_of: fn(&mut Builder<'_, '_>, Value) -> Value,
) -> (Value, Value) {
    let (near, half) = (b.float(NEAR), b.float(0.5));
    let is_far = b.fcmp(FloatCompare::Ogt, size, near);
    let rest = b.times_plus(size, -0.5, half);
    let square = b.fmul(size, size);
    let root = root_of(b, rest);
    let (t, square) = (b.select(is_far, root, size), b.select(is_far, rest, square));
    (b.odd_series(t, square, &ASIN), is_far)
}

/// Minus twice the root, with what the instruction is off by, which the sum with pi/2 would show.
fn doubled_root(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let root = b.rooted(x);
    let lacks = b.neg_mul_add(root, root, x);
    let inverse = b.inverse_root(x);
    let bound = b.float(1e15);
    let inverse = b.intrinsic(&llir::intrinsics::MINNUM, &[inverse, bound]);
    let doubled = b.times(root, -2.0);
    b.neg_mul_add(lacks, inverse, doubled)
}

/// The series, or pi/2 less twice that of the complement.
pub(super) fn asin(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (leg, is_far) = leg(b, size, doubled_root);
    let other = plus_half_pi(b, leg);
    let result = b.select(is_far, other, leg);
    b.with_sign_of(result, x[0])
}

/// Twice the series of the complement, or of the argument what is left of pi/2; with pi in place of zero below zero.
pub(super) fn acos(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (leg, is_far) = leg(b, size, |b, rest| b.rooted(rest));
    let [zero, two, minus_one, half_pi, pi] = [0.0, 2.0, -1.0, FRAC_PI_2, PI].map(|number| b.float(number));
    let negative = b.fcmp(FloatCompare::Olt, x[0], zero);
    let far = b.select(negative, pi, zero);
    let start = b.select(is_far, far, half_pi);
    let factor = b.select(is_far, two, minus_one);
    let sign = b.sign_bit(x[0]);
    let factor = b.flip_sign(factor, sign);
    b.mul_add(factor, leg, start)
}
