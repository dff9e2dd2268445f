//! Bessel functions, in doubles. Near their zeros errors are small beside the largest values, not beside the value.

use super::Elem;
use super::builder::Builder;
use super::exponential::exp_of;
use super::logarithm::log;
use super::rare::Rare;
use super::short;
use super::trigonometric::sin_and_cos;
use llir::{FloatCompare, Value};
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI};

/// `J0(x)` on [0, 8], in `x²/32 - 1`.
const J0_SMALL: [f64; 16] = [
    -1.2430166156640003e-11,
    3.3794624520643e-10,
    -7.91533375368561e-09,
    1.595584886623164e-07,
    -2.717749207626176e-06,
    3.8473200057927604e-05,
    -0.0004435459224433769,
    0.00405807898810883,
    -0.028472718610877044,
    0.14598884856785535,
    -0.507468045847101,
    1.0383794611436883,
    -0.8080888076696872,
    -0.6484692830871821,
    0.9303012472958572,
    0.045829664859813754,
];

/// `J1(x) / x` likewise.
const J1_SMALL: [f64; 16] = [
    -4.0037632815796753e-13,
    1.1658971884036515e-11,
    -2.943016833829492e-10,
    6.43119017895857e-09,
    -1.196708182234105e-07,
    1.8684526037182737e-06,
    -2.404574866003479e-05,
    0.00024949458135972767,
    -0.0020290394945704573,
    0.012456814392263375,
    -0.05474581821284725,
    0.15858376432721838,
    -0.2595948652859303,
    0.15151665143806636,
    0.08105866038589796,
    -0.05814382795599107,
];

/// `Y0(x) - 2/π log x J0(x)` likewise.
const Y0_SMALL: [f64; 16] = [
    2.6920542955933077e-11,
    -7.165821502826742e-10,
    1.6390898995460987e-08,
    -3.218450385303195e-07,
    5.321318774428052e-06,
    -7.279542368640505e-05,
    0.000806158605989114,
    -0.007025741054992014,
    0.046367047681363883,
    -0.21895747096229637,
    0.6721770783431702,
    -1.077547733821527,
    0.14412632369302453,
    1.6470964788745432,
    -0.8284358903604587,
    -0.38225065445942497,
];

/// `(Y1(x) - 2/π (log x J1(x) - 1/x)) / x` likewise.
const Y1_SMALL: [f64; 16] = [
    8.758166378734063e-13,
    -2.4995314348224963e-11,
    6.169694909376002e-10,
    -1.3153147370992129e-08,
    2.3804930317310604e-07,
    -3.6010000225850992e-06,
    4.4674330127252e-05,
    -0.00044381734344201836,
    0.0034224907399185273,
    -0.01962875683311711,
    0.07854786922242538,
    -0.19639839859930203,
    0.23507209206669755,
    0.02336757172099348,
    -0.24337743079193114,
    0.07075985882118005,
];

/// The amplitude of order 0 from 8 on, in `2 (8/x)² - 1`.
const P0: [f64; 17] = [
    7.350444258108295e-16,
    -1.807298313974895e-15,
    1.538620673334681e-15,
    -5.022572014377571e-15,
    2.2496505053280836e-14,
    -7.433414459491999e-14,
    2.628292382317484e-13,
    -1.0559200308650716e-12,
    4.774194760764083e-12,
    -2.488587988625271e-11,
    1.5501031623387732e-10,
    -1.2121175397702294e-09,
    1.2803760643822803e-08,
    -2.0527448162485175e-07,
    6.137416080160206e-06,
    -0.0005363673192130031,
    0.9994572757882519,
];

/// What is in quadrature to it, times `x`.
const Q0: [f64; 17] = [
    -7.218360113325748e-15,
    1.7103209627178458e-14,
    -1.1693242090527497e-14,
    3.7712889190589617e-14,
    -1.7832030063752885e-13,
    5.567148812645025e-13,
    -1.83390451148924e-12,
    6.878291492715701e-12,
    -2.8725844755452207e-11,
    1.362650428332602e-10,
    -7.576283045712257e-10,
    5.146225288518414e-09,
    -4.534972896712794e-08,
    5.684971887600464e-07,
    -1.1817110661172695e-05,
    0.000546651927947511,
    -0.12444091103610815,
];

/// The same of order 1.
const P1: [f64; 17] = [
    -7.727101731405413e-16,
    1.903490042028956e-15,
    -1.6372430136130226e-15,
    5.3517506442834935e-15,
    -2.3929928131111174e-14,
    7.935229176547187e-14,
    -2.8186164081776167e-13,
    1.1380435620852072e-12,
    -5.177636081889529e-12,
    2.72074146757592e-11,
    -1.7131567136829601e-10,
    1.3603051022287752e-09,
    -1.4708512149671939e-08,
    2.453676622917928e-07,
    -7.959694698491843e-06,
    0.0008988049416705562,
    1.0009070262780821,
];

/// The same of order 1.
const Q1: [f64; 17] = [
    7.57712706269129e-15,
    -1.7984559862793346e-14,
    1.243997539293916e-14,
    -4.014899685310877e-14,
    1.892408919226445e-13,
    -5.927406301655689e-13,
    1.961017798635848e-12,
    -7.38782283172895e-12,
    3.102320803545726e-11,
    -1.4819750517309826e-10,
    8.316027538862404e-10,
    -5.720884249282114e-09,
    5.136106059369469e-08,
    -6.633568567198776e-07,
    1.4569614809821726e-05,
    -0.0007697167057643541,
    0.3742149922195918,
];

/// `e^-x I0(x)` on [0, 8], in `x/4 - 1`.
const I0_SMALL: [f64; 31] = [
    2.997850940661288e-10,
    -1.1849657986148584e-09,
    2.2221132168174095e-09,
    -7.725039968045779e-09,
    3.385378043608712e-08,
    -1.1383482679942732e-07,
    3.523604963439924e-07,
    -1.0883515439592516e-06,
    3.249540060602951e-06,
    -9.251665226971573e-06,
    2.518366139612992e-05,
    -6.55086273259746e-05,
    0.00016241773604398465,
    -0.0003829020871854531,
    0.0008563094235043086,
    -0.0018118867976067608,
    0.0036171284436899067,
    -0.006792399871927492,
    0.011960077426792047,
    -0.019682654690840354,
    0.030177912102218134,
    -0.04298594945476025,
    0.056777032011386216,
    -0.06954119561719706,
    0.07927522590771639,
    -0.08496338091616289,
    0.08734341617550435,
    -0.08904344136075963,
    0.09451562853995128,
    -0.11300432688620549,
    0.2070019212239867,
];

/// `√x e^-x I0(x)` from 8 on, in `16/x - 1`.
const I0_LARGE: [f64; 26] = [
    2.0820835852793106e-11,
    -5.905024573995148e-11,
    -1.5066113686101474e-10,
    4.4789181847911815e-10,
    5.122212147228388e-10,
    -1.5930354799216344e-09,
    -1.1448789558755036e-09,
    3.5985362919394714e-09,
    2.1053080134403423e-09,
    -5.91556056510856e-09,
    -3.905230623712341e-09,
    7.406235049001522e-09,
    7.737147033780934e-09,
    -5.394456734259438e-09,
    -1.346629294837396e-08,
    -6.750552282740284e-09,
    7.566352487698237e-09,
    2.15488936175863e-08,
    3.932437699533459e-08,
    8.872214307451732e-08,
    2.9735996224521226e-07,
    1.4838475687894938e-06,
    1.1143033787545386e-05,
    0.00013621607439186705,
    0.0033605519836678944,
    0.4021765094450081,
];

/// `e^-x I1(x) / x` on [0, 8].
const I1_SMALL: [f64; 31] = [
    2.3182083168309976e-11,
    -9.50499529391487e-11,
    1.9897866775946007e-10,
    -7.278385771188532e-10,
    3.19001022454089e-09,
    -1.122403584956652e-08,
    3.685261019396175e-08,
    -1.1994064721626751e-07,
    3.774988459780846e-07,
    -1.1381555648107214e-06,
    3.2924557329085607e-06,
    -9.131776664168443e-06,
    2.423470540495527e-05,
    -6.142655661897402e-05,
    0.00014842079087416368,
    -0.00034117472470779683,
    0.0007445124987600121,
    -0.0015388749695928036,
    0.0030057623826419107,
    -0.0055345677592584745,
    0.00958396215685903,
    -0.015571309256761071,
    0.023686016957069872,
    -0.03367135551992345,
    0.044674572621297426,
    -0.05528003922705145,
    0.06376740371340577,
    -0.06848260620582547,
    0.06805759990951162,
    -0.06112433802966629,
    0.044687709875608835,
];

/// `√x e^-x I1(x)` from 8 on.
const I1_LARGE: [f64; 26] = [
    -1.9677083272584384e-11,
    6.135932778393812e-11,
    1.417650842869536e-10,
    -4.6561597954216946e-10,
    -4.798751536934023e-10,
    1.657764699456319e-09,
    1.0715528639398075e-09,
    -3.75344338735913e-09,
    -1.992076551203188e-09,
    6.202984113000443e-09,
    3.803814960536081e-09,
    -7.863004697555056e-09,
    -7.816968266767898e-09,
    5.963645798166707e-09,
    1.408852075202545e-08,
    6.737493433374833e-09,
    -8.43880090582137e-09,
    -2.337446787242448e-08,
    -4.312778920167609e-08,
    -1.0001282610189342e-07,
    -3.4838567401229716e-07,
    -1.8349101357991557e-06,
    -1.5038547197358572e-05,
    -0.00021923576383382282,
    -0.009749577193235768,
    0.38939845902587233,
];

/// Where the small forms end.
const LIMIT: f64 = 8.0;

/// Which of the two functions of an order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    First,
    Second,
}

/// `x²/32 - 1` for |x| up to the limit.
fn small_argument(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let x = b.at_most(x, LIMIT);
    let square = b.fmul(x, x);
    let (scale, one) = (b.float(1.0 / 32.0), b.float(1.0));
    let scaled = b.fmul(square, scale);
    b.fsub(scaled, one)
}

/// Both kinds of an order for x from the limit on: a wave of falling amplitude.
fn wave(b: &mut Builder<'_, '_>, x: Value, order: u32, kind: Kind) -> Value {
    let x = b.at_least(x, LIMIT);
    let (eight, one) = (b.float(LIMIT), b.float(1.0));
    let inverse = b.inverse(x);
    let ratio = b.fmul(eight, inverse);
    let square = b.fmul(ratio, ratio);
    let twice = b.fadd(square, square);
    let t = b.fsub(twice, one);
    let (p, q) = match order {
        0 => (b.fitting(&P0, &short::BESSEL_P0), b.fitting(&Q0, &short::BESSEL_Q0)),
        _ => (b.fitting(&P1, &short::BESSEL_P1), b.fitting(&Q1, &short::BESSEL_Q1)),
    };
    let (p, q) = (b.polynomial(t, p), b.polynomial(t, q));
    let q = b.fmul(q, inverse);
    // Sine and cosine of x - (2 order + 1) π/4, but for the factor 1/√2.
    let (sine, cosine) = sin_and_cos(b, x);
    let (sum, difference) = (b.fadd(sine, cosine), b.fsub(sine, cosine));
    let (shifted_cosine, shifted_sine) = if order == 0 {
        (sum, difference)
    } else {
        let minus = b.fneg(sum);
        (difference, minus)
    };
    let value = match kind {
        Kind::First => {
            let product = b.fmul(q, shifted_sine);
            let main = b.fmul(p, shifted_cosine);
            b.fsub(main, product)
        }
        Kind::Second => {
            let product = b.fmul(q, shifted_cosine);
            b.mul_add(p, shifted_sine, product)
        }
    };
    // √(2 / πx) / √2.
    let size = b.root_of_small((x, inverse), FRAC_1_PI);
    let value = b.fmul(value, size);
    let (zero, infinity) = (b.float(0.0), b.float(f64::INFINITY));
    let endless = b.fcmp(FloatCompare::Oeq, x, infinity);
    b.select(endless, zero, value)
}

/// `J0(x)`.
pub(super) fn j0(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, j0);
    }
    let x = b.fabs(arguments[0]);
    let t = small_argument(b, x);
    let small = b.polynomial(t, &J0_SMALL);
    let large = wave(b, x, 0, Kind::First);
    choose(b, x, small, large)
}

/// `J1(x)`.
pub(super) fn j1(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, j1);
    }
    let sign = b.sign_bit(arguments[0]);
    let x = b.fabs(arguments[0]);
    let t = small_argument(b, x);
    let small = b.polynomial(t, &J1_SMALL);
    let small = b.fmul(small, x);
    let large = wave(b, x, 1, Kind::First);
    let value = choose(b, x, small, large);
    b.flip_sign(value, sign)
}

fn choose(b: &mut Builder<'_, '_>, x: Value, small: Value, large: Value) -> Value {
    let limit = b.float(LIMIT);
    let is_large = b.fcmp(FloatCompare::Oge, x, limit);
    b.select(is_large, large, small)
}

/// What functions of the second kind are where they are not numbers: minus infinity at zero, NaN below.
fn only_positive(b: &mut Builder<'_, '_>, x: Value, value: Value) -> Value {
    let (zero, infinity, nan) = (b.float(0.0), b.float(f64::NEG_INFINITY), b.float(f64::NAN));
    let is_zero = b.fcmp(FloatCompare::Oeq, x, zero);
    let value = b.select(is_zero, infinity, value);
    let below = b.fcmp(FloatCompare::Olt, x, zero);
    b.select(below, nan, value)
}

/// `Y0(x)`.
pub(super) fn y0(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, y0);
    }
    let x = arguments[0];
    let t = small_argument(b, x);
    let first = b.polynomial(t, &J0_SMALL);
    let rest = b.polynomial(t, &Y0_SMALL);
    let logarithm = log(b, &[x]);
    let factor = b.float(FRAC_2_PI);
    let logarithm = b.fmul(logarithm, factor);
    let small = b.mul_add(logarithm, first, rest);
    let large = wave(b, x, 0, Kind::Second);
    let value = choose(b, x, small, large);
    only_positive(b, x, value)
}

/// `Y1(x)`.
pub(super) fn y1(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, y1);
    }
    let x = arguments[0];
    let t = small_argument(b, x);
    let first = b.polynomial(t, &J1_SMALL);
    let first = b.fmul(first, x);
    let rest = b.polynomial(t, &Y1_SMALL);
    let logarithm = log(b, &[x]);
    let (factor, one) = (b.float(FRAC_2_PI), b.float(1.0));
    let inverse = b.fdiv(one, x);
    let minus = b.fneg(inverse);
    let inner = b.mul_add(logarithm, first, minus);
    let rest = b.fmul(rest, x);
    let small = b.mul_add(inner, factor, rest);
    // Below this the function is -2/πx, and the logarithm nothing beside it.
    let tiny = b.float(1e-300);
    let is_tiny = b.fcmp(FloatCompare::Olt, x, tiny);
    let alone = b.fmul(minus, factor);
    let small = b.select(is_tiny, alone, small);
    let large = wave(b, x, 1, Kind::Second);
    let value = choose(b, x, small, large);
    only_positive(b, x, value)
}

/// The modified functions `I0` and `I1`: a factor times `e^|x|`.
fn modified(b: &mut Builder<'_, '_>, x: Value, order: u32) -> Value {
    let (one, quarter, sixteen, half) = (b.float(1.0), b.float(0.25), b.float(16.0), b.float(0.5));
    let (small_table, large_table) = match order {
        0 => (b.fitting(&I0_SMALL, &short::I0_SMALL), b.fitting(&I0_LARGE, &short::I0_LARGE)),
        _ => (b.fitting(&I1_SMALL, &short::I1_SMALL), b.fitting(&I1_LARGE, &short::I1_LARGE)),
    };
    let near = b.at_most(x, LIMIT);
    let t = b.fmul(near, quarter);
    let t = b.fsub(t, one);
    let mut small = b.polynomial(t, small_table);
    if order == 1 {
        small = b.fmul(small, x);
    }
    let far = b.at_least(x, LIMIT);
    let inverse = b.inverse(far);
    let t = b.fmul(sixteen, inverse);
    let t = b.fsub(t, one);
    let large = b.polynomial(t, large_table);
    let inverse_root = b.root_of_small((far, inverse), 1.0);
    let large = b.fmul(large, inverse_root);
    let factor = choose(b, x, small, large);
    // In two steps: the power overflows before the function does.
    let bounded = b.at_most(x, 1400.0);
    let halved = b.fmul(bounded, half);
    let power = exp_of(b, halved);
    let value = b.fmul(factor, power);
    let value = b.fmul(value, power);
    let infinity = b.float(f64::INFINITY);
    let endless = b.fcmp(FloatCompare::Oeq, x, infinity);
    b.select(endless, infinity, value)
}

/// `I0(x)`.
pub(super) fn cyl_bessel_i0(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, cyl_bessel_i0);
    }
    let x = b.fabs(arguments[0]);
    modified(b, x, 0)
}

/// `I1(x)`.
pub(super) fn cyl_bessel_i1(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_short_doubles(arguments, cyl_bessel_i1);
    }
    let sign = b.sign_bit(arguments[0]);
    let x = b.fabs(arguments[0]);
    let value = modified(b, x, 1);
    b.flip_sign(value, sign)
}

/// `Jn(x)`: the order (a whole number as a float), then x. Orders from 2 on go through their neighbours.
pub(super) fn jn(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    of_order(b, arguments, Kind::First)
}

/// `Yn(x)`.
pub(super) fn yn(b: &mut Builder<'_, '_>, arguments: &[Value]) -> Value {
    of_order(b, arguments, Kind::Second)
}

fn of_order(b: &mut Builder<'_, '_>, arguments: &[Value], kind: Kind) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, if kind == Kind::First { jn } else { yn });
    }
    let (order, x) = (arguments[0], arguments[1]);
    let (zero, half, two) = (b.float(0.0), b.float(0.5), b.float(2.0));
    let degree = b.fabs(order);
    let size = if kind == Kind::First { b.fabs(x) } else { x };
    let (first, second, rare) = match kind {
        Kind::First => (j0(b, &[size]), j1(b, &[size]), Rare::BesselFirst),
        Kind::Second => (y0(b, &[size]), y1(b, &[size]), Rare::BesselSecond),
    };
    let one = b.float(1.0);
    let is_one = b.fcmp(FloatCompare::Oeq, degree, one);
    let value = b.select(is_one, second, first);
    let higher = b.fcmp(FloatCompare::Oge, degree, two);
    let value = b.rarely(higher, rare, &[degree, size, first, second], &[value])[0];
    // Odd orders change their sign with that of the order, and of the first kind with that of x.
    let halved = b.fmul(degree, half);
    let whole = super::remainder::truncate(b, halved);
    let odd = b.fcmp(FloatCompare::One, whole, halved);
    let mut negative = b.fcmp(FloatCompare::Olt, order, zero);
    if kind == Kind::First {
        let below = b.fcmp(FloatCompare::Olt, x, zero);
        negative = b.ixor(negative, below);
    }
    let turns = b.both(odd, negative);
    let turned = b.fneg(value);
    b.select(turns, turned, value)
}
