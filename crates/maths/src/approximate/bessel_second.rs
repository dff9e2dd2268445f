//! `y0`, `y1`: near zero a logarithm times one polynomial plus another one, then a polynomial times what has the zeros,
//! from [`LIMIT`] on the wave of `j0`, `j1`.
//!
//! `Y(x) - 2/π log(x) J(x)` is even but for powers of `x` (Abramowitz and Stegun, "Handbook of Mathematical Functions",
//! 9.1.11), and with `log(x / z)` for the first zero `z` of `Y` both terms have that zero. So next to it errors are
//! small beside the value. The two polynomials are one fit, in which the first one is not quite `J`.

use super::Builder;
use super::bessel::{LIMIT, ORDER_0, ORDER_1, less, square_less};
use super::logarithm::field_and_mantissa;
use llir::{FloatCompare, Value};
use std::f64::consts::{FRAC_2_PI, LN_2};

/// A function of the second kind.
struct Second {
    /// Its first zero.
    zero: f64,
    /// `2/π log(m / zero)` divided by `m - zero`, in that, for `m` from two to four thirds of the zero.
    log: [f64; 9],
    /// What the logarithm is multiplied by, of order 1 divided by `x`, in `x²`.
    factor: [f64; 5],
    /// The rest divided by `x² - zero²`, of order 1 multiplied by `x`, in `x²`.
    rest: [f64; 5],
    /// Where that ends.
    end: f64,
    /// The next zeros up to the limit.
    zeros: &'static [f64],
    /// What the function is divided by the differences of `x` from those zeros, in `x -` [`CENTRE`], from there on.
    series: [f64; 11],
}

const CENTRE: f64 = 5.5;

const Y0: Second = Second {
    zero: 0.893_576_966_279_167_5,
    log: [
        0.245745644,
        -0.241077915,
        0.195880294,
        -0.205269173,
        0.223609984,
        -0.249706388,
        0.297413856,
        -0.398644358,
        0.712439775,
    ],
    factor: [1.03640568e-05, -0.000414308452, 0.0156429652, -0.249998018, 1.0],
    rest: [-2.34520439e-08, -1.32823243e-05, 0.00055261259, -0.0167473592, 0.182144284],
    end: 2.8,
    zeros: &[3.957_678_419_314_858, 7.086_051_060_301_773],
    series: [
        -5.41345635e-10,
        -2.10775375e-09,
        5.30877209e-08,
        3.48758221e-07,
        -5.46164301e-06,
        -2.35259467e-05,
        0.000335551595,
        0.000939153309,
        -0.0115561252,
        -0.0121931778,
        0.138778716,
    ],
};

const Y1: Second = Second {
    zero: 2.197_141_326_031_017,
    log: [
        7.33895649e-05,
        -0.000178787624,
        0.000362337625,
        -0.000930608076,
        0.00248724571,
        -0.00683111604,
        0.020007195,
        -0.0659377128,
        0.289749116,
    ],
    factor: [7.74865839e-07, -4.8321308e-05, 0.00267437333, -0.0624048337, 0.500011325],
    rest: [-6.73112481e-07, 3.71757269e-05, -0.00146585493, 0.0160237346, 0.1318755],
    end: 3.4,
    zeros: &[5.429_681_040_794_135],
    series: [
        4.21200808e-09,
        2.46453382e-08,
        -5.16445425e-07,
        -3.14724616e-06,
        4.49247527e-05,
        0.00016588172,
        -0.00211096439,
        -0.00476176757,
        0.0500065722,
        0.0384391807,
        -0.337863922,
    ],
};

/// The exponent by which arguments near zero are lifted, so that denormal numbers are normal.
const LIFT: i32 = 24;

impl Second {
    /// `2/π log(x / zero)` of a positive number that is lifted.
    fn log(&self, b: &mut Builder<'_, '_>, lifted: Value) -> Value {
        let first = (2.0 / 3.0 * self.zero) as f32;
        let (field, mantissa) = field_and_mantissa(b, (lifted, lifted), i64::from(first.to_bits()));
        let difference = less(b, mantissa, self.zero);
        let slope = b.polynomial(difference, &self.log);
        let part = b.fmul(slope, difference);
        let lift = b.int(i64::from(LIFT) << 23);
        let field = b.isub(field, lift);
        let exponent = b.b.cast(llir::Op::SITOFP, field, llir::Type::F32);
        b.times_plus(exponent, FRAC_2_PI * LN_2 * 2f64.powi(-23), part)
    }

    /// From `end` to the limit.
    fn between(&self, b: &mut Builder<'_, '_>, x: Value) -> Value {
        let centre = b.float(CENTRE);
        let t = b.fsub(x, centre);
        let series = b.polynomial(t, &self.series);
        self.zeros.iter().fold(series, |value, zero| {
            let difference = less(b, x, *zero);
            b.fmul(value, difference)
        })
    }

    /// One of three results by the size of the argument; minus infinity at zero, and NaN below.
    fn choose(&self, b: &mut Builder<'_, '_>, (x, lifted): (Value, Value), near: Value, far: Value) -> Value {
        let between = self.between(b, x);
        let [zero, end, limit] = [0.0, self.end, LIMIT].map(|bound| b.float(bound));
        let is_near = b.fcmp(FloatCompare::Olt, x, end);
        let is_far = b.fcmp(FloatCompare::Oge, x, limit);
        let is_positive = b.fcmp(FloatCompare::Ogt, x, zero);
        let value = b.select(is_near, near, between);
        let value = b.select(is_far, far, value);
        let special = b.log_two(lifted);
        b.select(is_positive, value, special)
    }
}

/// `Y0(x)`, of which the wave is `sin(x - π/4 + …)`.
pub(super) fn y0(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let x = x[0];
    let lifted = b.times(x, 2f64.powi(LIFT));
    let log = Y0.log(b, lifted);
    let square = b.fmul(x, x);
    let rest = b.polynomial(square, &Y0.rest);
    let difference = square_less(b, x, Y0.zero * Y0.zero);
    let rest = b.fmul(rest, difference);
    let factor = b.polynomial(square, &Y0.factor);
    let near = b.mul_add(log, factor, rest);
    let far = ORDER_0.call(b, x, 3, -1.0);
    Y0.choose(b, (x, lifted), near, far)
}

/// `Y1(x)`, of which the wave is `sin(x - 3π/4 + …)`.
pub(super) fn y1(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let x = x[0];
    let lifted = b.times(x, 2f64.powi(LIFT));
    let log = Y1.log(b, lifted);
    let log = b.fmul(log, x);
    let square = b.fmul(x, x);
    let rest = b.polynomial(square, &Y1.rest.map(|coefficient| coefficient * 2f64.powi(LIFT)));
    let difference = square_less(b, x, Y1.zero * Y1.zero);
    let rest = b.fmul(rest, difference);
    let inverse = b.inverted(lifted);
    let rest = b.fmul(rest, inverse);
    let factor = b.polynomial(square, &Y1.factor);
    let near = b.mul_add(log, factor, rest);
    let far = ORDER_1.call(b, x, -3, 1.0);
    Y1.choose(b, (x, lifted), near, far)
}
