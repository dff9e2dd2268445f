//! Functions of differences and neighbours: `fdim`, `nextafter`.

use super::builder::Builder;
use llir::{FloatCompare, Value};

/// `x - y` where that is positive, else zero.
pub(super) fn fdim(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    let zero = b.float(0.0);
    let difference = b.fsub(x, y);
    let none = b.fcmp(FloatCompare::Ole, x, y);
    b.select(none, zero, difference)
}

/// The float after `x` in the direction of `y`.
pub(super) fn nextafter(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    let (zero, one, nan) = (b.float(0.0), b.int(1), b.float(f64::NAN));
    let bits = b.bits(x);
    let more = b.iadd(bits, one);
    let less = b.isub(bits, one);
    // Away from zero the magnitude grows, and with it the bits.
    let rising = b.fcmp(FloatCompare::Olt, x, y);
    let positive = b.fcmp(FloatCompare::Ogt, x, zero);
    let against = b.ixor(rising, positive);
    let stepped = b.select(against, less, more);
    let stepped = b.with_bits(stepped);

    let sign = b.sign_bit(y);
    let smallest = b.ior(sign, one);
    let smallest = b.with_bits(smallest);
    let is_zero = b.fcmp(FloatCompare::Oeq, x, zero);
    let result = b.select(is_zero, smallest, stepped);
    let equal = b.fcmp(FloatCompare::Oeq, x, y);
    let result = b.select(equal, y, result);
    let unordered = b.fcmp(FloatCompare::Uno, x, y);
    b.select(unordered, nan, result)
}
