//! Inverse trigonometric functions: `asin`, `acos`, `atan`, `atan2`.

use super::Elem;
use super::builder::Builder;
use llir::{FloatCompare, IntCompare, Value};

/// `(asin(x) / x - 1) / x^2` as a polynomial in `x^2`, for |x| <= 1/2.
const ASIN_F32: [f64; 5] = [
    0.04221925884485245,
    0.024148348718881607,
    0.04547663778066635,
    0.07495249062776566,
    0.16666753590106964,
];
const ASIN_F64: [f64; 12] = [
    0.031982259228649765,
    -0.016327525392588933,
    0.019594874496584026,
    0.0065033230530275295,
    0.012174989035256802,
    0.013884342996326592,
    0.017359796459647584,
    0.022371751876902442,
    0.030381959398430594,
    0.04464285682189035,
    0.07500000000344927,
    0.16666666666665375,
];

/// `(atan(t) / t - 1) / t^2` as a polynomial in `t^2`, for |t| <= 0.6.
const ATAN_F32: [f64; 6] = [
    0.02970593236386776,
    -0.07252153754234314,
    0.10719763487577438,
    -0.1424177885055542,
    0.19997689127922058,
    -0.33333292603492737,
];
const ATAN_F64: [f64; 14] = [
    0.0037108578853615698,
    -0.013975660858712071,
    0.027194712005913665,
    -0.038272057133678296,
    0.04606604463881277,
    -0.05229106858022227,
    0.05876884143383417,
    -0.06666030365654088,
    0.07692255162923183,
    -0.09090906117356999,
    0.1111111100179519,
    -0.1428571428332691,
    0.19999999999973636,
    -0.3333333333333323,
];

/// pi/4 in two parts, the first with trailing zeros, so that small multiples of it are exact.
fn quarter_pi(b: &Builder<'_, '_>) -> (f64, f64) {
    match b.elem() {
        Elem::F32 => (0.785_398_006_439_209, 1.569_582_393_252_406_6e-7),
        Elem::F64 => (std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17),
    }
}

/// `asin(root + lost) = root + (lost + tail)` of a number of at most one half.
struct Leg {
    root: Value,
    lost: Value,
    tail: Value,
    /// Whether the argument was above one half, so that the leg is half of the complement.
    is_complement: Value,
}

/// `|x| <= 1/2`: the leg of `|x|`; else of `sqrt((1 - |x|) / 2)`, whose rounding error is in `lost`.
fn leg(b: &mut Builder<'_, '_>, x: Value) -> Leg {
    let (half, one, zero) = (b.float(0.5), b.float(1.0), b.float(0.0));
    let is_complement = b.fcmp(FloatCompare::Ogt, x, half);
    let rest = b.fsub(one, x);
    let rest = b.fmul(rest, half);
    let root = b.sqrt(rest);
    let square = b.fmul(x, x);
    let z = b.select(is_complement, rest, square);
    let s = b.select(is_complement, root, x);
    let tail = match b.elem() {
        Elem::F32 => b.polynomial(z, &ASIN_F32),
        Elem::F64 => b.polynomial(z, &ASIN_F64),
    };
    let tail = b.fmul(tail, z);
    let tail = b.fmul(tail, s);

    // The head of the root has so few bits that its square is exact.
    let bits = b.bits(root);
    let mask = b.int(if b.elem() == Elem::F32 { !0xFFF } else { !0x7FF_FFFF });
    let bits = b.iand(bits, mask);
    let head = b.with_bits(bits);
    let head_square = b.fmul(head, head);
    let difference = b.fsub(rest, head_square);
    // Not zero even where the root is.
    let tiny = b.float(1e-30);
    let sum = b.fadd(root, tiny);
    let sum = b.fadd(sum, head);
    let lost = b.fdiv(difference, sum);
    Leg {
        root: b.select(is_complement, head, x),
        lost: b.select(is_complement, lost, zero),
        tail,
        is_complement,
    }
}

impl Leg {
    /// The leg itself.
    fn value(&self, b: &mut Builder<'_, '_>) -> Value {
        let small = b.fadd(self.lost, self.tail);
        b.fadd(self.root, small)
    }

    /// `units * pi/4 + factor * leg`, for small integers.
    fn quarters_and_leg(&self, b: &mut Builder<'_, '_>, units: Value, factor: Value) -> Value {
        let (high, low) = quarter_pi(b);
        let (high, low) = (b.float(high), b.float(low));
        let base = b.fmul(units, high);
        let part = b.fmul(factor, self.root);
        let sum = b.fadd(base, part);
        let kept = b.fsub(sum, base);
        let rest = b.fsub(part, kept);
        let small = b.fadd(self.lost, self.tail);
        let rest = b.mul_add(factor, small, rest);
        let rest = b.mul_add(units, low, rest);
        b.fadd(sum, rest)
    }
}

/// `asin(x)`: the leg, or `pi/2` less twice the leg.
pub(super) fn asin(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);
    let leg = leg(b, x);
    let (two, minus_two) = (b.float(2.0), b.float(-2.0));
    let complement = leg.quarters_and_leg(b, two, minus_two);
    let value = leg.value(b);
    let result = b.select(leg.is_complement, complement, value);
    b.flip_sign(result, sign)
}

/// `acos(x)`: twice the leg, `pi/2` less or more the leg, `pi` less twice the leg.
pub(super) fn acos(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let magnitude = b.fabs(x[0]);
    let leg = leg(b, magnitude);
    let zero = b.float(0.0);
    let (minus_one, two, four) = (b.float(-1.0), b.float(2.0), b.float(4.0));
    let negative = b.fcmp(FloatCompare::Olt, x[0], zero);
    let near_one = b.select(negative, four, zero);
    let units = b.select(leg.is_complement, near_one, two);
    let factor = b.select(leg.is_complement, two, minus_one);
    let factor = b.flip_sign(factor, sign);
    leg.quarters_and_leg(b, units, factor)
}

/// `atan(smaller / larger)` and the number of quarters of pi that it was reduced by.
struct Arc {
    quarters: Value,
    value: Value,
}

/// For `0 <= smaller <= larger`.
fn arc(b: &mut Builder<'_, '_>, smaller: Value, larger: Value) -> Arc {
    // A quotient just above the bound becomes -1/4: its error is small beside pi/4.
    let limit = b.float(0.6);
    let limit = b.fmul(larger, limit);
    let reduced = b.fcmp(FloatCompare::Ogt, smaller, limit);
    let difference = b.fsub(smaller, larger);
    let sum = b.fadd(smaller, larger);
    let numerator = b.select(reduced, difference, smaller);
    let denominator = b.select(reduced, sum, larger);
    let t = b.fdiv(numerator, denominator);
    let z = b.fmul(t, t);
    let tail = match b.elem() {
        Elem::F32 => b.polynomial(z, &ATAN_F32),
        Elem::F64 => b.polynomial(z, &ATAN_F64),
    };
    let tail = b.fmul(tail, z);
    let value = b.mul_add(tail, t, t);
    let (zero, one) = (b.float(0.0), b.float(1.0));
    Arc { quarters: b.select(reduced, one, zero), value }
}

impl Arc {
    /// The complement to `total` quarters, where `condition` holds.
    fn complement(self, b: &mut Builder<'_, '_>, condition: Value, total: f64) -> Arc {
        let total = b.float(total);
        let quarters = b.fsub(total, self.quarters);
        let value = b.fneg(self.value);
        Arc {
            quarters: b.select(condition, quarters, self.quarters),
            value: b.select(condition, value, self.value),
        }
    }

    fn angle(&self, b: &mut Builder<'_, '_>) -> Value {
        let (high, low) = quarter_pi(b);
        let (high, low) = (b.float(high), b.float(low));
        let rest = b.mul_add(self.quarters, low, self.value);
        let base = b.fmul(self.quarters, high);
        b.fadd(base, rest)
    }
}

/// `atan(x)`.
pub(super) fn atan(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);
    // Far below this the result rounds to a quarter turn; the square of the quotient is no subnormal.
    let x = b.at_most(x, if b.elem() == Elem::F32 { 2f64.powi(40) } else { 2f64.powi(100) });
    let one = b.float(1.0);
    let above = b.fcmp(FloatCompare::Ogt, x, one);
    let smaller = b.select(above, one, x);
    let larger = b.select(above, x, one);
    let result = arc(b, smaller, larger).complement(b, above, 2.0).angle(b);
    b.flip_sign(result, sign)
}

/// `atan2(y, x)`, with the signs and infinities of C.
pub(super) fn atan2(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let (y, x) = (arguments[0], arguments[1]);
    let sign = b.sign_bit(y);
    let x_sign = b.sign_bit(x);
    let no_sign = b.int(0);
    let left = b.icmp(IntCompare::Ne, x_sign, no_sign);
    let (y_size, x_size) = (b.fabs(y), b.fabs(x));
    let above = b.fcmp(FloatCompare::Ogt, y_size, x_size);
    let smaller = b.select(above, x_size, y_size);
    let larger = b.select(above, y_size, x_size);

    // The quotient of two zeros is zero, that of two infinities one; halves do not overflow when added.
    let (zero, one, infinity) = (b.float(0.0), b.float(1.0), b.float(f64::INFINITY));
    let both_zero = b.fcmp(FloatCompare::Oeq, larger, zero);
    let larger = b.select(both_zero, one, larger);
    let both_infinite = b.fcmp(FloatCompare::Oeq, smaller, infinity);
    let smaller = b.select(both_infinite, one, smaller);
    let larger = b.select(both_infinite, one, larger);
    let huge = b.float(if b.elem() == Elem::F32 { 1e37 } else { 1e307 });
    let is_huge = b.fcmp(FloatCompare::Ogt, larger, huge);
    let quarter = b.float(0.25);
    let factor = b.select(is_huge, quarter, one);
    // Sums and products of subnormals would lose bits: arguments that are both tiny are scaled up first, exactly.
    let (tiny, scale) = if b.elem() == Elem::F32 { (-60, 48) } else { (-500, 400) };
    let tiny = b.float(2f64.powi(tiny));
    let scale = b.float(2f64.powi(scale));
    let is_tiny = b.fcmp(FloatCompare::Olt, larger, tiny);
    let factor = b.select(is_tiny, scale, factor);
    let smaller = b.fmul(smaller, factor);
    let larger = b.fmul(larger, factor);

    let result = arc(b, smaller, larger).complement(b, above, 2.0).complement(b, left, 4.0).angle(b);
    let result = b.flip_sign(result, sign);
    let unordered = b.fcmp(FloatCompare::Uno, x, y);
    let nan = b.fadd(x, y);
    b.select(unordered, nan, result)
}
