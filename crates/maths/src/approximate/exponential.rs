//! `tanh`, `sinh`, `cosh`, `exp10`.

use super::{Builder, LN_2, split};
use crate::builder::Rounded;
use llir::{FloatCompare, Value};
use std::f64::consts::{LOG2_10, LOG2_E};

/// `(tanh(x) / x - 1) / x²` in `x²`, for |x| < 0.9.
const TANH: [f64; 6] = [0.00130397163, -0.0068600825, 0.0209041443, -0.0537214912, 0.133303598, -0.333332121];

/// `(sinh(x) / x - 1) / x²` in `x²`, for |x| < 1.
const SINH: [f64; 3] = [0.000203728327, 0.00833027437, 0.166667163];

/// `e^r` for |r| ≤ ln(2)/2.
pub(super) const EXP: [f64; 7] =
    [0.00138209993, 0.00836867094, 0.0416682623, 0.166665211, 0.49999994, 1.0, 1.0];

/// Adding it rounds to a whole number, which is then in the low bits.
pub(super) const MAGIC: f64 = 12_582_912.0;

/// `1 - 2 / (e^(2|x|) + 1)`, and a polynomial where that would cancel.
pub(super) fn tanh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let x = x[0];
    let size = b.fabs(x);
    let power = b.times(size, 2.0 * LOG2_E);
    let power = b.raised(power);
    let one = b.float(1.0);
    let sum = b.fadd(power, one);
    let inverse = b.inverted(sum);
    let large = b.times_plus(inverse, -2.0, one);
    let square = b.fmul(x, x);
    let small = b.odd_series(x, square, &TANH);
    below_bound(b, (size, 0.9), (small, large), x)
}

/// One of two results by the size of the argument, with its sign.
fn below_bound(
    b: &mut Builder<'_, '_>,
    (size, bound): (Value, f64),
    (small, large): (Value, Value),
    x: Value,
) -> Value {
    let bound = b.float(bound);
    let is_small = b.fcmp(FloatCompare::Olt, size, bound);
    let result = b.select(is_small, small, large);
    b.with_sign_of(result, x)
}

/// `e^x · 2^shift` for an `x` of whose power the shifted exponent is that of a number, an infinity or zero; `lost` is
/// what `x` is less than what is meant. A power of two is put together of its bits.
pub(super) fn shifted_exp(b: &mut Builder<'_, '_>, x: Value, lost: Option<Value>, shift: i32) -> Value {
    let n = b.round_by(x, LOG2_E, MAGIC + f64::from(127 + shift));
    let rest = b.times_plus(n.float, -LN_2[0], x);
    let mut rest = b.times_plus(n.float, -LN_2[1], rest);
    if let Some(lost) = lost {
        rest = b.fsub(rest, lost);
    }
    let power = b.polynomial(rest, &EXP);
    let bits = b.bits(n.carrier);
    let bits = b.shl(bits, 23);
    let scale = b.with_bits(bits);
    b.fmul(power, scale)
}

/// A quarter of `e^|x|`, and an eighth of its reciprocal.
fn quarter_and_inverse(b: &mut Builder<'_, '_>, size: Value) -> (Value, Value) {
    let bounded = b.below(size, 90.0);
    let quarter = shifted_exp(b, bounded, None, -2);
    let inverse = b.inverted(quarter);
    (quarter, b.times(inverse, 0.125))
}

/// Half of `e^|x| - e^-|x|`, and a polynomial where that would cancel.
pub(super) fn sinh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let x = x[0];
    let size = b.fabs(x);
    let (quarter, inverse) = quarter_and_inverse(b, size);
    let negative = b.fneg(inverse);
    let large = b.times_plus(quarter, 2.0, negative);
    let square = b.fmul(x, x);
    let small = b.odd_series(x, square, &SINH);
    below_bound(b, (size, 1.0), (small, large), x)
}

/// Half of `e^|x| + e^-|x|`.
pub(super) fn cosh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (quarter, inverse) = quarter_and_inverse(b, size);
    b.times_plus(quarter, 2.0, inverse)
}

/// `10^x = 2^f · 2^n`, with `n` the exponent of a normal number. Beyond these, `f` tells the rest: its power is zero,
/// infinite, or what a denormal result is rounded from. Of a NaN `n` is any exponent, and `f` is a NaN.
pub(super) fn exp10(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let [factor, factor_low] = split(LOG2_10);
    let n = exponent_of_ten(b, x[0]);
    let minus = b.fneg(n.float);
    let rest = b.times_plus(x[0], factor, minus);
    let rest = b.times_plus(x[0], factor_low, rest);
    let power = b.raised(rest);
    let bits = b.bits(n.carrier);
    let bits = b.shl(bits, 23);
    let scale = b.with_bits(bits);
    b.fmul(power, scale)
}

/// `log2(10^x)` as a whole number from -126 to 127; the carrier has it with the bias of exponents.
fn exponent_of_ten(b: &mut Builder<'_, '_>, x: Value) -> Rounded {
    /// From the least to the greatest.
    const STEPS: f64 = 253.0;
    if !b.machine.saturates() {
        let bounded = b.above(x, -37.9);
        let bounded = b.below(bounded, 38.2);
        return b.round_by(bounded, split(LOG2_10)[0], MAGIC + 127.0);
    }
    let zero = b.float(126.0 / STEPS);
    let share = b.times_plus(x, LOG2_10 / STEPS, zero);
    let share = b.machine.saturate(b.b, share);
    let least = b.float(MAGIC + 1.0);
    let carrier = b.times_plus(share, STEPS, least);
    let zero = b.float(MAGIC + 127.0);
    Rounded { float: b.fsub(carrier, zero), carrier }
}
