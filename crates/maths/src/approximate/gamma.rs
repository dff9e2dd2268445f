//! `lgamma`, `tgamma`. Below zero, where both have zeros or poles all over, they are computed in doubles behind a
//! branch.

use super::logarithm::{HALF_ROOT, LOG, Parts, TWO_THIRDS, field_and_mantissa, parts};
use super::power::{exp2_of_part, is_plain, log_of_mantissa};
use super::{Builder, split};
use crate::gamma;
use llir::{FloatCompare, Value};
use std::f64::consts::{LN_2, LOG2_E};

/// `lgamma(x) / ((x - 1) (x - 2))` in `x - 2`, for `x` from 1 to 3.
const LGAMMA_1_3: [f64; 13] = [
    1.00707248e-05,
    -3.51566814e-05,
    4.95464337e-05,
    -6.19127968e-05,
    0.000160705909,
    -0.000416511029,
    0.000930048409,
    -0.00210578111,
    0.0049945116,
    -0.012384369,
    0.0329654142,
    -0.100317299,
    0.422784328,
];

/// Stirling's series for the logarithm times `x`, in `1 / x²` from 3 on.
const STIRLING_OF_LOG: [f64; 3] = [0.000679246557, -0.00276993657, 0.0833331645];

/// The gamma function in `x - 2`, for `x` from 1 to 3.
const GAMMA_1_3: [f64; 14] = [
    -0.000201667863,
    0.000312119519,
    5.26207041e-05,
    0.000192137959,
    -0.00119896338,
    0.00231339177,
    -0.00271650613,
    0.0110826055,
    -0.000300091546,
    0.0742599443,
    0.0815803632,
    0.411839783,
    0.422784239,
    1.0,
];

/// Stirling's series for the function, times `√(2π / e)`, in `1 / x` from 3 on.
const STIRLING: [f64; 5] = [0.000771471532, -0.00448736455, 0.00534685096, 0.126690894, 1.520347];

/// Where the series begin.
const LARGE: f64 = 3.0;

/// ln 2 in two parts; products of the first with an exponent are exact.
const LN_2_SHORT: f64 = 0.693_145_751_953_125;

/// log2 e likewise: differences of the first from an exponent are exact.
const LOG2_E_SHORT: f64 = 1.442_693_710_327_148_4;

/// The power of two that the last factor of the gamma function is larger by, so that nothing overflows before.
const SHIFT: i32 = 64;

/// The function of a number that is not negative, or behind a branch that of one below zero.
fn unless_negative(
    b: &mut Builder<'_, '_>,
    x: Value,
    positive: Value,
    in_doubles: fn(&mut Builder<'_, '_>, &[Value]) -> Value,
) -> Value {
    let zero = b.float(0.0);
    let negative = b.fcmp(FloatCompare::Olt, x, zero);
    b.only_where(negative, |b| b.in_short_doubles(&[x], in_doubles), positive)
}

/// `log |Γ(x)|`.
pub(super) fn lgamma(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let log = Logarithm::of(b, size);
    let small = small_lgamma(b, size, &log);
    let large = large_lgamma(b, size, &log);
    let limit = b.float(LARGE);
    let is_large = b.fcmp(FloatCompare::Oge, size, limit);
    let result = b.select(is_large, large, small);
    let infinity = b.float(f64::INFINITY);
    let special = b.fadd(size, infinity);
    let plain = is_plain(b, size);
    let positive = b.select(plain, result, special);
    unless_negative(b, x[0], positive, gamma::lgamma)
}

/// A logarithm, which is the exponent times [`LN_2_SHORT`], the fraction and the tail.
struct Logarithm {
    exponent: Value,
    fraction: Value,
    tail: Value,
}

impl Logarithm {
    fn of(b: &mut Builder<'_, '_>, x: Value) -> Logarithm {
        let Parts { exponent, mantissa, .. } = parts(b, x, TWO_THIRDS);
        let one = b.float(1.0);
        let fraction = b.fsub(mantissa, one);
        let square = b.fmul(fraction, fraction);
        let series = b.polynomial(fraction, &LOG);
        let rest = b.times(exponent, LN_2 - LN_2_SHORT);
        let tail = b.mul_add(square, series, rest);
        Logarithm { exponent, fraction, tail }
    }
}

/// Up to [`LARGE`], below one by the number that is one larger: what both have in common near one is added first.
fn small_lgamma(b: &mut Builder<'_, '_>, x: Value, log: &Logarithm) -> Value {
    let [one, two] = [1.0, 2.0].map(|number| b.float(number));
    let below = b.fcmp(FloatCompare::Olt, x, one);
    let (less, other) = (b.fsub(x, one), b.fsub(x, two));
    let t = b.select(below, less, other);
    let first = b.select(below, x, less);
    let slope = b.polynomial(t, &LGAMMA_1_3);
    let slope = b.fmul(slope, first);
    let near = b.fmul(slope, t);
    let minus = b.fneg(log.fraction);
    let moved = b.mul_add(slope, t, minus);
    let rest = b.times_plus(log.exponent, LN_2_SHORT, log.tail);
    let moved = b.fsub(moved, rest);
    b.select(below, moved, near)
}

/// `(x - 1/2) (log x - 1) + (log 2π - 1) / 2 + S(1/x)`.
fn large_lgamma(b: &mut Builder<'_, '_>, x: Value, log: &Logarithm) -> Value {
    let (half, minus_one, constant) = (b.float(0.5), b.float(-1.0), b.float(0.418_938_533_204_672_7));
    let whole = b.times_plus(log.exponent, LN_2_SHORT, minus_one);
    let part = b.fadd(log.fraction, log.tail);
    let less = b.fadd(whole, part);
    let inverse = b.inverted(x);
    let square = b.fmul(inverse, inverse);
    let series = b.polynomial(square, &STIRLING_OF_LOG);
    let series = b.mul_add(series, inverse, constant);
    let shifted = b.fsub(x, half);
    b.mul_add(shifted, less, series)
}

/// `Γ(x)`.
pub(super) fn tgamma(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let small = small_gamma(b, x[0]);
    let large = large_gamma(b, x[0]);
    let limit = b.float(LARGE);
    let is_small = b.fcmp(FloatCompare::Olt, x[0], limit);
    let positive = b.select(is_small, small, large);
    unless_negative(b, x[0], positive, gamma::tgamma)
}

/// Up to [`LARGE`], below one by the number that is one larger. What is divided by is four times larger, as a
/// reciprocal of a denormal number is infinite.
fn small_gamma(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let [one, minus_one, minus_two] = [1.0, -1.0, -2.0].map(|number| b.float(number));
    let below = b.fcmp(FloatCompare::Olt, x, one);
    let less = b.select(below, minus_one, minus_two);
    let t = b.fadd(x, less);
    let result = b.polynomial(t, &GAMMA_1_3);
    let divisor = b.times(x, 4.0);
    let inverse = b.inverted(divisor);
    let divided = b.fmul(result, inverse);
    let divided = b.times(divided, 4.0);
    b.select(below, divided, result)
}

/// `√(2π / e) S(1/x) 2^((x - 1/2) log2(x / e))`, with that logarithm and the exponent in two parts.
fn large_gamma(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let x = b.below(x, 36.5);
    let (field, mantissa) = field_and_mantissa(b, (x, x), HALF_ROOT);
    let exponent = b.b.cast(llir::Op::SITOFP, field, llir::Type::F32);
    let (log, log_low) = log_of_mantissa(b, mantissa);
    let [factor, factor_low] = split(LOG2_E).map(|part| b.float(part));
    let (scaled, low) = b.two_product(log, factor);
    let low = b.mul_add(log, factor_low, low);
    let low = b.mul_add(log_low, factor, low);
    let short = b.float(-LOG2_E_SHORT);
    let whole = b.times_plus(exponent, 2f64.powi(-23), short);
    let (high, rest) = b.fast_two_sum(whole, scaled);
    let low = b.fadd(rest, low);
    let missing = b.float(LOG2_E - LOG2_E_SHORT);
    let low = b.fsub(low, missing);
    let half = b.float(0.5);
    let shifted = b.fsub(x, half);
    let (high, lost) = b.two_product(shifted, high);
    let low = b.mul_add(shifted, low, lost);
    let power = exp2_of_part(b, (high, low), -SHIFT);
    let inverse = b.inverted(x);
    let series = b.polynomial(inverse, &STIRLING.map(|coefficient| coefficient * 2f64.powi(SHIFT)));
    b.fmul(power, series)
}
