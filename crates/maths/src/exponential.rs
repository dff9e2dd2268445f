//! The exponential and what follows from it: `exp`, `exp2`, `exp10`, `expm1`, `sinh`, `cosh`, `tanh`.
//!
//! `exp(x) = 2^n * exp(r)` with `n = round(x / ln 2)`, found by adding a large constant so that `n`
//! also appears in the low bits of the sum; no rounding instruction and no conversion is needed.
//! The scale is applied in two factors, so that subnormal results round once and overflow is
//! an infinity. Coefficients are minimax fits on the reduced interval.
//!
//! A result that is zero comes from a factor that is zero: on many processors an operation that underflows takes a
//! hundred times longer than others, and masked-off lanes of a softmax are all of this kind. See [`Power`].

use super::Elem;
use super::builder::Builder;
use llir::{FloatCompare, IntCompare, Value};

/// `(exp(r) - 1 - r) / r^2` on |r| <= ln(2)/2.
const EXP_F32: [f64; 5] =
    [0.00138387072365731, 0.008369212038815022, 0.04166810214519501, 0.16666516661643982, 0.4999999403953552];
const EXP_F64: [f64; 10] = [
    2.5061748140888117e-08,
    2.763189419136261e-07,
    2.7557413538596602e-06,
    2.480148868099809e-05,
    0.00019841269674295838,
    0.0013888888947676827,
    0.008333333333429461,
    0.041666666666515716,
    0.16666666666666494,
    0.5000000000000012,
];

/// `(2^r - 1) / r` on |r| <= 1/2.
const EXP2_F32: [f64; 6] = [
    0.00013127367128618062,
    0.0013390274252742529,
    0.009626282379031181,
    0.05550362542271614,
    0.2402258664369583,
    0.6931471824645996,
];
const EXP2_F64: [f64; 11] = [
    4.5173423057869827e-10,
    7.0755587435311274e-09,
    1.0177665326258295e-07,
    1.3215424729256601e-06,
    1.5252734723964729e-05,
    0.00015403530478538905,
    0.001333355814557508,
    0.00961812910757719,
    0.05550410866482456,
    0.24022650695910172,
    std::f64::consts::LN_2,
];

/// `(tanh(x) / x - 1) / x^2` as a polynomial in `x^2`, for |x| <= 0.625.
const TANH_F32: [f64; 5] = [
    -0.005713844206184149,
    0.020647931843996048,
    -0.05374275520443916,
    0.1333148330450058,
    -0.3333328366279602,
];
const TANH_F64: [f64; 12] = [
    6.052154187752296e-06,
    -3.0211220494455572e-05,
    9.158441320518052e-05,
    -0.00023702791031084301,
    0.0005894581867020519,
    -0.0014557276155533947,
    0.003592114290817432,
    -0.008863234346095764,
    0.02186948847117355,
    -0.053968253966165794,
    0.13333333333329983,
    -0.33333333333333315,
];

/// `(sinh(x) / x - 1) / x^2` as a polynomial in `x^2`, for |x| <= 1.
const SINH_F32: [f64; 4] =
    [2.78396146313753e-06, 0.00019842632173094898, 0.008333311416208744, 0.1666666716337204];
const SINH_F64: [f64; 8] = [
    6.261650859088077e-15,
    7.511043644775086e-13,
    1.6061227132225688e-10,
    2.5052090220107037e-08,
    2.7557319307073713e-06,
    0.0001984126984106656,
    0.00833333333333357,
    0.16666666666666666,
];

/// The facts about one float format that the scaling needs.
pub(super) struct Format {
    /// Adding it rounds to an integer and leaves that integer in the low bits.
    pub(super) magic: f64,
    /// The bits of `magic`.
    pub(super) magic_bits: i64,
    /// The exponent bias.
    pub(super) bias: i64,
    /// The number of stored mantissa bits.
    pub(super) mantissa: i64,
    /// ln 2 in two parts; products of the first with an exponent are exact.
    pub(super) ln2: (f64, f64),
    /// The power of two that is too small for any result: half of the smallest subnormal and less.
    pub(super) vanishing: i64,
    /// The first is 2^`vanishing`; beyond the second the result is an infinity, and 2^n with n one above the largest exponent.
    pub(super) exp_range: (f64, f64),
    /// The same for `exp2`.
    pub(super) exp2_range: (f64, f64),
    /// The same for `exp10`.
    pub(super) exp10_range: (f64, f64),
    /// log10(2) in two parts, as `ln2`.
    pub(super) log10_of_2: (f64, f64),
}

const F32_FORMAT: Format = Format {
    magic: 12_582_912.0,
    magic_bits: 0x4B40_0000,
    bias: 127,
    mantissa: 23,
    ln2: (0.693_359_375, -2.121_944_400_546_905_8e-4),
    vanishing: -151,
    exp_range: (-104.7, 89.0),
    exp2_range: (-151.0, 128.0),
    exp10_range: (-45.46, 38.6),
    log10_of_2: (0.301_025_390_625, 4.605_038_981_195_214e-6),
};

const F64_FORMAT: Format = Format {
    magic: 6_755_399_441_055_744.0,
    magic_bits: 0x4338_0000_0000_0000,
    bias: 1023,
    mantissa: 52,
    ln2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
    vanishing: -1076,
    exp_range: (-745.9, 710.0),
    exp2_range: (-1076.0, 1024.0),
    exp10_range: (-323.91, 308.4),
    log10_of_2: (0.301_029_995_607_677_85, 5.630_334_806_675_098e-11),
};

/// The facts of the function's element type.
pub(super) fn format(b: &Builder<'_, '_>) -> &'static Format {
    match b.elem() {
        Elem::F32 => &F32_FORMAT,
        Elem::F64 => &F64_FORMAT,
    }
}

/// `n = round(x)`: as a float, and the sum that carries it in its low bits.
pub(super) struct Rounded {
    pub(super) float: Value,
    pub(super) carrier: Value,
}

/// Rounds `x * factor` to the nearest integer; the magnitude must stay below 2^21 (F32) or 2^50 (F64).
pub(super) fn round_product(b: &mut Builder<'_, '_>, x: Value, factor: f64) -> Rounded {
    round_by(b, x, factor, format(b).magic)
}

/// [`round_product`] with this constant.
fn round_by(b: &mut Builder<'_, '_>, x: Value, factor: f64, magic: f64) -> Rounded {
    let magic = b.float(magic);
    let carrier = if factor == 1.0 {
        b.fadd(x, magic)
    } else {
        let factor = b.float(factor);
        b.mul_add(x, factor, magic)
    };
    Rounded { float: b.fsub(carrier, magic), carrier }
}

/// `p * 2^n` for `p` near one, rounding once; `n` may leave the exponent range by a factor of two.
pub(super) fn scale(b: &mut Builder<'_, '_>, p: Value, n: &Rounded) -> Value {
    if b.machine.scales(b.b.ty(p)) {
        return b.machine.scale(b.b, p, n.float);
    }
    let facts = format(b);
    let bits = b.bits(n.carrier);
    let offset = b.int(facts.magic_bits - 2 * facts.bias);
    let sum = b.isub(bits, offset);
    let first = b.lshr(sum, 1);
    let second = b.isub(sum, first);
    let first = b.shl(first, facts.mantissa);
    let second = b.shl(second, facts.mantissa);
    let first = b.with_bits(first);
    let second = b.with_bits(second);
    let p = b.fmul(p, first);
    b.fmul(p, second)
}

/// `exp(r) - 1` for a reduced argument.
pub(super) fn expm1_reduced(b: &mut Builder<'_, '_>, r: Value) -> Value {
    let tail = match b.elem() {
        Elem::F32 => b.polynomial(r, &EXP_F32),
        Elem::F64 => b.polynomial(r, &EXP_F64),
    };
    let square = b.fmul(r, r);
    b.mul_add(tail, square, r)
}

/// The reduced argument `x - n ln 2`.
pub(super) fn reduce_ln2(b: &mut Builder<'_, '_>, x: Value, n: Value) -> Value {
    let (high, low) = format(b).ln2;
    let (high, low) = (b.float(high), b.float(low));
    let r = b.neg_mul_add(high, n, x);
    b.neg_mul_add(low, n, r)
}

/// `m * 2^n` with `n` from [`Format::vanishing`] on, where it is zero, to one beyond the largest exponent.
///
/// With the biased exponent `e` of `2^(n-1)`, `m * 2^n = 2m * 2^min(0, e-k) * 2^(max(e, k)-bias)`. For a result that is
/// normal the first factor is one, and nothing but the second multiplication rounds. The constant `k` is such that the
/// bits of the first factor are those of zero where `n` is `vanishing`.
struct Power {
    /// `n`, and `e` in the low bits of its carrier.
    n: Rounded,
}

impl Power {
    /// Of `n = round(x * factor)`.
    fn of(b: &mut Builder<'_, '_>, x: Value, factor: f64) -> Power {
        let facts = format(b);
        // An integer as the constant itself, so that nothing changes but the low bits.
        let magic = facts.magic + (facts.bias - 1) as f64;
        Power { n: round_by(b, x, factor, magic) }
    }

    /// `m(1) * 2^n`, where `m(f)` is a value near one times `f`, exactly, for `f` of one and two.
    fn times(&self, b: &mut Builder<'_, '_>, m: impl Fn(&mut Builder<'_, '_>, f64) -> Value) -> Value {
        let facts = format(b);
        let ty = b.all(b.elem().float());
        if b.machine.scales(ty) {
            let m = m(b, 1.0);
            let m = zero_from(b, m, self.n.float, facts.vanishing as f64);
            return scale(b, m, &self.n);
        }
        let one = facts.bias << facts.mantissa;
        let k = facts.vanishing + 2 * facts.bias - 1;
        let bits = b.bits(self.n.carrier);
        let exponent = b.shl(bits, facts.mantissa);
        let k = b.int(k << facts.mantissa);
        let above = b.icmp(IntCompare::Sgt, exponent, k);
        let second = b.select(above, exponent, k);
        let first = b.isub(exponent, second);
        let one = b.int(one);
        let first = b.iadd(first, one);
        let (first, second) = (b.with_bits(first), b.with_bits(second));
        let m = m(b, 2.0);
        let m = b.fmul(m, first);
        b.fmul(m, second)
    }
}

/// `exp(x)`.
pub(super) fn exp(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    exp_of(b, x[0])
}

/// `exp` of any value of the function.
pub(super) fn exp_of(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let range = format(b).exp_range;
    let x = within(b, x, range);
    let power = Power::of(b, x, std::f64::consts::LOG2_E);
    let r = reduce_ln2(b, x, power.n.float);
    let rest = expm1_reduced(b, r);
    power.times(b, |b, f| times_one_and(b, f, rest))
}

/// `f * (1 + rest)`.
fn times_one_and(b: &mut Builder<'_, '_>, f: f64, rest: Value) -> Value {
    let factor = b.float(f);
    if f == 1.0 { b.fadd(rest, factor) } else { b.mul_add(rest, factor, factor) }
}

/// `exp(x)` as `p * 2^n`, where that is neither zero nor infinite.
fn exp_parts(b: &mut Builder<'_, '_>, x: Value) -> (Value, Rounded) {
    let n = round_product(b, x, std::f64::consts::LOG2_E);
    let r = reduce_ln2(b, x, n.float);
    let p = expm1_reduced(b, r);
    let one = b.float(1.0);
    (b.fadd(p, one), n)
}

/// Cuts an argument to a range; a NaN stays.
fn within(b: &mut Builder<'_, '_>, x: Value, (low, high): (f64, f64)) -> Value {
    let x = b.at_most(x, high);
    b.at_least(x, low)
}

/// `p`, but zero from an argument on downwards.
pub(super) fn zero_from(b: &mut Builder<'_, '_>, p: Value, x: Value, last: f64) -> Value {
    let (last, zero) = (b.float_like(x, last), b.float_like(p, 0.0));
    let vanishes = b.fcmp(FloatCompare::Ole, x, last);
    b.select(vanishes, zero, p)
}

/// `2^r` for |r| <= 1/2.
pub(super) fn exp2_reduced(b: &mut Builder<'_, '_>, r: Value) -> Value {
    times_exp2_reduced(b, 1.0, r)
}

/// `f * 2^r` for |r| <= 1/2, where `f` is a power of two.
fn times_exp2_reduced(b: &mut Builder<'_, '_>, f: f64, r: Value) -> Value {
    let slope = match b.elem() {
        Elem::F32 => b.polynomial(r, &EXP2_F32.map(|coefficient| f * coefficient)),
        Elem::F64 => b.polynomial(r, &EXP2_F64.map(|coefficient| f * coefficient)),
    };
    let factor = b.float(f);
    b.mul_add(slope, r, factor)
}

/// `2^x`.
pub(super) fn exp2(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let range = format(b).exp2_range;
    let x = within(b, x[0], range);
    let power = Power::of(b, x, 1.0);
    let r = b.fsub(x, power.n.float);
    power.times(b, |b, f| times_exp2_reduced(b, f, r))
}

/// `tanh(x)`: an odd polynomial below 0.625, else `1 - 2 / (exp(2 |x|) + 1)`.
pub(super) fn tanh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);
    let (one, two) = (b.float(1.0), b.float(2.0));

    let square = b.fmul(x, x);
    let tail = match b.elem() {
        Elem::F32 => b.polynomial(square, &TANH_F32),
        Elem::F64 => b.polynomial(square, &TANH_F64),
    };
    let tail = b.fmul(tail, square);
    let small = b.mul_add(tail, x, x);

    // Far below this the result rounds to one.
    let bounded = b.at_most(x, 22.0);
    let doubled = b.fadd(bounded, bounded);
    let (p, n) = exp_parts(b, doubled);
    let power = scale(b, p, &n);
    let power = b.fadd(power, one);
    let rest = b.fdiv(two, power);
    let large = b.fsub(one, rest);

    let limit = b.float(0.625);
    let is_small = b.fcmp(FloatCompare::Olt, x, limit);
    let result = b.select(is_small, small, large);
    b.flip_sign(result, sign)
}

/// `10^x`.
pub(super) fn exp10(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let facts = format(b);
    let x = within(b, x[0], facts.exp10_range);
    let power = Power::of(b, x, std::f64::consts::LOG2_10);
    let n = &power.n;
    let (high, low) = (b.float(facts.log10_of_2.0), b.float(facts.log10_of_2.1));
    let r = b.neg_mul_add(high, n.float, x);
    let r = b.neg_mul_add(low, n.float, r);
    let ln10 = b.float(std::f64::consts::LN_10);
    let r = b.fmul(r, ln10);
    let rest = expm1_reduced(b, r);
    power.times(b, |b, f| times_one_and(b, f, rest))
}

/// `exp(x) - 1 = 2 * (t * (exp(r) - 1) + (t - 1/2))` with `t = 2^(n - 1)`, which does not overflow too soon.
pub(super) fn expm1(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let facts = format(b);
    let bounded = b.at_most(x[0], facts.exp_range.1);
    let bounded = b.at_least(bounded, -40.0);
    let n = round_product(b, bounded, std::f64::consts::LOG2_E);
    let r = reduce_ln2(b, bounded, n.float);
    let p = expm1_reduced(b, r);

    let bits = b.bits(n.carrier);
    let offset = b.int(facts.magic_bits - facts.bias + 1);
    let field = b.isub(bits, offset);
    let field = b.shl(field, facts.mantissa);
    let t = b.with_bits(field);
    let half = b.float(0.5);
    let rest = b.fsub(t, half);
    let sum = b.mul_add(t, p, rest);
    let result = b.fadd(sum, sum);
    keep_tiny(b, x[0], result)
}

/// `x` itself where it is so small that the function equals it; this also keeps the sign of zero.
pub(super) fn keep_tiny(b: &mut Builder<'_, '_>, x: Value, result: Value) -> Value {
    let magnitude = b.fabs(x);
    let limit =
        b.float(if b.elem() == Elem::F32 { 9.313_225_746_154_785e-10 } else { 8.673_617_379_884_035e-19 });
    let tiny = b.fcmp(FloatCompare::Olt, magnitude, limit);
    b.select(tiny, x, result)
}

/// `exp(x) / 2` for non-negative `x`; overflows only where half of the power does.
fn half_exp(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let high = format(b).exp_range.1;
    let x = b.at_most(x, high + 1.0);
    let (p, n) = exp_parts(b, x);
    let one = b.float(1.0);
    let less = Rounded { float: b.fsub(n.float, one), carrier: b.fsub(n.carrier, one) };
    scale(b, p, &less)
}

/// `exp(-x) / 2` out of `exp(x) / 2`; what is too small to count in their sum is not divided into the subnormals.
fn half_inverse(b: &mut Builder<'_, '_>, half: Value) -> Value {
    let half = b.at_most(half, 2f64.powi(100));
    let quarter = b.float(0.25);
    b.fdiv(quarter, half)
}

/// `sinh(x)`: an odd polynomial below one, else from half of the power.
pub(super) fn sinh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);
    let square = b.fmul(x, x);
    let tail = match b.elem() {
        Elem::F32 => b.polynomial(square, &SINH_F32),
        Elem::F64 => b.polynomial(square, &SINH_F64),
    };
    let tail = b.fmul(tail, square);
    let small = b.mul_add(tail, x, x);

    let half = half_exp(b, x);
    let inverse = half_inverse(b, half);
    let large = b.fsub(half, inverse);

    let one = b.float(1.0);
    let is_small = b.fcmp(FloatCompare::Olt, x, one);
    let result = b.select(is_small, small, large);
    b.flip_sign(result, sign)
}

/// `cosh(x)`.
pub(super) fn cosh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let x = b.fabs(x[0]);
    let half = half_exp(b, x);
    let inverse = half_inverse(b, half);
    b.fadd(half, inverse)
}
