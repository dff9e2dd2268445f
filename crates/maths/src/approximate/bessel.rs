//! `j0`, `j1`: near zero a polynomial times what has the zeros, from [`LIMIT`] on a wave.
//!
//! With the Hankel function `H = J + iY` of an order, `J` is `|H| cos θ` and `Y` is `|H| sin θ` (Abramowitz and Stegun,
//! "Handbook of Mathematical Functions", 9.2.17 to 9.2.31): `√x |H|` and `x (θ - x)`, but for a constant, are smooth in
//! `1 / x²`, so polynomials of few terms do. A difference of squares from that of a zero, of which two singles are
//! known, is rounded twice at most: next to zeros errors are small beside the value, as what is left has no zeros
//! there. The polynomials are minimax fits, by linear programs over values of 40 digits; those near zero are weighted
//! by the value.

use super::exponential::MAGIC;
use super::{Builder, split};
use crate::rare::Rare;
use crate::reduction::LIMIT_F32;
use llir::{FloatCompare, Value};
use std::f64::consts::{FRAC_1_PI, FRAC_PI_4, PI};

/// Where the wave begins.
pub(super) const LIMIT: f64 = 8.0;

/// A function of the first kind near zero.
struct First {
    /// The squares of the zeros up to the limit.
    zeros: [f64; 2],
    /// What the function, of order 1 divided by `x`, is divided by the differences of `x²` from them, in `64 - x²`,
    /// where all terms have one sign.
    series: [f64; 9],
}

const J0: First = First {
    zeros: [5.783_185_962_946_784, 30.471_262_343_662_087],
    series: [
        3.67047761e-20,
        4.45953913e-18,
        2.01687057e-15,
        3.90241198e-13,
        6.06788231e-11,
        6.26091934e-09,
        3.89294229e-07,
        1.16462516e-05,
        8.79387371e-05,
    ],
};

const J1: First = First {
    zeros: [14.681_970_642_123_893, 49.218_456_321_694_6],
    series: [
        1.51379666e-21,
        3.02995612e-19,
        1.16514464e-16,
        2.76125643e-14,
        5.00856431e-12,
        6.3621941e-10,
        5.18936183e-08,
        2.32669822e-06,
        4.02327569e-05,
    ],
};

impl First {
    /// The function of an `x` up to the limit, of order 1 divided by `x`.
    fn call(&self, b: &mut Builder<'_, '_>, x: Value) -> Value {
        let left = b.fneg(x);
        let limit = b.float(LIMIT * LIMIT);
        let left = b.mul_add(left, x, limit);
        let series = b.polynomial(left, &self.series);
        self.zeros.into_iter().fold(series, |value, zero| {
            let difference = square_less(b, x, zero);
            b.fmul(value, difference)
        })
    }
}

/// `x²` less a number.
pub(super) fn square_less(b: &mut Builder<'_, '_>, x: Value, number: f64) -> Value {
    let [high, low] = split(number).map(|part| b.float(-part));
    let difference = b.mul_add(x, x, high);
    b.fadd(difference, low)
}

/// `x` less a number.
pub(super) fn less(b: &mut Builder<'_, '_>, x: Value, number: f64) -> Value {
    let [high, low] = split(number).map(|part| b.float(part));
    let difference = b.fsub(x, high);
    b.fsub(difference, low)
}

/// Both functions of an order from the limit on.
pub(super) struct Wave {
    /// `√x |H|` in `1 / x²`.
    amplitude: [f64; 4],
    /// `x (θ - x)` without the constant, likewise.
    phase: [f64; 3],
}

pub(super) const ORDER_0: Wave = Wave {
    amplitude: [-0.516178191, 0.0861400068, -0.0498916805, 0.797884583],
    phase: [-0.174306765, 0.0648512542, -0.124999531],
};

pub(super) const ORDER_1: Wave = Wave {
    amplitude: [0.309988618, -0.148633569, 0.149574474, 0.797884583],
    phase: [0.318491399, -0.163681313, 0.374999285],
};

/// `(sin(y) / y - 1) / y²` in `y²`, for |y| up to a quarter turn.
const SINE: [f64; 4] = [2.59842523e-06, -0.000198059002, 0.00833300781, -0.166666567];

impl Wave {
    /// The amplitude, with this sign, times the sine of the phase, for an `x` from the limit on.
    pub(super) fn call(&self, b: &mut Builder<'_, '_>, x: Value, eighths: i8, sign: f64) -> Value {
        let (rest, number) = reduced(b, x, eighths);
        let root = b.inverse_root(x);
        let inverse = b.fmul(root, root);
        let square = b.fmul(inverse, inverse);
        let phase = b.polynomial(square, &self.phase);
        let angle = b.mul_add(phase, inverse, rest);
        let square_of_angle = b.fmul(angle, angle);
        let sine = b.odd_series(angle, square_of_angle, &SINE);
        let flip = b.shl(number, 31);
        let sine = b.flip_sign(sine, flip);
        let amplitude = b.polynomial(square, &self.amplitude.map(|coefficient| sign * coefficient));
        let amplitude = b.fmul(amplitude, root);
        b.fmul(amplitude, sine)
    }
}

/// `x` and so many eighths of a turn less half turns, and the number of those. It is three eighths, of which the
/// nearest single is closer than that of one is, and half a turn only changes the sign. The first two differences are
/// exact.
fn reduced(b: &mut Builder<'_, '_>, x: Value, eighths: i8) -> (Value, Value) {
    let shift = b.float(f64::from(eighths) * FRAC_PI_4);
    let shifted = b.fadd(x, shift);
    let n = b.round_by(shifted, FRAC_1_PI, MAGIC);
    let [high, low] = split(PI);
    let rest = b.times_plus(n.float, -high, x);
    let rest = b.fadd(rest, shift);
    let rest = b.times_plus(n.float, -low, rest);
    let number = b.bits(n.carrier);
    let limit = b.float(LIMIT_F32);
    let is_large = b.fcmp(FloatCompare::Ogt, x, limit);
    let joined = b.rarely(is_large, Rare::ReducePhase { eighths }, &[x], &[rest, number]);
    (joined[0], joined[1])
}

/// One of two results by the size of the argument.
fn choose(b: &mut Builder<'_, '_>, x: Value, near: Value, far: Value) -> Value {
    let limit = b.float(LIMIT);
    let is_near = b.fcmp(FloatCompare::Olt, x, limit);
    b.select(is_near, near, far)
}

/// `J0(x)`, of which the wave is `cos(x - π/4 + …)`.
pub(super) fn j0(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let near = J0.call(b, size);
    let far = ORDER_0.call(b, size, -3, -1.0);
    choose(b, size, near, far)
}

/// `J1(x)`, of which the wave is `cos(x - 3π/4 + …)`.
pub(super) fn j1(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let slope = J1.call(b, size);
    let near = b.fmul(slope, size);
    let far = ORDER_1.call(b, size, 3, -1.0);
    let value = choose(b, size, near, far);
    let sign = b.sign_bit(x[0]);
    b.flip_sign(value, sign)
}
