//! Functions of differences and neighbours: `fdim`, `nextafter`.

use super::text::{TextBuilder, Value};

/// `x - y` where that is positive, else zero.
pub(super) fn fdim(b: &mut TextBuilder, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    let zero = b.float(0.0);
    let difference = b.fsub(x, y);
    let none = b.fcmp("ole", x, y);
    b.select(none, zero, difference)
}

/// The float after `x` in the direction of `y`.
pub(super) fn nextafter(b: &mut TextBuilder, arguments: &[Value]) -> Value {
    let (x, y) = (arguments[0], arguments[1]);
    let (zero, one, nan) = (b.float(0.0), b.int(1), b.float(f64::NAN));
    let bits = b.to_bits(x);
    let more = b.iadd(bits, one);
    let less = b.isub(bits, one);
    // Away from zero the magnitude grows, and with it the bits.
    let rising = b.fcmp("olt", x, y);
    let positive = b.fcmp("ogt", x, zero);
    let against = b.ixor(rising, positive);
    let stepped = b.select(against, less, more);
    let stepped = b.from_bits(stepped);

    let sign = b.sign_bit(y);
    let smallest = b.ior(sign, one);
    let smallest = b.from_bits(smallest);
    let is_zero = b.fcmp("oeq", x, zero);
    let result = b.select(is_zero, smallest, stepped);
    let equal = b.fcmp("oeq", x, y);
    let result = b.select(equal, y, result);
    let unordered = b.fcmp("uno", x, y);
    b.select(unordered, nan, result)
}
