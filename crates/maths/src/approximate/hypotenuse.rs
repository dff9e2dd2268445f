//! `hypot`, `rhypot`: the legs are brought next to one by a power of two, so that no square is denormal or infinite.

use super::Builder;
use llir::{FloatCompare, Value, intrinsics};

/// Both legs as they are scaled. Without signs, numbers are ordered as their bits are, and a NaN is the larger one.
struct Legs {
    /// The sum of their squares.
    squares: Value,
    /// The power of two that the legs were multiplied by, and the bits of one over it.
    scale: Value,
    unscale: Value,
    /// Whether both are infinite, or one of them is and the other one is NaN. A single infinity stays one.
    endless: Value,
}

impl Legs {
    fn of(b: &mut Builder<'_, '_>, x: &[Value]) -> Legs {
        let [x, y] = [x[0], x[1]].map(|leg| {
            let size = b.fabs(leg);
            b.bits(size)
        });
        let larger = b.intrinsic(&intrinsics::SMAX, &[x, y]);
        let smaller = b.intrinsic(&intrinsics::SMIN, &[x, y]);
        // Of the exponent all but the last two bits: whatever they are, the other power of two is a normal number.
        let (mask, sum, next) = (b.int(0x7e00_0000), b.int(0x7e80_0000), b.int(0x0080_0000));
        let exponent = b.iand(larger, mask);
        let scale = b.ixor(exponent, sum);
        let unscale = b.ior(exponent, next);
        let [larger, smaller, scale] = [larger, smaller, scale].map(|bits| b.with_bits(bits));
        let infinity = b.float(f64::INFINITY);
        let endless = b.fcmp(FloatCompare::Oeq, smaller, infinity);
        let [larger, smaller] = [larger, smaller].map(|leg| b.fmul(leg, scale));
        let square = b.fmul(smaller, smaller);
        let squares = b.mul_add(larger, larger, square);
        Legs { squares, scale, unscale, endless }
    }
}

/// `√(x² + y²)`.
pub(super) fn hypot(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let legs = Legs::of(b, x);
    let root = b.rooted(legs.squares);
    let unscale = b.with_bits(legs.unscale);
    let result = b.fmul(root, unscale);
    let infinity = b.float(f64::INFINITY);
    b.select(legs.endless, infinity, result)
}

/// `1 / √(x² + y²)`.
pub(super) fn rhypot(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let legs = Legs::of(b, x);
    let root = b.inverse_root(legs.squares);
    let result = b.fmul(root, legs.scale);
    let zero = b.float(0.0);
    b.select(legs.endless, zero, result)
}
