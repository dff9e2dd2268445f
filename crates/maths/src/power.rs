//! Powers and roots of any degree: `pow`, `cbrt`, `hypot` and reciprocals.

use super::Elem;
use super::builder::Builder;
use super::exponential::{exp2, round_product, scale, zero_from};
use super::logarithm::{self, Split};
use llir::{FloatCompare, Value};

/// `((log((1 + s) / (1 - s)) / s - 2) / s^2 - 2/3) / s^2` as a polynomial in `s^2`.
const LOG_TAIL: [f64; 7] = [
    0.13197841268994528,
    0.13256658567692017,
    0.15386763993252422,
    0.18181784226583764,
    0.22222222521477386,
    0.285714285700912,
    0.4000000000000227,
];

/// 1 / ln 2 and 2/3 in two parts.
const LOG2_E: (f64, f64) = (std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17);
const TWO_THIRDS: (f64, f64) = (0.666_666_666_666_666_6, 3.700_743_415_417_188e-17);

/// The cube root on [0.35, 2.84], to three digits.
const CBRT: [f64; 6] = [
    0.011288547047588596,
    -0.10472451319777938,
    0.3883064342466915,
    -0.7636617610937397,
    1.05436745518302,
    0.4146268533080153,
];

/// `|x|^y` without the cases of C.
fn magnitude(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    if b.elem() == Elem::F32 {
        // Doubles have bits to spare.
        return b.in_doubles(&[x, y], |b, wide| {
            let log = logarithm::log2(b, &[wide[0]]);
            let product = b.fmul(log, wide[1]);
            // What is zero as a single is zero before it is rounded.
            let bounded = b.at_least(product, -151.0);
            let result = exp2(b, &[bounded]);
            zero_from(b, result, bounded, -150.0)
        });
    }
    let (high, low) = log2_pair(b, x);
    let (product, lost) = b.two_product(y, high);
    let rest = b.mul_add(y, low, lost);
    // The result is an infinity or zero far before these bounds, and the rest means nothing there.
    let bound = b.float(2000.0);
    let size = b.fabs(product);
    let moderate = b.fcmp(FloatCompare::Olt, size, bound);
    let zero = b.float(0.0);
    let rest = b.select(moderate, rest, zero);
    let product = b.at_most(product, 1026.0);
    let product = b.at_least(product, -1078.0);
    let n = round_product(b, product, 1.0);
    let r = b.fsub(product, n.float);
    let r = b.fadd(r, rest);
    let p = super::exponential::exp2_reduced(b, r);
    // With the rest, the last of them is not quite zero.
    let p = zero_from(b, p, product, f64::from_bits((-1075f64).to_bits() + 1));
    scale(b, p, &n)
}

/// `log2(x)` as a sum of two doubles, with a relative error below 2^-62.
fn log2_pair(b: &mut Builder<'_, '_>, x: Value) -> (Value, Value) {
    let Split { exponent, fraction: f } = logarithm::split(b, x);
    let two = b.float(2.0);
    let (u, u_low) = b.fast_two_sum(two, f);
    let s = b.fdiv(f, u);
    let (product, lost) = b.two_product(s, u);
    let rest = b.fsub(f, product);
    let rest = b.fsub(rest, lost);
    let rest = b.neg_mul_add(s, u_low, rest);
    let s_low = b.fdiv(rest, u);

    let (z, z_low) = b.two_product(s, s);
    let twice = b.fadd(s, s);
    let z_low = b.mul_add(twice, s_low, z_low);
    let tail = b.polynomial(z, &LOG_TAIL);
    let tail = b.fmul(tail, z);
    let third = b.float(TWO_THIRDS.0);
    let (c, c_low) = b.fast_two_sum(third, tail);
    let third_low = b.float(TWO_THIRDS.1);
    let c_low = b.fadd(c_low, third_low);
    let (d, d_low) = multiply_pairs(b, (z, z_low), (c, c_low));
    let (h, h_low) = b.fast_two_sum(two, d);
    let h_low = b.fadd(h_low, d_low);
    let log = multiply_pairs(b, (s, s_low), (h, h_low));
    let inverse = (b.float(LOG2_E.0), b.float(LOG2_E.1));
    let (log, log_low) = multiply_pairs(b, log, inverse);
    let (sum, sum_low) = b.fast_two_sum(exponent, log);
    let sum_low = b.fadd(sum_low, log_low);
    // The exponent may be zero: then the sum is the logarithm itself.
    let zero = b.float(0.0);
    let no_exponent = b.fcmp(FloatCompare::Oeq, exponent, zero);
    let sum_low = b.select(no_exponent, log_low, sum_low);

    let infinity = b.float(f64::INFINITY);
    let minus_infinity = b.float(f64::NEG_INFINITY);
    let is_zero = b.fcmp(FloatCompare::Oeq, x, zero);
    let sum = b.select(is_zero, minus_infinity, sum);
    let is_infinite = b.fcmp(FloatCompare::Oeq, x, infinity);
    (b.select(is_infinite, infinity, sum), sum_low)
}

fn multiply_pairs(b: &mut Builder<'_, '_>, x: (Value, Value), y: (Value, Value)) -> (Value, Value) {
    let (product, lost) = b.two_product(x.0, y.0);
    let cross = b.fmul(x.0, y.1);
    let cross = b.mul_add(x.1, y.0, cross);
    let low = b.fadd(lost, cross);
    b.fast_two_sum(product, low)
}

/// Where `y` is an integer, and where it is an odd one; expects its magnitude.
fn integers(b: &mut Builder<'_, '_>, size: Value) -> (Value, Value) {
    // From here on a float has no fraction; adding it rounds what is below to an integer.
    let limit = b.float(if b.elem() == Elem::F32 { 8_388_608.0 } else { 4_503_599_627_370_496.0 });
    let whole = |b: &mut Builder<'_, '_>, value: Value| {
        let sum = b.fadd(value, limit);
        let rounded = b.fsub(sum, limit);
        let equal = b.fcmp(FloatCompare::Oeq, rounded, value);
        let large = b.fcmp(FloatCompare::Oge, value, limit);
        b.ior(equal, large)
    };
    let is_integer = whole(b, size);
    let half = b.float(0.5);
    let halved = b.fmul(size, half);
    let is_even = whole(b, halved);
    (is_integer, is_even)
}

/// `x^y` with the special cases of C: `x^0` and `1^y` are one even for NaN.
pub(super) fn pow(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    let (zero, one, infinity) = (b.float(0.0), b.float(1.0), b.float(f64::INFINITY));
    let nan = b.float(f64::NAN);
    let sign = b.sign_bit(x);
    let x_size = b.fabs(x);
    let y_size = b.fabs(y);
    let mut result = magnitude(b, &[x_size, y]);

    // An infinite power of one is one, whatever the sign.
    let is_one = b.fcmp(FloatCompare::Oeq, x_size, one);
    result = b.select(is_one, one, result);
    let (is_integer, is_even) = integers(b, y_size);
    let no_sign = b.int(0);
    let odd_sign = b.select(is_even, no_sign, sign);
    let odd_sign = b.select(is_integer, odd_sign, no_sign);
    result = b.flip_sign(result, odd_sign);
    let negative = b.fcmp(FloatCompare::Olt, x, zero);
    let finite = b.fcmp(FloatCompare::Olt, x_size, infinity);
    let negative = b.both(negative, finite);
    let defined = b.select(is_integer, result, nan);
    result = b.select(negative, defined, result);

    let unordered = b.fcmp(FloatCompare::Uno, x, y);
    result = b.select(unordered, nan, result);
    let positive_one = b.fcmp(FloatCompare::Oeq, x, one);
    result = b.select(positive_one, one, result);
    let is_zero = b.fcmp(FloatCompare::Oeq, y, zero);
    b.select(is_zero, one, result)
}

/// The cube root: a rough polynomial, one step of Halley and, for doubles, one of Newton.
pub(super) fn cbrt(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let x = arguments[0];
    let sign = b.sign_bit(x);
    let size = b.fabs(x);
    let Split { exponent, fraction } = logarithm::split(b, size);
    let n = round_product(b, exponent, 1.0 / 3.0);
    let (one, three, half) = (b.float(1.0), b.float(3.0), b.float(0.5));
    let rest = b.neg_mul_add(three, n.float, exponent);
    let m = b.fadd(fraction, one);
    let (minus_half, doubled, halved) = (b.float(-0.5), b.fadd(m, m), b.fmul(m, half));
    let up = b.fcmp(FloatCompare::Ogt, rest, half);
    let m = b.select(up, doubled, m);
    let down = b.fcmp(FloatCompare::Olt, rest, minus_half);
    let m = b.select(down, halved, m);

    let root = b.polynomial(m, &CBRT);
    let square = b.fmul(root, root);
    let cube = b.fmul(square, root);
    let difference = b.fsub(m, cube);
    let twice = b.fadd(cube, cube);
    let denominator = b.fadd(twice, m);
    let ratio = b.fdiv(difference, denominator);
    let mut root = b.mul_add(root, ratio, root);
    if b.elem() == Elem::F64 {
        let square = b.fmul(root, root);
        let quotient = b.fdiv(m, square);
        let difference = b.fsub(quotient, root);
        let third = b.float(1.0 / 3.0);
        root = b.mul_add(difference, third, root);
    }
    let result = scale(b, root, &n);
    let result = b.flip_sign(result, sign);

    let infinity = b.float(f64::INFINITY);
    let zero = b.float(0.0);
    let is_zero = b.fcmp(FloatCompare::Oeq, size, zero);
    let finite = b.fcmp(FloatCompare::Olt, size, infinity);
    let result = b.select(finite, result, x);
    b.select(is_zero, x, result)
}

/// `1 / cbrt(x)`.
pub(super) fn rcbrt(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let root = cbrt(b, arguments);
    let one = b.float(1.0);
    b.fdiv(one, root)
}

/// Two magnitudes brought to the middle of the range by a power of two.
struct Legs {
    larger: Value,
    smaller: Value,
    factor: Value,
    inverse: Value,
}

/// Scales two magnitudes so that their squares neither overflow nor vanish where they count.
fn legs(b: &mut Builder<'_, '_>, x: Value, y: Value) -> Legs {
    let one = b.float(1.0);
    let x_above = b.fcmp(FloatCompare::Ogt, x, y);
    let larger = b.select(x_above, x, y);
    let smaller = b.select(x_above, y, x);
    let (huge, tiny) = (b.float(2f64.powi(500)), b.float(2f64.powi(-400)));
    let (shrink, grow) = (b.float(2f64.powi(-600)), b.float(2f64.powi(600)));
    let is_huge = b.fcmp(FloatCompare::Ogt, larger, huge);
    let is_tiny = b.fcmp(FloatCompare::Olt, larger, tiny);
    let factor = b.select(is_huge, shrink, one);
    let factor = b.select(is_tiny, grow, factor);
    let inverse = b.select(is_huge, grow, one);
    let inverse = b.select(is_tiny, shrink, inverse);
    // A leg that is too small to count is made longer, so that its square is no subnormal.
    let least = b.float(2f64.powi(-60));
    let least = b.fmul(larger, least);
    let is_less = b.fcmp(FloatCompare::Olt, smaller, least);
    let smaller = b.select(is_less, least, smaller);
    Legs { larger: b.fmul(larger, factor), smaller: b.fmul(smaller, factor), factor, inverse }
}

/// The result `there` where one of two numbers is infinite.
fn unless_infinite(b: &mut Builder<'_, '_>, arguments: &[Value], there: f64, result: Value) -> Value {
    let (there, infinity) = (b.float(there), b.float(f64::INFINITY));
    arguments.iter().fold(result, |result, &argument| {
        let size = b.fabs(argument);
        let infinite = b.fcmp(FloatCompare::Oeq, size, infinity);
        b.select(infinite, there, result)
    })
}

/// `sqrt(x^2 + y^2)` of doubles that were singles: no square is infinite, none is rounded.
fn root_of_squares(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let square = b.fmul(x[0], x[0]);
    let sum = b.mul_add(x[1], x[1], square);
    b.sqrt(sum)
}

/// `sqrt(x^2 + y^2)` without overflow on the way; infinite if either is. Singles go through doubles.
pub(super) fn hypot(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, |b, x| {
            let root = root_of_squares(b, x);
            unless_infinite(b, x, f64::INFINITY, root)
        });
    }
    let (x, y) = (b.fabs(arguments[0]), b.fabs(arguments[1]));
    let Legs { larger, smaller, inverse, .. } = legs(b, x, y);
    let square = b.fmul(smaller, smaller);
    let sum = b.mul_add(larger, larger, square);
    let root = b.sqrt(sum);
    let result = b.fmul(root, inverse);
    unless_infinite(b, arguments, f64::INFINITY, result)
}

/// `1 / hypot(x, y)`, also where the length itself would overflow. Squares, sum and root are kept with what rounding
/// takes from them: each would cost half a unit, and turning over doubles it.
pub(super) fn rhypot(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, |b, x| {
            let root = root_of_squares(b, x);
            let one = b.float(1.0);
            let inverse = b.fdiv(one, root);
            unless_infinite(b, x, 0.0, inverse)
        });
    }
    let (x, y) = (b.fabs(arguments[0]), b.fabs(arguments[1]));
    let Legs { larger, smaller, factor, .. } = legs(b, x, y);
    let (high, high_lost) = b.two_product(larger, larger);
    let (low, low_lost) = b.two_product(smaller, smaller);
    let (sum, lost) = b.fast_two_sum(high, low);
    let lost_squares = b.fadd(high_lost, low_lost);
    let lost = b.fadd(lost, lost_squares);
    let root = b.sqrt(sum);
    let (one, half, zero) = (b.float(1.0), b.float(0.5), b.float(0.0));
    let inverse = b.fdiv(one, root);
    // What the root lacks is half of what its square lacks, over itself.
    let (square, square_lost) = b.two_product(root, root);
    let lacks = b.fsub(sum, square);
    let lacks = b.fsub(lacks, square_lost);
    let lacks = b.fadd(lacks, lost);
    let lacks = b.fmul(lacks, half);
    let lacks = b.fmul(lacks, inverse);
    // One step of Newton from the rounded quotient: 1 - inverse * (root + lacks).
    let (product, product_lost) = b.two_product(inverse, root);
    let wrong = b.fsub(one, product);
    let wrong = b.fsub(wrong, product_lost);
    let wrong = b.neg_mul_add(inverse, lacks, wrong);
    let refined = b.mul_add(inverse, wrong, inverse);
    // The length of nothing is turned over as it is: its corrections are NaN.
    let some = b.fcmp(FloatCompare::Ogt, root, zero);
    let inverse = b.select(some, refined, inverse);
    let result = b.fmul(inverse, factor);
    unless_infinite(b, arguments, 0.0, result)
}
