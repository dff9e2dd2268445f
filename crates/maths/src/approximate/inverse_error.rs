//! `erfinv`, `erfcinv`, `normcdfinv`: each a multiple of the argument by a polynomial in a logarithm, and for the few
//! arguments close to the ends one in the root of that.

use super::Builder;
use llir::{FloatCompare, Value};
use std::f64::consts::SQRT_2;

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

/// `1 - √2 erfinv(x) / x` likewise.
const NORMAL: [f64; 10] = [
    3.69582337e-10,
    -1.37918761e-08,
    1.7691346e-07,
    -3.55061559e-07,
    -1.11927757e-05,
    4.42700366e-05,
    0.0010958499,
    -0.0078445673,
    -0.227434009,
    -0.253314108,
];

/// `erfcinv(y) - TAIL_SLOPE √v` in `1 / √v - TAIL_MIDDLE`, for `v = -log2 y` from 7.98 to 149.
const TAIL: [f64; 10] = [
    -3240.17578,
    899.629639,
    -103.440544,
    31.9379921,
    -13.0789194,
    4.63911009,
    -2.11764121,
    1.28927433,
    -0.584046304,
    -0.254986048,
];

const TAIL_MIDDLE: f64 = 0.21875;
const TAIL_SLOPE: f64 = 0.832_554_611_157_697_8;

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
    let (root, _) = root_and_inverse(b, w);
    let middle = b.float(-3.85);
    let root = b.fadd(root, middle);
    let slope = b.polynomial(root, &OUTER);
    let infinity = b.float(f64::INFINITY);
    let endless = b.fcmp(FloatCompare::Oeq, w, infinity);
    let slope = b.select(endless, infinity, slope);
    let twice = b.fadd(x, x);
    b.mul_add(slope, x, twice)
}

/// The root, corrected, and about one over it.
fn root_and_inverse(b: &mut Builder<'_, '_>, w: Value) -> (Value, Value) {
    let inverse = b.inverse_root(w);
    let root = b.fmul(w, inverse);
    let lacks = b.neg_mul_add(root, root, w);
    let half = b.times(inverse, 0.5);
    (b.mul_add(lacks, half, root), inverse)
}

/// What is inverted: a complement from 0 to 2, and how a result is made of it.
struct Inverse {
    complement: Value,
    coefficients: &'static [f64; 10],
    /// What the coefficients were made with: the first multiple of `1 - complement`.
    whole: f64,
    factor: f64,
}

impl Inverse {
    fn build(&self, b: &mut Builder<'_, '_>) -> Value {
        let (one, two, bound) = (b.float(1.0), b.float(2.0), b.float(OUTER_FROM));
        let x = b.fsub(one, self.complement);
        let other = b.fsub(two, self.complement);
        let rest = b.fmul(self.complement, other);
        let log = b.log_two(rest);
        let w = b.fneg(log);
        let is_outer = b.fcmp(FloatCompare::Ogt, w, bound);
        let mut branch = b.b.begin_if(is_outer);
        let outer = self.outer(b, other);
        b.b.begin_else(&mut branch, &[outer]);
        let slope = b.polynomial(w, self.coefficients);
        let whole = if self.whole < 0.0 { b.fneg(x) } else { x };
        let central = b.mul_add(slope, x, whole);
        b.b.end_if(branch, &[central])[0]
    }

    /// Close to an end, of which the distance is exact; `other` is that from two.
    fn outer(&self, b: &mut Builder<'_, '_>, other: Value) -> Value {
        let distance = b.intrinsic(&llir::intrinsics::MINNUM, &[self.complement, other]);
        let [small, one, none, up, shift] =
            [2f64.powi(-100), 1.0, 0.0, 2f64.powi(64), 64.0].map(|number| b.float(number));
        let is_small = b.fcmp(FloatCompare::Olt, distance, small);
        let (scale, shift) = (b.select(is_small, up, one), b.select(is_small, shift, none));
        let scaled = b.fmul(distance, scale);
        let log = b.log_two(scaled);
        let v = b.fsub(shift, log);
        let (root, inverse) = root_and_inverse(b, v);
        let middle = b.float(-TAIL_MIDDLE);
        let inverse = b.fadd(inverse, middle);
        let size = self.factor.abs();
        let tail = b.polynomial(inverse, &TAIL.map(|coefficient| coefficient * size));
        let result = b.times_plus(root, TAIL_SLOPE * size, tail);
        let infinity = b.float(f64::INFINITY);
        let endless = b.fcmp(FloatCompare::Oeq, v, infinity);
        let result = b.select(endless, infinity, result);
        let sign = b.fsub(one, self.complement);
        let sign = if self.factor < 0.0 { b.fneg(sign) } else { sign };
        b.with_sign_of(result, sign)
    }
}

/// `erfcinv(y)`: infinite at the ends, NaN beyond, as the logarithm is.
pub(super) fn erfcinv(b: &mut Builder<'_, '_>, y: &[Value]) -> Value {
    Inverse { complement: y[0], coefficients: &CENTRAL, whole: 1.0, factor: 1.0 }.build(b)
}

/// The inverse of the normal distribution, `-√2 erfcinv(2p)`.
pub(super) fn normcdfinv(b: &mut Builder<'_, '_>, p: &[Value]) -> Value {
    let complement = b.fadd(p[0], p[0]);
    Inverse { complement, coefficients: &NORMAL, whole: -1.0, factor: -SQRT_2 }.build(b)
}
