//! `pow`, `cbrt`.

use super::exponential::MAGIC;
use super::logarithm::{HALF_ROOT, Parts, parts};
use super::{Builder, SMALLEST, split};
use llir::{FloatCompare, IntCompare, Value};
use std::f64::consts::LOG2_E;

/// `(log((2 + q) / (2 - q)) / q - 1) / q²` in `q²`, for |q| ≤ 0.344.
const LOG_TAIL: [f64; 4] = [0.000474199507, 0.00222646794, 0.0125003038, 0.0833333284];

/// `2^r` for |r| ≤ 1/2.
const EXP2: [f64; 7] = [
    0.00013127367128618062,
    0.0013390274252742529,
    0.009626282379031181,
    0.05550362542271614,
    0.2402258664369583,
    0.6931471824645996,
    1.0,
];

/// A number in two parts, the second what the first lacks.
pub(super) type Pair = (Value, Value);

/// `log(m)` of a mantissa: `2 atanh(f / (2 + f))` with `f = m - 1`, whose terms are kept with what is rounded away.
pub(super) fn log_of_mantissa(b: &mut Builder<'_, '_>, mantissa: Value) -> Pair {
    let one = b.float(1.0);
    let fraction = b.fsub(mantissa, one);
    let sum = b.fadd(mantissa, one);
    let inverse = b.inverted(sum);
    let twice = b.fadd(fraction, fraction);
    let q = b.fmul(twice, inverse);
    // `2f - q (2 + f)`, of which nothing is rounded but the end.
    let less = b.fsub(fraction, q);
    let less = b.fadd(less, less);
    let lost = b.neg_mul_add(q, fraction, less);
    let q_low = b.fmul(lost, inverse);

    let (square, square_low) = b.two_product(q, q);
    let twice = b.fadd(q, q);
    let square_low = b.mul_add(twice, q_low, square_low);
    let tail = b.polynomial(square, &LOG_TAIL);
    let (part, part_low) = b.two_product(square, tail);
    let part_low = b.mul_add(square_low, tail, part_low);
    let (cube, cube_low) = b.two_product(q, part);
    let cube_low = b.mul_add(q, part_low, cube_low);
    let cube_low = b.mul_add(q_low, part, cube_low);
    let low = b.fadd(cube_low, q_low);
    let (log, rest) = b.fast_two_sum(q, cube);
    (log, b.fadd(rest, low))
}

/// `log2` of a number that is not negative, in two parts; an infinity or NaN has no second one.
fn log2_pair(b: &mut Builder<'_, '_>, size: Value) -> Pair {
    let Parts { exponent, mantissa, .. } = parts(b, size, HALF_ROOT);
    let (log, log_low) = log_of_mantissa(b, mantissa);
    let [factor, factor_low] = split(LOG2_E).map(|part| b.float(part));
    let (scaled, scaled_low) = b.two_product(log, factor);
    let scaled_low = b.mul_add(log, factor_low, scaled_low);
    let scaled_low = b.mul_add(log_low, factor, scaled_low);
    let (high, low) = b.fast_two_sum(exponent, scaled);
    let low = b.fadd(low, scaled_low);
    let plain = is_plain(b, size);
    let special = b.log_two(size);
    let zero = b.float(0.0);
    (b.select(plain, high, special), b.select(plain, low, zero))
}

/// Whether a number without a sign is neither zero, infinite nor NaN.
pub(super) fn is_plain(b: &mut Builder<'_, '_>, size: Value) -> Value {
    let (one, bound) = (b.int(1), b.int(0x7f7f_ffff));
    let bits = b.bits(size);
    let bits = b.isub(bits, one);
    b.icmp(IntCompare::Ult, bits, bound)
}

/// Two to the power of a pair. The scale is two factors, so that denormal results round once.
fn exp2_of(b: &mut Builder<'_, '_>, (high, low): Pair) -> Value {
    let (bound, zero) = (b.float(200.0), b.float(0.0));
    let size = b.fabs(high);
    let moderate = b.fcmp(FloatCompare::Olt, size, bound);
    let low = b.select(moderate, low, zero);
    let high = b.below(high, 200.0);
    let high = b.above(high, -200.0);
    let n = b.round_by(high, 1.0, MAGIC);
    let rest = b.fsub(high, n.float);
    let rest = b.fadd(rest, low);
    let power = b.polynomial(rest, &EXP2);
    // The bits of the constant, less twice the bias.
    let offset = b.int(0x4b40_0000 - 254);
    let bits = b.bits(n.carrier);
    let sum = b.isub(bits, offset);
    let first = b.lshr(sum, 1);
    let second = b.isub(sum, first);
    [first, second].into_iter().fold(power, |power, exponent| {
        let bits = b.shl(exponent, 23);
        let factor = b.with_bits(bits);
        b.fmul(power, factor)
    })
}

/// Two to the power of a pair, times two to a power: the result is a normal number.
pub(super) fn exp2_of_part(b: &mut Builder<'_, '_>, (high, low): Pair, shift: i32) -> Value {
    let n = b.round_by(high, 1.0, MAGIC + f64::from(127 + shift));
    let rest = b.fsub(high, n.float);
    let rest = b.fadd(rest, low);
    let power = b.polynomial(rest, &EXP2);
    let bits = b.bits(n.carrier);
    let bits = b.shl(bits, 23);
    let scale = b.with_bits(bits);
    b.fmul(power, scale)
}

/// `x^y` with the special cases of C: `x^0` and `1^y` are one even for NaN.
pub(super) fn pow(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    let (zero, one, nan) = (b.float(0.0), b.float(1.0), b.float(f64::NAN));
    let size = b.fabs(x);
    let (log, log_low) = log2_pair(b, size);
    let (product, lost) = b.two_product(y, log);
    let low = b.mul_add(y, log_low, lost);
    let result = exp2_of(b, (product, low));
    // An infinite power of one is one.
    let is_one = b.fcmp(FloatCompare::Oeq, size, one);
    let result = b.select(is_one, one, result);

    let whole = b.intrinsic(&llir::intrinsics::TRUNC, &[y]);
    let is_integer = b.fcmp(FloatCompare::Oeq, whole, y);
    let half = b.times(y, 0.5);
    let whole_half = b.intrinsic(&llir::intrinsics::TRUNC, &[half]);
    let is_halved = b.fcmp(FloatCompare::One, whole_half, half);
    let is_odd = b.both(is_integer, is_halved);
    let signed = b.select(is_odd, x, size);
    let result = b.with_sign_of(result, signed);

    let minus_infinity = b.float(f64::NEG_INFINITY);
    let negative = b.fcmp(FloatCompare::Olt, x, zero);
    let finite = b.fcmp(FloatCompare::Ogt, x, minus_infinity);
    let negative = b.both(negative, finite);
    let defined = b.select(is_integer, result, nan);
    let result = b.select(negative, defined, result);
    let to_nothing = b.fcmp(FloatCompare::Oeq, y, zero);
    b.select(to_nothing, one, result)
}

/// `2^(log2|x| / 3)`, and one step of Newton.
pub(super) fn cbrt(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let (smallest, zero, down) = (b.float(SMALLEST), b.float(0.0), b.float(-8.0));
    let tiny = b.fcmp(FloatCompare::Olt, size, smallest);
    let lifted = b.times(size, 2f64.powi(24));
    let lifted = b.select(tiny, lifted, size);
    let less = b.select(tiny, down, zero);
    let log = b.log_two(lifted);
    let third = b.times_plus(log, 1.0 / 3.0, less);
    let root = b.raised(third);
    let square = b.fmul(root, root);
    let inverse = b.inverted(square);
    let minus = b.fneg(root);
    let lacks = b.mul_add(size, inverse, minus);
    let result = b.times_plus(lacks, 1.0 / 3.0, root);
    let result = b.with_sign_of(result, x[0]);
    let plain = is_plain(b, size);
    b.select(plain, result, x[0])
}
