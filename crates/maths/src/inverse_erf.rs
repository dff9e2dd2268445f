//! The inverse of the error function and of its complement, in doubles.
//!
//! Both are smooth in `w = -log(1 - x²)`: up to 6.25 in `w` itself, from there in its root.

use super::Elem;
use super::builder::Builder;
use super::logarithm::log;
use super::short;
use llir::{FloatCompare, Value};
use std::f64::consts::SQRT_2;

/// `erfinv(x) / x` for `w` up to 6.25, in `w/3.125 - 1`.
const CENTRAL: [f64; 24] = [
    7.801712199036253e-10,
    -8.577966939639941e-11,
    -8.627191009014394e-09,
    9.07207594789291e-09,
    3.931511157646558e-08,
    -1.0514990713371436e-07,
    -1.0412692841159635e-08,
    5.456420572209782e-07,
    -1.0591188098187532e-06,
    -6.87655180725494e-07,
    7.12993974314695e-06,
    -1.1255653983969421e-05,
    -1.5027665773117194e-05,
    9.336692787624058e-05,
    -0.0001168888508125076,
    -0.00026439358646646055,
    0.0012324855702994214,
    -0.0012716922769885114,
    -0.004137314377547895,
    0.0178083618187569,
    -0.022604447453444733,
    -0.0589225671037876,
    0.7504943200799635,
    1.6536545626831027,
];

/// The same for a root of `w` from 2.5 to 6, in `(√w - 2.5)/1.75 - 1`.
const MIDDLE: [f64; 32] = [
    5.4201734589813176e-09,
    -9.729111157392057e-09,
    -3.0341551068079255e-08,
    6.651684013480957e-08,
    4.6830045699871396e-08,
    -1.2871035920619521e-07,
    -1.0034576138692878e-07,
    1.3605788060064067e-07,
    5.901887018832567e-07,
    -1.3002745466715443e-06,
    5.070443570343322e-07,
    2.754469696508023e-06,
    -7.985819412728309e-06,
    1.0814614425551221e-05,
    -2.390080537832247e-06,
    -2.3686100910104525e-05,
    5.932745872256867e-05,
    -7.616461614118232e-05,
    3.700630172502214e-05,
    7.696523101883722e-05,
    -0.00024291626353776792,
    0.00040143760817072416,
    -0.0004943099323234978,
    0.00051082981428331,
    -0.0005125864696021133,
    0.0006313330357037396,
    -0.0010573269019685469,
    0.001989985502168039,
    -0.003257932053501764,
    0.0021827967912699774,
    1.7674619850321975,
    4.09222342366813,
];

/// `erfcinv / √w` for a root from 6 to 28, in its inverse, which is brought to [-1, 1].
const FAR: [f64; 24] = [
    4.291106646638742e-10,
    -7.428691114621056e-10,
    -1.2823925011642523e-09,
    2.1972957291167238e-09,
    2.9800718214845765e-09,
    -5.178256937098523e-09,
    -1.1406049748062018e-09,
    1.7186488620703151e-09,
    7.285718934567156e-09,
    -1.3690122608677806e-08,
    2.002597524346641e-08,
    -4.0474841277976224e-08,
    8.64771323524858e-08,
    -1.8372401951151213e-07,
    4.048598005912783e-07,
    -9.391118034224304e-07,
    2.3237390237605785e-06,
    -6.250783899897434e-06,
    1.891082100696518e-05,
    -7.550397994694896e-05,
    0.00045424489672758576,
    -0.0014747471815496971,
    -0.01112525365566682,
    0.9888591261731686,
];

/// The inverse of `1/28`, and of half the way from there to `1/6`.
const FAR_START: f64 = 1.0 / 28.0;
const FAR_SCALE: f64 = 2.0 / (1.0 / 6.0 - 1.0 / 28.0);

/// `erfinv` of `x` where `1 - x²` is known better than from `x`.
fn inverse(b: &mut Builder<'_, '_>, x: Value, one_less_square: Value) -> Value {
    let (zero, one, infinity) = (b.float(0.0), b.float(1.0), b.float(f64::INFINITY));
    let logarithm = log(b, &[one_less_square]);
    let w = b.fneg(logarithm);
    let root = b.at_least(w, 0.0);
    let root = b.sqrt(root);

    let bounded = b.at_most(w, 6.25);
    let scale = b.float(0.32);
    let t = b.fmul(bounded, scale);
    let t = b.fsub(t, one);
    let central = b.polynomial(t, b.fitting(&CENTRAL, &short::ERFINV_CENTRAL));

    let bounded = b.at_most(root, 6.0);
    let bounded = b.at_least(bounded, 2.5);
    let (start, scale) = (b.float(2.5), b.float(1.0 / 1.75));
    let t = b.fsub(bounded, start);
    let t = b.fmul(t, scale);
    let t = b.fsub(t, one);
    let middle = b.polynomial(t, b.fitting(&MIDDLE, &short::ERFINV_MIDDLE));
    let limit = b.float(6.25);
    let is_middle = b.fcmp(FloatCompare::Oge, w, limit);
    let slope = b.select(is_middle, middle, central);
    let result = b.fmul(slope, x);

    let bounded = b.at_least(root, 6.0);
    let (start, scale) = (b.float(FAR_START), b.float(FAR_SCALE));
    let t = b.inverse(bounded);
    let t = b.fsub(t, start);
    let t = b.fmul(t, scale);
    let t = b.fsub(t, one);
    let far = b.polynomial(t, b.fitting(&FAR, &short::ERFINV_FAR));
    let far = b.fmul(far, bounded);
    let endless = b.fcmp(FloatCompare::Oeq, one_less_square, zero);
    let far = b.select(endless, infinity, far);
    let sign = b.sign_bit(x);
    let far = b.flip_sign(far, sign);
    let six = b.float(6.0);
    let is_far = b.fcmp(FloatCompare::Oge, root, six);
    let result = b.select(is_far, far, result);
    // Outside of the domain the logarithm is NaN.
    let undefined = b.fcmp(FloatCompare::Uno, w, w);
    b.select(undefined, w, result)
}

/// `erfinv(x)`.
pub(super) fn erfinv(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, erfinv);
    }
    let x = arguments[0];
    let one = b.float(1.0);
    let (below, above) = (b.fsub(one, x), b.fadd(one, x));
    let rest = b.fmul(below, above);
    inverse(b, x, rest)
}

/// `erfcinv(y)`.
pub(super) fn erfcinv(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, erfcinv);
    }
    let y = arguments[0];
    let (one, two) = (b.float(1.0), b.float(2.0));
    let x = b.fsub(one, y);
    let other = b.fsub(two, y);
    let rest = b.fmul(y, other);
    inverse(b, x, rest)
}

/// The inverse of the normal distribution: `-√2 erfcinv(2 p)`.
pub(super) fn normcdfinv(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, normcdfinv);
    }
    let twice = b.fadd(arguments[0], arguments[0]);
    let inverse = erfcinv(b, &[twice]);
    let factor = b.float(-SQRT_2);
    b.fmul(inverse, factor)
}
