//! `sinpi`, `cospi`. No instruction for sines is precise enough: both series are made, and one is taken.

use super::Builder;
use super::exponential::MAGIC;
use llir::{FloatCompare, Value};
use std::f64::consts::PI;

/// `(sin(πr) / r - π) / r²` in `r²`, for |r| ≤ 1/4.
const SINE: [f64; 3] = [-0.589277685, 2.54979467, -5.16770887];

/// `(cos(πr) - 1) / r²` likewise.
const COSINE: [f64; 4] = [0.228988498, -1.33475816, 4.05869675, -4.93480206];

/// `x` less a whole number of turns: exact, from -1 to 1. Of numbers of 2^23 and more, which are whole, what is left is
/// whole as well, of few turns, and of the same parity where `x` is not negative.
fn less_turns(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let turns = b.round_by(x, 0.5, MAGIC);
    b.times_plus(turns.float, -2.0, x)
}

/// The sine or the cosine of half turns from 0 to 1/2: that of the rest, or beyond 1/4 the other one of what is left.
fn quarter(b: &mut Builder<'_, '_>, turns: Value, [near, far]: [fn(&Series) -> Value; 2]) -> Value {
    let (half, bound) = (b.float(0.5), b.float(0.25));
    let left = b.fsub(half, turns);
    let is_far = b.fcmp(FloatCompare::Ogt, turns, bound);
    let rest = b.intrinsic(&llir::intrinsics::MINNUM, &[turns, left]);
    let series = Series::of(b, rest);
    b.select(is_far, far(&series), near(&series))
}

/// Both series.
struct Series {
    sine: Value,
    cosine: Value,
}

impl Series {
    fn of(b: &mut Builder<'_, '_>, rest: Value) -> Series {
        let pi = f64::from(PI as f32);
        let square = b.fmul(rest, rest);
        let tail = b.polynomial(square, &[&SINE[..], &[PI - pi]].concat());
        let tail = b.fmul(rest, tail);
        let sine = b.times_plus(rest, pi, tail);
        let cosine = b.polynomial(square, &[&COSINE[..], &[1.0]].concat());
        Series { sine, cosine }
    }
}

/// `sin(πx)`.
pub(super) fn sinpi(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let rest = less_turns(b, x[0]);
    let size = b.fabs(rest);
    let one = b.float(1.0);
    let left = b.fsub(one, size);
    let size = b.intrinsic(&llir::intrinsics::MINIMUM, &[size, left]);
    // Whole numbers are left of large arguments.
    let size = b.above(size, 0.0);
    let result = quarter(b, size, [|series| series.sine, |series| series.cosine]);
    b.with_sign_of(result, rest)
}

/// `cos(πx)`.
pub(super) fn cospi(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let rest = less_turns(b, size);
    let rest = less_turns(b, rest);
    let size = b.fabs(rest);
    let (one, half) = (b.float(1.0), b.float(0.5));
    let left = b.fsub(one, size);
    let folded = b.intrinsic(&llir::intrinsics::MINNUM, &[size, left]);
    let result = quarter(b, folded, [|series| series.cosine, |series| series.sine]);
    let sign = b.fsub(half, size);
    b.with_sign_of(result, sign)
}
