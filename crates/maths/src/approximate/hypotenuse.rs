//! `hypot`: the legs are brought next to one by a power of two, so that no square is denormal or infinite.

use super::Builder;
use llir::{FloatCompare, Value, intrinsics};

/// Both legs as they are scaled.
struct Legs {
    larger: Value,
    smaller: Value,
    /// Two to a power, and the power of two that the legs were multiplied by.
    scales: [Value; 2],
    /// Whether a leg is infinite; the other one may be NaN.
    endless: Value,
}

impl Legs {
    fn of(b: &mut Builder<'_, '_>, x: &[Value]) -> Legs {
        let [x, y] = [x[0], x[1]].map(|leg| b.fabs(leg));
        let larger = b.intrinsic(&intrinsics::MAXNUM, &[x, y]);
        let smaller = b.intrinsic(&intrinsics::MINIMUM, &[x, y]);
        let infinity = b.float(f64::INFINITY);
        let endless = b.fcmp(FloatCompare::Oeq, larger, infinity);
        let bounded = b.above(larger, 2f64.powi(-100));
        let bounded = b.below(bounded, 2f64.powi(126));
        let bits = b.bits(bounded);
        let (exponent, twice_the_bias) = (b.int(0x7f80_0000), b.int(0x7f00_0000));
        let bits = b.iand(bits, exponent);
        let inverse = b.isub(twice_the_bias, bits);
        let [power, inverse] = [bits, inverse].map(|bits| b.with_bits(bits));
        let [larger, smaller] = [larger, smaller].map(|leg| b.fmul(leg, inverse));
        Legs { larger, smaller, scales: [power, inverse], endless }
    }

    /// One over the root of the sum of squares, that sum, and the smaller square. Of zeros the first is large.
    fn inverse_root(&self, b: &mut Builder<'_, '_>) -> (Value, Value, Value) {
        let square = b.fmul(self.smaller, self.smaller);
        let sum = b.mul_add(self.larger, self.larger, square);
        let least = b.float(1e-37);
        let guarded = b.fadd(sum, least);
        (b.inverse_root(guarded), sum, square)
    }
}

/// `√(x² + y²)`: the root, corrected by what is left of the squares.
pub(super) fn hypot(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let legs = Legs::of(b, x);
    let (inverse, sum, square) = legs.inverse_root(b);
    let root = b.fmul(sum, inverse);
    let negative = b.fneg(square);
    let lost = b.mul_add(legs.smaller, legs.smaller, negative);
    let (less, more) = (b.fsub(legs.larger, root), b.fadd(legs.larger, root));
    let lacks = b.mul_add(less, more, square);
    let lacks = b.fadd(lacks, lost);
    let half = b.times(inverse, 0.5);
    let root = b.mul_add(lacks, half, root);
    let result = b.fmul(root, legs.scales[0]);
    let infinity = b.float(f64::INFINITY);
    b.select(legs.endless, infinity, result)
}
