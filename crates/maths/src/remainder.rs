//! The remainder of a division that truncates: `fmod`, always exact.
//!
//! As long as the quotient has no more bits than a double, one fused (or split) multiplication gives the remainder.
//! Lanes with a larger quotient, or with numbers so small that a product loses bits, are done one by one in integers.

use super::Elem;
use super::builder::Builder;
use super::rare::Rare;
use llir::{FloatCompare, Value};

/// `fmod(x, y)`: the sign is that of `x`; NaN for an infinite `x` or a zero `y`.
pub(super) fn fmod(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, fmod);
    }
    let sign = b.sign_bit(arguments[0]);
    let (x, y) = (b.fabs(arguments[0]), b.fabs(arguments[1]));
    let (zero, infinity, nan) = (b.float(0.0), b.float(f64::INFINITY), b.float(f64::NAN));

    let quotient = b.fdiv(x, y);
    let q = truncate(b, quotient);
    let (product, lost) = b.two_product(q, y);
    let rest = b.fsub(x, product);
    let rest = b.fsub(rest, lost);
    // The quotient may have been rounded up to the next integer.
    let raised = b.fadd(rest, y);
    let negative = b.fcmp(FloatCompare::Olt, rest, zero);
    let rest = b.select(negative, raised, rest);

    let largest = b.float(4_503_599_627_370_496.0);
    let smallest = b.float(2f64.powi(-900));
    let long = b.fcmp(FloatCompare::Oge, quotient, largest);
    let small = b.fcmp(FloatCompare::Olt, x, smallest);
    let small_divisor = b.fcmp(FloatCompare::Olt, y, smallest);
    let rare = b.ior(long, small);
    let rare = b.ior(rare, small_divisor);
    let reaches = b.fcmp(FloatCompare::Oge, x, y);
    let rare = b.both(rare, reaches);
    let x_finite = b.fcmp(FloatCompare::Olt, x, infinity);
    let y_positive = b.fcmp(FloatCompare::Ogt, y, zero);
    let defined = b.both(x_finite, y_positive);
    let rare = b.both(rare, defined);
    let rest = b.rarely(rare, Rare::Remainder, &[x, y], &[rest])[0];

    let below = b.fcmp(FloatCompare::Olt, x, y);
    let result = b.select(below, x, rest);
    let result = b.select(defined, result, nan);
    b.flip_sign(result, sign)
}

/// The integer part of a quotient below 2^52; larger ones are not used.
pub(super) fn truncate(b: &mut Builder<'_, '_>, quotient: Value) -> Value {
    let (magic, one) = (b.float(4_503_599_627_370_496.0), b.float(1.0));
    let sum = b.fadd(quotient, magic);
    let rounded = b.fsub(sum, magic);
    let less = b.fsub(rounded, one);
    let above = b.fcmp(FloatCompare::Ogt, rounded, quotient);
    b.select(above, less, rounded)
}
