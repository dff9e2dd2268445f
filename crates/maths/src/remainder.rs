//! The remainder of a division that truncates: `fmod`, always exact.
//!
//! As long as the quotient has no more bits than a float, one fused (or split) multiplication gives the remainder.
//! Lanes with a larger quotient, or, where nothing is fused, with numbers so small that a product loses bits, are done
//! one by one in integers.

use super::Elem;
use super::builder::Builder;
use super::rare::Rare;
use llir::{FloatCompare, Value};

/// `fmod(x, y)`: the sign is that of `x`; NaN for an infinite `x` or a zero `y`.
pub(super) fn fmod(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    // Without fused multiplications a product of singles is exact in doubles alone.
    if b.elem() == Elem::F32 && !b.has_fma() {
        return b.in_doubles(arguments, fmod);
    }
    let sign = b.sign_bit(arguments[0]);
    let (x, y) = (b.fabs(arguments[0]), b.fabs(arguments[1]));
    let (zero, infinity, nan) = (b.float(0.0), b.float(f64::INFINITY), b.float(f64::NAN));

    let quotient = b.fdiv(x, y);
    let q = truncate(b, quotient);
    let (rest, small) = match b.has_fma() {
        // Exact down to the least number: it is a multiple of the last place of `y`, and less than `y`.
        true => {
            let negated = b.fneg(q);
            (b.mul_add(negated, y, x), None)
        }
        false => {
            let (product, lost) = b.two_product(q, y);
            let rest = b.fsub(x, product);
            let smallest = b.float(2f64.powi(-900));
            let small = b.fcmp(FloatCompare::Olt, x, smallest);
            let small_divisor = b.fcmp(FloatCompare::Olt, y, smallest);
            (b.fsub(rest, lost), Some(b.ior(small, small_divisor)))
        }
    };
    // The quotient may have been rounded up to the next integer.
    let raised = b.fadd(rest, y);
    let negative = b.fcmp(FloatCompare::Olt, rest, zero);
    let rest = b.select(negative, raised, rest);

    let largest = b.float(largest(b));
    let long = b.fcmp(FloatCompare::Oge, quotient, largest);
    let rare = small.map_or(long, |small| b.ior(long, small));
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

/// The number from which on floats are whole: 2^23 or 2^52.
fn largest(b: &Builder<'_, '_>) -> f64 {
    if b.elem() == Elem::F32 { 8_388_608.0 } else { 4_503_599_627_370_496.0 }
}

/// The integer part of a quotient below 2^23 in singles and 2^52 in doubles; larger ones are not used.
pub(super) fn truncate(b: &mut Builder<'_, '_>, quotient: Value) -> Value {
    let (magic, one) = (b.float(largest(b)), b.float(1.0));
    let sum = b.fadd(quotient, magic);
    let rounded = b.fsub(sum, magic);
    let less = b.fsub(rounded, one);
    let above = b.fcmp(FloatCompare::Ogt, rounded, quotient);
    b.select(above, less, rounded)
}
