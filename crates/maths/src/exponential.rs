//! The exponential and what follows from it: `exp`, `exp2`, `exp10`, `expm1`, `sinh`, `cosh`, `tanh`.
//!
//! `exp(x) = 2^n * exp(r)` with `n = round(x / ln 2)`, found by adding a large constant so that `n`
//! also appears in the low bits of the sum; no rounding instruction and no conversion is needed.
//! The scale is applied in two factors, so that subnormal results round once and overflow is
//! an infinity. Coefficients are minimax fits on the reduced interval.
//!
//! A result that is zero comes from a factor that is zero: on many processors an operation that underflows takes a
//! hundred times longer than others, and masked-off lanes of a softmax are all of this kind. See [`Power`].

use super::builder::{Builder, Rounded};
use super::exponential_quarters::{self, Given};
use super::short;
use super::{Elem, exponential_table};
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
    /// The first is 2^`vanishing`; beyond the second the result is an infinity, and 2^n with n one above the largest
    /// exponent.
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

/// Rounds `x * factor` to the nearest integer; the magnitude must stay below 2^21 (F32) or 2^50 (F64).
pub(super) fn round_product(b: &mut Builder<'_, '_>, x: Value, factor: f64) -> Rounded {
    let magic = format(b).magic;
    b.round_by(x, factor, magic)
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
    let square = b.fmul(r, r);
    let tail = expm1_tail(b, (r, square));
    b.mul_add(tail, square, r)
}

/// `(exp(r) - 1 - r) / r^2` for a reduced argument and its square.
fn expm1_tail(b: &mut Builder<'_, '_>, of: (Value, Value)) -> Value {
    match b.elem() {
        Elem::F32 => b.polynomial_in_pairs(of, &EXP_F32),
        Elem::F64 => b.polynomial_in_pairs(of, b.fitting(&EXP_F64, &short::EXP)),
    }
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
/// With the biased exponent `e` of `2^(n-1)`, `m * 2^n = m * 2^(max(e, k)-bias) * 2^(1+min(0, e-k))`. The first
/// multiplication is exact but for the rounding of `m` itself. For a result that is normal the second factor is two, so
/// that it changes nothing either. The constant `k` is such that the bits of that factor are those of zero where `n` is
/// `vanishing`.
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
        Power { n: b.round_by(x, factor, magic) }
    }

    /// The same for an `n` that is not positive: for [`Self::times_small`].
    fn small(b: &mut Builder<'_, '_>, x: Value, factor: f64) -> Power {
        let facts = format(b);
        let magic = facts.magic - facts.vanishing as f64;
        Power { n: b.round_by(x, factor, magic) }
    }

    /// `(1 + rest) * 2^n` for an `n` of [`Self::small`]: the factor is larger by a constant, with
    /// which the bits of a power that vanishes are those of zero, and no result that is normal needs a second one.
    fn times_small(&self, b: &mut Builder<'_, '_>, rest: &Rest) -> Value {
        let facts = format(b);
        let bits = b.bits(self.n.carrier);
        let bits = b.shl(bits, facts.mantissa);
        let larger = b.with_bits(bits);
        let m = rest.times(b, larger);
        let back = b.float(((facts.vanishing + facts.bias) as f64).exp2());
        b.fmul(m, back)
    }

    /// `(1 + rest) * 2^n`.
    fn times(&self, b: &mut Builder<'_, '_>, rest: &Rest) -> Value {
        let facts = format(b);
        let ty = b.all(b.elem().float());
        if b.machine.scales(ty) {
            let one = b.float(1.0);
            let m = rest.times(b, one);
            let m = zero_from(b, m, self.n.float, facts.vanishing as f64);
            return scale(b, m, &self.n);
        }
        let two = (facts.bias + 1) << facts.mantissa;
        let k = facts.vanishing + 2 * facts.bias;
        let bits = b.bits(self.n.carrier);
        let exponent = b.shl(bits, facts.mantissa);
        let k = b.int(k << facts.mantissa);
        let above = b.icmp(IntCompare::Sgt, exponent, k);
        let first = b.select(above, exponent, k);
        let second = b.isub(exponent, first);
        let two = b.int(two);
        let second = b.iadd(second, two);
        let (first, second) = (b.with_bits(first), b.with_bits(second));
        let m = rest.times(b, first);
        b.fmul(m, second)
    }
}

/// What a power of a reduced argument is more than one.
enum Rest {
    /// A number.
    Is(Value),
    /// A product of two.
    Product(Value, Value),
}

impl Rest {
    /// `(1 + rest) * factor`, for a power of two as the factor.
    fn times(&self, b: &mut Builder<'_, '_>, factor: Value) -> Value {
        match *self {
            Rest::Is(rest) => b.mul_add(rest, factor, factor),
            Rest::Product(slope, r) => {
                let scaled = b.fmul(r, factor);
                b.mul_add(slope, scaled, factor)
            }
        }
    }
}

/// `exp(x)`.
pub(super) fn exp(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    exp_of(b, x[0])
}

/// `exp` of any value of the function.
pub(super) fn exp_of(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let range = format(b).exp_range;
    if exponential_table::serves(b) {
        let x = b.at_most(x, range.1);
        return exponential_table::exp(b, x);
    }
    if exponential_quarters::serves(b) {
        return exponential_quarters::exp(b, x, Given::Any);
    }
    let x = within(b, x, range);
    let power = Power::of(b, x, std::f64::consts::LOG2_E);
    let r = reduce_ln2(b, x, power.n.float);
    let rest = expm1_reduced(b, r);
    power.times(b, &Rest::Is(rest))
}

/// `exp(x)` for an `x` that is not positive.
pub(super) fn exp_nonpositive(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    if exponential_table::serves(b) {
        return exponential_table::exp(b, x[0]);
    }
    if exponential_quarters::serves(b) {
        return exponential_quarters::exp(b, x[0], Given::Nonpositive);
    }
    let x = b.at_least(x[0], format(b).exp_range.0);
    let power = Power::small(b, x, std::f64::consts::LOG2_E);
    let r = reduce_ln2(b, x, power.n.float);
    let rest = expm1_reduced(b, r);
    power.times_small(b, &Rest::Is(rest))
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
    let slope = exp2_slope(b, r);
    let one = b.float(1.0);
    b.mul_add(slope, r, one)
}

/// `(2^r - 1) / r` for |r| <= 1/2.
fn exp2_slope(b: &mut Builder<'_, '_>, r: Value) -> Value {
    let square = b.fmul(r, r);
    match b.elem() {
        Elem::F32 => b.polynomial_in_pairs((r, square), &EXP2_F32),
        Elem::F64 => b.polynomial_in_pairs((r, square), &EXP2_F64),
    }
}

/// `2^x`.
pub(super) fn exp2(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let range = format(b).exp2_range;
    if exponential_table::serves(b) {
        let x = b.at_most(x[0], range.1);
        return exponential_table::exp2(b, x);
    }
    if exponential_quarters::serves(b) {
        return exponential_quarters::exp2(b, x[0], Given::Any);
    }
    let x = within(b, x[0], range);
    let power = Power::of(b, x, 1.0);
    let r = b.fsub(x, power.n.float);
    let slope = exp2_slope(b, r);
    power.times(b, &Rest::Product(slope, r))
}

/// `2^x` for an `x` that is not positive.
pub(super) fn exp2_nonpositive(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    if exponential_table::serves(b) {
        return exponential_table::exp2(b, x[0]);
    }
    if exponential_quarters::serves(b) {
        return exponential_quarters::exp2(b, x[0], Given::Nonpositive);
    }
    let x = b.at_least(x[0], format(b).exp2_range.0);
    let power = Power::small(b, x, 1.0);
    let r = b.fsub(x, power.n.float);
    let slope = exp2_slope(b, r);
    power.times_small(b, &Rest::Product(slope, r))
}

/// `tanh(x) = e / (e + 2)` with `e = exp(2 |x|) - 1`, which is exact to a last place where `x` is small as well.
pub(super) fn tanh(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let sign = b.sign_bit(x[0]);
    let x = b.fabs(x[0]);
    // From there on the result rounds to one.
    let x = b.at_most(x, if b.elem() == Elem::F32 { 9.1 } else { 19.1 });
    let e = expm1_doubled(b, x);
    let two = b.float(2.0);
    let sum = b.fadd(e, two);
    let result = b.fdiv(e, sum);
    let result = if b.elem() == Elem::F64 { less_rounded(b, result, (e, sum)) } else { result };
    b.flip_sign(result, sign)
}

/// `exp(2 x) - 1` for an `x` that is neither negative nor large: of few operations that wait for each other.
fn expm1_doubled(b: &mut Builder<'_, '_>, x: Value) -> Value {
    let facts = format(b);
    let doubled = b.fadd(x, x);
    let n = b.round_by(x, 2.0 * std::f64::consts::LOG2_E, facts.magic + facts.bias as f64);
    let r = if b.elem() == Elem::F32 && b.machine.has_fma() {
        // What the nearest number lacks of ln 2 shows only where `e` is so large that it hardly counts.
        let ln2 = b.float(std::f64::consts::LN_2);
        b.neg_mul_add(ln2, n.float, doubled)
    } else {
        reduce_ln2(b, doubled, n.float)
    };
    let bits = b.bits(n.carrier);
    let bits = b.shl(bits, facts.mantissa);
    let power = b.with_bits(bits);
    let one = b.float(1.0);
    let less = b.fsub(power, one);
    let linear = b.mul_add(r, power, less);
    let square = b.fmul(r, r);
    let scaled = b.fmul(square, power);
    let tail = expm1_tail(b, (r, square));
    b.mul_add(tail, scaled, linear)
}

/// `e / (e + 2)` without what the rounding of the sum did to it: `1 / (e + 2)` is half of what the quotient is less
/// than one.
fn less_rounded(b: &mut Builder<'_, '_>, quotient: Value, (e, sum): (Value, Value)) -> Value {
    let (half, one, two) = (b.float(0.5), b.float(1.0), b.float(2.0));
    let kept = b.fsub(sum, two);
    let lost = b.fsub(e, kept);
    let inverse = b.fsub(one, quotient);
    let inverse = b.fmul(inverse, half);
    let by = b.fmul(quotient, lost);
    b.neg_mul_add(by, inverse, quotient)
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
    power.times(b, &Rest::Is(rest))
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
