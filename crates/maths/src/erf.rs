//! The error function and its complement: an odd polynomial for small arguments, `1 - exp(-q(x))` with a polynomial `q`
//! beyond; the complement as `exp(-x^2)` times a slowly varying function.

use super::Elem;
use super::builder::Builder;
use super::exponential::exp_of;
use super::short;
use llir::{FloatCompare, Value};

/// `erf(x) / x - 1` as a polynomial in `x^2`, for |x| <= 0.93 (F32) and |x| <= 1 (F64).
const SMALL_F32: [f64; 6] = [
    -0.000598025624640286,
    0.004991769324988127,
    -0.026766235008835793,
    0.11281827092170715,
    -0.3761249780654907,
    0.12837915122509003,
];
const SMALL_F64: [f64; 13] = [
    1.6384521260417898e-10,
    -1.7631886756280309e-09,
    1.6303529811851117e-08,
    -1.659830615353632e-07,
    1.6484728157017161e-06,
    -1.4927094790842403e-05,
    0.00012055394330054008,
    -0.0008548328735323306,
    0.00522397765568601,
    -0.026866170648281153,
    0.11283791670972065,
    -0.3761263890318411,
    0.1283791670955126,
];

/// `-log(erfc(x)) / x - 1` up to 4 (F32) and 6 (F64).
const LARGE_F32: [f64; 7] = [
    1.1228217772440985e-05,
    -0.0003227756533306092,
    0.003642353229224682,
    -0.02376185543835163,
    0.10623665153980255,
    0.6351514458656311,
    0.12864845991134644,
];
const LARGE_F64: [f64; 18] = [
    -1.5462029142814286e-12,
    6.853813518111454e-11,
    -1.4225866734312544e-09,
    1.8360379179191615e-08,
    -1.648276253905543e-07,
    1.0884973158943435e-06,
    -5.430420543896853e-06,
    2.050374754729435e-05,
    -5.644141032905851e-05,
    9.632628275105458e-05,
    -2.354749054368972e-06,
    -0.0005728809966710107,
    0.0016908343552201244,
    -0.00021069477527979475,
    -0.019125707928401202,
    0.10277111126148851,
    0.6366201857081655,
    0.1283791181838802,
];

/// `exp(x^2) erfc(x) (1 + 2 x)` as a polynomial in `(x - 4) / (x + 4)`, for `0 <= x <= 28`.
const COMPLEMENT: [f64; 23] = [
    1.4972182244270426e-11,
    -8.458440554308557e-09,
    -8.418708280110163e-09,
    1.0134064703317549e-07,
    5.595412589280574e-08,
    -8.19474629421823e-07,
    3.132514590113803e-07,
    5.708460216955466e-06,
    -1.1234156278138198e-05,
    -2.4399924942700893e-05,
    0.0001506264418515815,
    -0.00019925612807273878,
    -0.0007577744805339633,
    0.005031969809623043,
    -0.01619773387236069,
    0.03716751556310023,
    -0.0663303658291018,
    0.0937328349963757,
    -0.10103906603551019,
    0.06809705425475873,
    0.015379652102605031,
    -0.13962111684056314,
    1.2329951186255526,
];

/// From these on the complement rounds to zero, as a single and as a double.
const VANISHES: (f64, f64) = (10.054_194_928_818_096, 27.226_017_111_108_366);

/// `erfc(x)`; singles go through doubles.
pub(super) fn erfc(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    match b.elem() {
        Elem::F32 => b.in_short_doubles(arguments, |b, x| complement(b, x, VANISHES.0)),
        Elem::F64 => complement(b, arguments, VANISHES.1),
    }
}

/// `erfc(x)` of doubles, zero from an argument on.
fn complement(b: &mut Builder<'_, '_>, arguments: &[Value], vanishes: f64) -> Value {
    let x = b.fabs(arguments[0]);
    let bounded = b.at_most(x, 28.0);
    let (one, two, four) = (b.float(1.0), b.float(2.0), b.float(4.0));
    let numerator = b.fsub(bounded, four);
    let denominator = b.fadd(bounded, four);
    let t = b.quotient(numerator, denominator);
    let slow = b.polynomial(t, b.fitting(&COMPLEMENT, &short::ERFC));
    let weight = b.mul_add(two, bounded, one);
    let slow = b.quotient(slow, weight);

    let (square, lost) = b.two_product(bounded, bounded);
    let square = b.fneg(square);
    let (limit, nothing) = (b.float(vanishes), b.float(-1000.0));
    let is_zero = b.fcmp(FloatCompare::Oge, bounded, limit);
    let square = b.select(is_zero, nothing, square);
    let power = exp_of(b, square);
    let slow = b.neg_mul_add(lost, slow, slow);
    let result = b.fmul(power, slow);
    let reflected = b.fsub(two, result);
    let zero = b.float(0.0);
    let negative = b.fcmp(FloatCompare::Olt, arguments[0], zero);
    let result = b.select(negative, reflected, result);

    let square = b.fmul(x, x);
    let slope = b.polynomial(square, &SMALL_F64);
    let small = b.mul_add(slope, arguments[0], arguments[0]);
    let small = b.fsub(one, small);
    let half = b.float(0.5);
    let is_small = b.fcmp(FloatCompare::Olt, x, half);
    b.select(is_small, small, result)
}

/// `erf(x)`.
pub(super) fn erf(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let single = b.elem() == Elem::F32;
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);

    let square = b.fmul(x, x);
    let slope = if single { b.polynomial(square, &SMALL_F32) } else { b.polynomial(square, &SMALL_F64) };
    let small = b.mul_add(slope, x, x);

    // Above the bound the result rounds to one, so the polynomial need not hold there.
    let bounded = b.at_most(x, if single { 4.0 } else { 6.0 });
    let slope = if single { b.polynomial(bounded, &LARGE_F32) } else { b.polynomial(bounded, &LARGE_F64) };
    let exponent = b.mul_add(slope, bounded, bounded);
    let rest = decay(b, exponent);
    let one = b.float(1.0);
    let large = b.fsub(one, rest);

    let limit = b.float(if single { 0.93 } else { 1.0 });
    let is_small = b.fcmp(FloatCompare::Olt, x, limit);
    let result = b.select(is_small, small, large);
    b.flip_sign(result, sign)
}

/// `e^-x` where it is subtracted from one, for an `x` from 1 on: what an instruction for `2^x` loses does not show.
fn decay(b: &mut Builder<'_, '_>, x: Value) -> Value {
    if b.elem() == Elem::F32 {
        let factor = b.float(-std::f64::consts::LOG2_E);
        let power = b.fmul(x, factor);
        if let Some(result) = b.machine.exp2(b.b, power) {
            return result;
        }
    }
    let x = b.fneg(x);
    exp_of(b, x)
}

/// What `1/√2` loses as a double.
const ROOT_REST: f64 = -4.833_646_656_726_457e-17;

/// The normal distribution, half of `erfc(-x/√2)`.
pub(super) fn normcdf(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, |b, x| {
            let scale = b.float(-std::f64::consts::FRAC_1_SQRT_2);
            let scaled = b.fmul(x[0], scale);
            let tail = erfc(b, &[scaled]);
            let half = b.float(0.5);
            b.fmul(tail, half)
        });
    }
    // What the quotient loses by rounding counts `2 y` times in the tail: for positive `y`, `erfc(y + e)` is `erfc(y)`
    // less `(2 y + 1 / y) e` of it, and `e / y` is a unit in the last place. For negative `y` it does not show.
    let x = b.at_most(arguments[0], 40.0);
    let x = b.at_least(x, -40.0);
    let (scale, rest) = (b.float(-std::f64::consts::FRAC_1_SQRT_2), b.float(-ROOT_REST));
    let (scaled, lost) = b.two_product(x, scale);
    let lost = b.mul_add(x, rest, lost);
    let tail = erfc(b, &[scaled]);
    let (half, two) = (b.float(0.5), b.float(2.0));
    let above = b.at_least(scaled, 0.0);
    let slope = b.fmul(above, two);
    let share = b.fmul(slope, lost);
    let tail = b.neg_mul_add(share, tail, tail);
    b.fmul(tail, half)
}

/// `e^(x²) erfc(x)` for large x, in `1 / (2 x²)`.
const FAR: [f64; 9] = [2_027_025.0, -135_135.0, 10_395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0];

/// `e^(x²) erfc(x)`: `erfc` without what makes it small.
pub(super) fn erfcx(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, erfcx);
    }
    let x = b.fabs(arguments[0]);
    let (zero, half, one, two, four) = (b.float(0.0), b.float(0.5), b.float(1.0), b.float(2.0), b.float(4.0));
    let bounded = b.at_most(x, 28.0);
    let numerator = b.fsub(bounded, four);
    let denominator = b.fadd(bounded, four);
    let t = b.quotient(numerator, denominator);
    let near = b.polynomial(t, b.fitting(&COMPLEMENT, &short::ERFC));
    let weight = b.mul_add(two, bounded, one);
    let near = b.quotient(near, weight);

    let inverse = b.fdiv(one, x);
    let square = b.fmul(inverse, inverse);
    let square = b.fmul(square, half);
    let far = b.polynomial(square, &FAR);
    let root = b.float(0.564_189_583_547_756_3);
    let scaled = b.fmul(inverse, root);
    let far = b.fmul(far, scaled);
    let limit = b.float(28.0);
    let is_far = b.fcmp(FloatCompare::Ogt, x, limit);
    let positive = b.select(is_far, far, near);

    // Below zero: 2 e^(x²) - erfcx(-x).
    let outer = b.at_most(x, 40.0);
    let (square, lost) = b.two_product(outer, outer);
    let power = exp_of(b, square);
    let finite = b.float(700.0);
    let correct = b.fcmp(FloatCompare::Olt, square, finite);
    let corrected = b.mul_add(power, lost, power);
    let power = b.select(correct, corrected, power);
    let power = b.fadd(power, power);
    let reflected = b.fsub(power, positive);
    let negative = b.fcmp(FloatCompare::Olt, arguments[0], zero);
    b.select(negative, reflected, positive)
}
