//! The error function: an odd polynomial for small arguments, `1 - exp(-q(x))` with a polynomial `q` beyond.

use super::Elem;
use super::exponential::exp_of;
use super::text::{TextBuilder, Value};

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

/// `erf(x)`.
pub(super) fn erf(b: &mut TextBuilder, x: &[Value]) -> Value {
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
    let exponent = b.fneg(exponent);
    let rest = exp_of(b, exponent);
    let one = b.float(1.0);
    let large = b.fsub(one, rest);

    let limit = b.float(if single { 0.93 } else { 1.0 });
    let is_small = b.fcmp("olt", x, limit);
    let result = b.select(is_small, small, large);
    b.flip_sign(result, sign)
}
