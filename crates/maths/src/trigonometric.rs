//! Sine, cosine, tangent, and those of half turns (`sinpi`, `cospi`): reduction by quarter turns, two short
//! polynomials, a selection by quadrant.

use super::Elem;
use super::builder::Builder;
use super::exponential::round_product;
use super::reduction::{Parts, Reduced, reduce};
use super::short;
use llir::{FloatCompare, IntCompare, Value};

/// `(sin(r) / r - 1) / r^2` as a polynomial in `r^2`.
const SIN_F32: [f64; 3] = [-0.00019518600311130285, 0.008332191035151482, -0.16666655242443085];
const SIN_F64: [f64; 6] = [
    1.5896805097836107e-10,
    -2.5050758630155395e-08,
    2.7557313698155842e-06,
    -0.00019841269829837686,
    0.008333333333322474,
    -0.16666666666666632,
];

/// `(cos(r) - 1 + r^2 / 2) / r^4` as a polynomial in `r^2`.
const COS_F32: [f64; 3] = [2.443065750412643e-05, -0.00138873013202101, 0.04166664555668831];
const COS_F64: [f64; 6] = [
    -1.1359875299635248e-11,
    2.087572830458275e-09,
    -2.7557314395204464e-07,
    2.4801587289656853e-05,
    -0.001388888888887446,
    0.0416666666666666,
];

/// `(tan(r) / r - 1) / r^2` as a polynomial in `r^2`.
const TAN_F32: [f64; 7] = [
    0.004441818222403526,
    -4.61711642856244e-05,
    0.010945536196231842,
    0.02123861201107502,
    0.05406865105032921,
    0.13332583010196686,
    0.3333335220813751,
];

/// Sine and cosine of a reduced angle.
pub(super) struct Kernels {
    pub(super) sin: Value,
    pub(super) cos: Value,
}

/// Both polynomials on the reduced angle.
pub(super) fn kernels(b: &mut Builder<'_, '_>, angle: &Reduced) -> Kernels {
    let r = angle.high;
    let z = b.fmul(r, r);
    let (one, half) = (b.float(1.0), b.float(0.5));
    let low = match (b.elem(), angle.low) {
        (Elem::F64, Some(low)) => low,
        (Elem::F64, None) => return short_kernels(b, r, (&short::SIN, &short::COS), None),
        (Elem::F32, low) => return short_kernels(b, r, (&SIN_F32, &COS_F32), low),
    };

    // sin(r + low) = r + (r^3 * tail + low * (1 - z / 2)); the leading coefficient of the tail is kept apart
    // so that the small terms meet first.
    let cube = b.fmul(z, r);
    let tail = b.polynomial(z, &SIN_F64[..5]);
    let inner = b.fmul(cube, tail);
    let half_low = b.fmul(half, low);
    let inner = b.fsub(half_low, inner);
    let inner = b.fmul(z, inner);
    let inner = b.fsub(inner, low);
    let lead = b.float(SIN_F64[5]);
    let inner = b.neg_mul_add(lead, cube, inner);
    let sin = b.fsub(r, inner);

    let half_square = b.fmul(half, z);
    let rest = b.fsub(one, half_square);
    let lost = b.fsub(one, rest);
    let lost = b.fsub(lost, half_square);
    let tail = b.polynomial(z, &COS_F64);
    let square = b.fmul(z, z);
    let tail = b.fmul(tail, square);
    let tail = b.neg_mul_add(r, low, tail);
    let tail = b.fadd(tail, lost);
    Kernels { sin, cos: b.fadd(rest, tail) }
}

/// Without what rounding takes from the sum that begins with one.
fn short_kernels(
    b: &mut Builder<'_, '_>,
    r: Value,
    (sine, cosine): (&[f64], &[f64]),
    low: Option<Value>,
) -> Kernels {
    let z = b.fmul(r, r);
    let (one, half) = (b.float(1.0), b.float(0.5));
    let sin_tail = b.polynomial(z, sine);
    let cube = b.fmul(z, r);
    let cos_tail = b.polynomial(z, cosine);
    let square = b.fmul(z, z);
    let rest = b.neg_mul_add(half, z, one);
    let Some(low) = low else {
        return Kernels { sin: b.mul_add(sin_tail, cube, r), cos: b.mul_add(cos_tail, square, rest) };
    };
    // sin(r + low) = sin(r) + low * (1 - z / 2), cos(r + low) = cos(r) - low * r.
    let sin_low = b.fmul(low, rest);
    let sin_tail = b.mul_add(sin_tail, cube, sin_low);
    let cos_low = b.fmul(low, r);
    let cos_tail = b.fmul(cos_tail, square);
    let cos_tail = b.fsub(cos_tail, cos_low);
    Kernels { sin: b.fadd(r, sin_tail), cos: b.fadd(rest, cos_tail) }
}

/// Moves bit `bit` of an integer to the sign position, clearing all others.
fn bit_to_sign(b: &mut Builder<'_, '_>, value: Value, bit: i64) -> Value {
    let top = if b.elem() == Elem::F32 { 31 } else { 63 };
    let shifted = b.shl(value, top - bit);
    if bit == 0 {
        return shifted;
    }
    let mask = b.int(if top == 31 { i64::from(i32::MIN) } else { i64::MIN });
    b.iand(shifted, mask)
}

/// Whether the quadrant is odd.
pub(super) fn odd(b: &mut Builder<'_, '_>, quadrant: Value) -> Value {
    let one = b.int(1);
    let low = b.iand(quadrant, one);
    b.icmp(IntCompare::Eq, low, one)
}

/// `sin(x)`.
pub(super) fn sin(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let angle = reduce(b, size, Parts::High);
    let kernels = kernels(b, &angle);
    sin_of(b, &angle, &kernels, x[0])
}

/// Sine and cosine of an `x` that is not negative.
pub(super) fn sin_and_cos(b: &mut Builder<'_, '_>, x: Value) -> (Value, Value) {
    let angle = reduce(b, x, Parts::High);
    let kernels = kernels(b, &angle);
    (sin_of(b, &angle, &kernels, x), cos_of(b, &angle, &kernels))
}

/// The sine of a reduced angle, with the sign of `signed` in front.
fn sin_of(b: &mut Builder<'_, '_>, angle: &Reduced, &Kernels { sin, cos }: &Kernels, signed: Value) -> Value {
    let sign = b.sign_bit(signed);
    let swap = odd(b, angle.quadrant);
    let result = b.select(swap, cos, sin);
    let flip = bit_to_sign(b, angle.quadrant, 1);
    let flip = b.ixor(flip, sign);
    b.flip_sign(result, flip)
}

/// `cos(x)`.
pub(super) fn cos(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let angle = reduce(b, size, Parts::High);
    let kernels = kernels(b, &angle);
    cos_of(b, &angle, &kernels)
}

/// The cosine of a reduced angle.
fn cos_of(b: &mut Builder<'_, '_>, angle: &Reduced, &Kernels { sin, cos }: &Kernels) -> Value {
    let swap = odd(b, angle.quadrant);
    let result = b.select(swap, sin, cos);
    let one = b.int(1);
    let next = b.iadd(angle.quadrant, one);
    let flip = bit_to_sign(b, next, 1);
    b.flip_sign(result, flip)
}

/// `tan(x)`: an odd polynomial (F32) or the quotient of both kernels (F64), turned over and negated in odd quadrants.
pub(super) fn tan(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);
    let angle = reduce(b, x, Parts::Both);
    let swap = odd(b, angle.quadrant);
    let (sin, cos) = match (b.elem(), angle.low) {
        (Elem::F32, Some(low)) => {
            let tangent = tangent_f32(b, angle.high, low);
            (tangent, b.float(1.0))
        }
        _ => {
            let Kernels { sin, cos } = kernels(b, &angle);
            (sin, cos)
        }
    };
    let result = if b.approximates() {
        let inverse = b.inverted(sin);
        b.select(swap, inverse, sin)
    } else {
        let numerator = b.select(swap, cos, sin);
        let denominator = b.select(swap, sin, cos);
        b.fdiv(numerator, denominator)
    };
    let flip = bit_to_sign(b, angle.quadrant, 0);
    let flip = b.ixor(flip, sign);
    b.flip_sign(result, flip)
}

/// `tan(r + low)` on the reduced interval.
fn tangent_f32(b: &mut Builder<'_, '_>, r: Value, low: Value) -> Value {
    let z = b.fmul(r, r);
    let tail = b.polynomial(z, &TAN_F32);
    let cube = b.fmul(z, r);
    let tail = b.fmul(tail, cube);
    let near = b.fadd(r, tail);
    // The slope of the tangent is one more than its square.
    let slope = b.fmul(near, near);
    let low = b.mul_add(low, slope, low);
    let tail = b.fadd(tail, low);
    b.fadd(r, tail)
}

/// `|x|` half turns as a reduced angle; every step but the product with pi is exact.
fn reduce_half_turns(b: &mut Builder<'_, '_>, x: Value) -> Reduced {
    // Adding this rounds to an integer; floats above it have no fraction, and twice as large ones are even.
    let whole = b.float(if b.elem() == Elem::F32 { 8_388_608.0 } else { 4_503_599_627_370_496.0 });
    let (half, two) = (b.float(0.5), b.float(2.0));
    let turns = b.fmul(x, half);
    let sum = b.fadd(turns, whole);
    let rounded = b.fsub(sum, whole);
    let taken = b.fmul(rounded, two);
    let rest = b.fsub(x, taken);
    let nothing = b.fsub(x, x);
    let has_fraction = b.fcmp(FloatCompare::Olt, turns, whole);
    let rest = b.select(has_fraction, rest, nothing);

    let n = round_product(b, rest, 2.0);
    let quadrant = b.bits(n.carrier);
    let rest = b.neg_mul_add(half, n.float, rest);
    // Pi as the nearest float and what that lacks.
    let (pi, pi_rest) = match b.elem() {
        Elem::F32 => {
            let pi = std::f64::consts::PI as f32;
            (f64::from(pi), std::f64::consts::PI - f64::from(pi))
        }
        Elem::F64 => (std::f64::consts::PI, 1.224_646_799_147_353_2e-16),
    };
    let (pi, pi_rest) = (b.float(pi), b.float(pi_rest));
    if b.is_rounded() {
        return Reduced { high: b.fmul(rest, pi), low: None, quadrant };
    }
    let (high, lost) = b.two_product(rest, pi);
    let low = b.mul_add(rest, pi_rest, lost);
    // Next to the smallest floats the lost part is a subnormal: wrong by more than it mends.
    let (tiny, zero) = (b.float(if b.elem() == Elem::F32 { 1e-30 } else { 1e-280 }), b.float(0.0));
    let size = b.fabs(rest);
    let is_tiny = b.fcmp(FloatCompare::Olt, size, tiny);
    let low = b.select(is_tiny, zero, low);
    Reduced { high, low: Some(low), quadrant }
}

/// `sin(pi x)`.
pub(super) fn sinpi(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let angle = reduce_half_turns(b, size);
    let kernels = kernels(b, &angle);
    sin_of(b, &angle, &kernels, x[0])
}

/// `cos(pi x)`.
pub(super) fn cospi(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let size = b.fabs(x[0]);
    let angle = reduce_half_turns(b, size);
    let kernels = kernels(b, &angle);
    cos_of(b, &angle, &kernels)
}
