//! The gamma function and its logarithm, in doubles.

use super::Elem;
use super::builder::Builder;
use super::exponential::exp_of;
use super::logarithm::log;
use super::power::pow;
use super::remainder::truncate;
use super::short;
use super::trigonometric::sinpi;
use llir::{FloatCompare, Value};
use std::f64::consts::PI;

/// The gamma function on [1, 2], in `2 x - 3`.
const GAMMA_1_2: [f64; 22] = [
    -1.2065795806905696e-10,
    3.619717777203195e-10,
    -4.222860834512988e-10,
    1.2668173984174721e-09,
    -5.376342561695971e-09,
    1.612798073885946e-08,
    -4.626341522760591e-08,
    1.3876428601225825e-07,
    -4.179235032058876e-07,
    1.253145449369262e-06,
    -3.7549508241290755e-06,
    1.125235085741242e-05,
    -3.363759182230581e-05,
    0.00010092817306671023,
    -0.000296890120563888,
    0.0009157859942678981,
    -0.0024225953844321537,
    0.009040334940473975,
    -0.01341185057059498,
    0.10370336342207065,
    0.0161691987244425,
    0.886226925452758,
];

/// `lgamma(x) / ((x - 1) (x - 2))` on [1, 3], in `x - 2`.
const LGAMMA_1_3: [f64; 30] = [
    -2.0542420991550905e-10,
    4.226016675377439e-10,
    6.705737026247826e-10,
    -1.3764318718154119e-09,
    -2.372580625023415e-09,
    4.885761922683655e-09,
    3.613371593815743e-10,
    -6.830399052794191e-10,
    -1.2569945435720683e-08,
    2.615457216445561e-08,
    -4.17254430301382e-08,
    8.75360413423732e-08,
    -1.9252286332850674e-07,
    4.0551922127948146e-07,
    -8.526588188526563e-07,
    1.8074775340912791e-06,
    -3.847396648270243e-06,
    8.222342452139818e-06,
    -1.766166422556033e-05,
    3.8168863787885225e-05,
    -8.30951276372239e-05,
    0.00018255264185594036,
    -0.00040570739742046497,
    0.0009153769220696921,
    -0.002108130833958805,
    0.004998641164703528,
    -0.012384192193371238,
    0.03296500062115574,
    -0.10031730167435392,
    0.42278433509846713,
];

/// `lgamma(x)` on [3, 8], in `(2 x - 11) / 5`.
const LGAMMA_3_8: [f64; 28] = [
    -9.14465840538449e-11,
    2.0840990090871906e-10,
    1.6445707147735811e-10,
    -3.714733276245845e-10,
    -1.1609245560426724e-09,
    2.661085803313034e-09,
    -2.432184315629064e-09,
    5.687686155377869e-09,
    -1.77843041368756e-08,
    4.1602926291384596e-08,
    -9.411916440218641e-08,
    2.227072964177791e-07,
    -5.324817597664155e-07,
    1.2773769919324466e-06,
    -3.0907974099281744e-06,
    7.560904219671864e-06,
    -1.8736543373815423e-05,
    4.7173869469981267e-05,
    -0.000121161341648992,
    0.0003192344487903463,
    -0.000869874016895882,
    0.0024817507392450315,
    -0.007563969760263885,
    0.025538074016728755,
    -0.10314830083672412,
    0.6229449593425865,
    4.027732871454377,
    3.9578139676187165,
];

/// Stirling's series for the logarithm, in `1 / x²`.
const STIRLING_OF_LOG: [f64; 10] = [
    -1.3924322169059011,
    0.17964437236883057,
    -0.029550653594771242,
    0.00641025641025641,
    -0.0019175269175269176,
    0.0008417508417508417,
    -0.0005952380952380953,
    0.0007936507936507937,
    -0.002777777777777778,
    0.08333333333333333,
];

/// Stirling's series for the function itself, in `1 / x`.
const STIRLING: [f64; 14] = [
    0.00640336283380807,
    -0.00016251626278391583,
    -0.0019144384985654776,
    7.204895416020011e-05,
    0.0008394987206720873,
    -5.171790908260592e-05,
    -0.0005921664373536939,
    6.972813758365857e-05,
    0.0007840392217200666,
    -0.00022947209362139917,
    -0.0026813271604938273,
    0.003472222222222222,
    0.08333333333333333,
    1.0,
];

/// From here on the function is made by Stirling's series, as a double and as a single.
const LARGE: (f64, f64) = (12.0, 4.0);
/// From here on it is infinite.
const OVERFLOWS: f64 = 172.0;

/// The gamma function; NaN for negative whole numbers, an infinity of its sign for zero.
pub(super) fn tgamma(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, tgamma);
    }
    let x = arguments[0];
    let size = b.fabs(x);
    let size = b.at_most(size, OVERFLOWS);
    let small = small_gamma(b, size);
    let large = large_gamma(b, size);
    let limit = b.float(large_from(b));
    let is_small = b.fcmp(FloatCompare::Olt, size, limit);
    let positive = b.select(is_small, small, large);
    // Beside the pole at zero the function is 1/x, where the product below underflows.
    let (one, tiny) = (b.float(1.0), b.float(2f64.powi(-60)));
    let is_pole = b.fcmp(FloatCompare::Olt, size, tiny);
    let zero = b.float(0.0);
    let negative = b.fcmp(FloatCompare::Olt, x, zero);
    let result = b.only_where(negative, |b| reflected_gamma(b, x, (size, positive)), positive);
    b.only_where(is_pole, |b| b.fdiv(one, x), result)
}

/// `Γ(-x) = -π / (x sin πx Γ(x))`.
fn reflected_gamma(b: &mut Builder<'_, '_>, x: Value, (size, positive): (Value, Value)) -> Value {
    let (zero, nan, minus_pi) = (b.float(0.0), b.float(f64::NAN), b.float(-PI));
    // The size is bounded, by a whole number.
    let own_size = b.fabs(x);
    let sine = sinpi(b, &[own_size]);
    let product = b.fmul(size, sine);
    let product = b.fmul(product, positive);
    let reflected = b.fdiv(minus_pi, product);
    let whole = b.fcmp(FloatCompare::Oeq, sine, zero);
    let reflected = b.select(whole, nan, reflected);
    // Far below zero the function vanishes between its poles, which all large numbers are.
    let far = b.float(-184.0);
    let vanishes = b.fcmp(FloatCompare::Olt, x, far);
    let own = truncate_any(b, x);
    let is_whole = b.fcmp(FloatCompare::Oeq, own, x);
    let nothing = b.select(is_whole, nan, zero);
    b.select(vanishes, nothing, reflected)
}

/// The integer part of any number; numbers of 2^52 and more are whole.
fn truncate_any(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let size = b.fabs(x);
    let limit = b.float(4_503_599_627_370_496.0);
    let part = truncate(b, size);
    let large = b.fcmp(FloatCompare::Oge, size, limit);
    let part = b.select(large, size, part);
    let sign = b.sign_bit(x);
    b.flip_sign(part, sign)
}

/// Where Stirling's series begins.
fn large_from(b: &Builder<'_, '_>) -> f64 {
    if b.is_rounded() { LARGE.1 } else { LARGE.0 }
}

/// Below it: the function between one and two, times what leads there.
fn small_gamma(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let x = b.at_most(x, large_from(b));
    let (one, two, three) = (b.float(1.0), b.float(2.0), b.float(3.0));
    let whole = truncate(b, x);
    let fraction = b.fsub(x, whole);
    let u = b.fadd(fraction, one);
    let t = b.fmul(u, two);
    let t = b.fsub(t, three);
    let mut result = b.polynomial(t, b.fitting(&GAMMA_1_2, &short::GAMMA_1_2));
    for k in 1..large_from(b) as u32 {
        let less = b.float(f64::from(k));
        let factor = b.fsub(x, less);
        let counts = b.fcmp(FloatCompare::Oge, factor, one);
        let factor = b.select(counts, factor, one);
        result = b.fmul(result, factor);
    }
    let divided = b.quotient(result, x);
    let below = b.fcmp(FloatCompare::Olt, x, one);
    b.select(below, divided, result)
}

/// From there on: `√2π x^(x - 1/2) e^-x S(1/x)`.
fn large_gamma(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let x = b.at_least(x, large_from(b));
    let inverse = b.inverse(x);
    let series = b.polynomial(inverse, b.fitting(&STIRLING, &short::STIRLING));
    if b.is_rounded() { large_gamma_of_single(b, x, series) } else { large_gamma_of_double(b, x, series) }
}

/// Doubles lose few bits of the exponent of a result that a single holds.
fn large_gamma_of_single(b: &mut Builder<'_, '_>, x: Value, series: Value) -> Value {
    let half = b.float(0.5);
    let logarithm = b.for_exponents(|b| log(b, &[x]));
    let shifted = b.fsub(x, half);
    let exponent = b.fmul(shifted, logarithm);
    let exponent = b.fsub(exponent, x);
    let power = exp_of(b, exponent);
    let root = b.float(2.506_628_274_631_000_7);
    let result = b.fmul(power, root);
    b.fmul(result, series)
}

/// The power is made in two steps, which do not overflow.
fn large_gamma_of_double(b: &mut Builder<'_, '_>, x: Value, series: Value) -> Value {
    let (half, quarter) = (b.float(0.5), b.float(0.25));
    let exponent = b.fmul(x, half);
    let exponent = b.fsub(exponent, quarter);
    let power = pow(b, &[x, exponent]);
    let minus = b.fneg(x);
    let decay = exp_of(b, minus);
    let root = b.float(2.506_628_274_631_000_7);
    let result = b.fmul(power, decay);
    let result = b.fmul(result, root);
    let result = b.fmul(result, series);
    b.fmul(result, power)
}

/// The logarithm of the magnitude of the gamma function; infinite for zero and negative whole numbers.
pub(super) fn lgamma(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, lgamma);
    }
    let x = arguments[0];
    let size = b.fabs(x);
    let positive = positive_lgamma(b, size);
    // Beside zero both sides are alike.
    let limit = b.float(-(2f64.powi(-60)));
    let negative = b.fcmp(FloatCompare::Olt, x, limit);
    let result = b.only_where(negative, |b| reflected_lgamma(b, size, positive), positive);
    let infinity = b.float(f64::INFINITY);
    let endless = b.fcmp(FloatCompare::Oeq, size, infinity);
    b.select(endless, infinity, result)
}

/// `log |Γ(-x)| = log (π / |x sin πx|) - log Γ(x)`.
fn reflected_lgamma(b: &mut Builder<'_, '_>, size: Value, positive: Value) -> Value {
    let (zero, infinity, pi) = (b.float(0.0), b.float(f64::INFINITY), b.float(PI));
    let sine = sinpi(b, &[size]);
    let sine = b.fabs(sine);
    let product = b.fmul(size, sine);
    let reflected = if b.is_rounded() {
        let less = log(b, &[product]);
        let whole = b.float(PI.ln());
        b.fsub(whole, less)
    } else {
        let quotient = b.fdiv(pi, product);
        log(b, &[quotient])
    };
    let reflected = b.fsub(reflected, positive);
    let whole = b.fcmp(FloatCompare::Oeq, sine, zero);
    b.select(whole, infinity, reflected)
}

fn positive_lgamma(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let (one, two, three, eight) = (b.float(1.0), b.float(2.0), b.float(3.0), b.float(8.0));
    // Below one by the number that is one larger.
    let below = b.fcmp(FloatCompare::Olt, x, one);
    let next = b.fadd(x, one);
    let near = b.select(below, next, x);
    let near = b.at_most(near, 3.0);
    let t = b.fsub(near, two);
    // Of what was moved the rounded sum is not asked again: near one everything cancels.
    let exact = b.fsub(x, one);
    let t = b.select(below, exact, t);
    let slope = b.polynomial(t, b.fitting(&LGAMMA_1_3, &short::LGAMMA_1_3));
    // One less is exact for what was not moved.
    let first = b.fsub(near, one);
    let first = b.select(below, x, first);
    let result = b.fmul(slope, first);
    let result = b.fmul(result, t);
    let own = log(b, &[x]);
    let moved = b.fsub(result, own);
    let result = b.select(below, moved, result);

    let middle = b.at_most(x, 8.0);
    let (eleven, fifth) = (b.float(11.0), b.float(0.2));
    let t = b.fadd(middle, middle);
    let t = b.fsub(t, eleven);
    let t = b.fmul(t, fifth);
    let middle = b.polynomial(t, b.fitting(&LGAMMA_3_8, &short::LGAMMA_3_8));
    let is_middle = b.fcmp(FloatCompare::Oge, x, three);
    let result = b.select(is_middle, middle, result);

    let large = b.at_least(x, 8.0);
    let inverse = b.inverse(large);
    let square = b.fmul(inverse, inverse);
    let series = b.polynomial(square, b.fitting(&STIRLING_OF_LOG, &short::STIRLING_OF_LOG));
    let (half, rest) = (b.float(0.5), b.float(0.918_938_533_204_672_8));
    let series = b.mul_add(series, inverse, rest);
    let less = b.fsub(own, one);
    let shifted = b.fsub(large, half);
    // (x - 1/2) log x - x = (x - 1/2) (log x - 1) - 1/2.
    let series = b.fsub(series, half);
    let large = b.mul_add(shifted, less, series);
    let is_large = b.fcmp(FloatCompare::Oge, x, eight);
    b.select(is_large, large, result)
}
