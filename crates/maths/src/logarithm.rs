//! Logarithms: `log`, `log2`, `log10`, `log1p`.
//!
//! `x = 2^e * m` with `m` in `[sqrt(1/2), sqrt(2))`, found by integer arithmetic on the bits; subnormal
//! arguments are scaled up first. `log2` and `log10` keep the leading part of `log(m)` in few bits, so that its
//! product with the constant is exact and the sum with `e` loses nothing.

use super::Elem;
use super::builder::{Builder, Doubles};
use super::exponential::keep_tiny;
use super::short;
use llir::{FloatCompare, Value};

/// `(log(1 + f) - f + f^2 / 2) / f^3`.
const LOG_F32: [f64; 9] = [
    0.05249114707112312,
    -0.10866870731115341,
    0.12123573571443558,
    -0.12559565901756287,
    0.14208868145942688,
    -0.1665874719619751,
    0.20002232491970062,
    -0.25000178813934326,
    0.3333331346511841,
];

/// `(log((1 + s) / (1 - s)) / s - 2) / s^2` as a polynomial in `s^2`.
const LOG_F64: [f64; 7] = [
    0.1479827460509744,
    0.15313830849226065,
    0.18183572394963782,
    0.22222198428439766,
    0.28571428743689525,
    0.39999999999409347,
    0.6666666666666735,
];

struct Format {
    smallest_normal: f64,
    /// The power of two that lifts subnormals, and its exponent.
    lift: (f64, f64),
    /// The bits of sqrt(1/2) and of one.
    half_root_bits: i64,
    one_bits: i64,
    mantissa: i64,
    /// Or-ing an exponent field into these bits gives `float_base + field`.
    float_bits: i64,
    float_base: f64,
    ln2: (f64, f64),
    /// 1 / ln 2, 1 / ln 10 and log10(2), each in two parts.
    inverse_ln2: (f64, f64),
    inverse_ln10: (f64, f64),
    log10_of_2: (f64, f64),
    /// Keeps the leading half of the mantissa.
    head_mask: i64,
}

const F32_FORMAT: Format = Format {
    smallest_normal: 1.175_494_350_822_287_5e-38,
    lift: (8_388_608.0, 23.0),
    half_root_bits: 0x3F35_04F3,
    one_bits: 0x3F80_0000,
    mantissa: 23,
    float_bits: 0x4B00_0000,
    float_base: 8_388_608.0 + 127.0,
    ln2: (0.693_359_375, -2.121_944_400_546_905_8e-4),
    inverse_ln2: (1.442_871_093_75, -1.760_528_610_365_926_4e-4),
    inverse_ln10: (0.434_326_171_875, -3.168_997_174_817_235e-5),
    log10_of_2: (0.301_025_390_625, 4.605_038_981_195_214e-6),
    head_mask: !0xFFF,
};

const F64_FORMAT: Format = Format {
    smallest_normal: f64::MIN_POSITIVE,
    lift: (4_503_599_627_370_496.0, 52.0),
    half_root_bits: 0x3FE6_A09E_667F_3BCD,
    one_bits: 0x3FF0_0000_0000_0000,
    mantissa: 52,
    float_bits: 0x4330_0000_0000_0000,
    float_base: 4_503_599_627_370_496.0 + 1023.0,
    ln2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
    inverse_ln2: (1.442_695_040_721_446_3, 1.675_171_316_488_651_2e-10),
    inverse_ln10: (4.342_944_818_781_689e-1, 2.508_294_671_164_527_5e-11),
    log10_of_2: (3.010_299_956_636_117_7e-1, 3.694_239_077_158_931e-13),
    head_mask: !0xFFFF_FFFF,
};

fn format(b: &Builder<'_, '_>) -> &'static Format {
    match b.elem() {
        Elem::F32 => &F32_FORMAT,
        Elem::F64 => &F64_FORMAT,
    }
}

/// `x = 2^exponent * (1 + fraction)`.
pub(super) struct Split {
    pub(super) exponent: Value,
    pub(super) fraction: Value,
}

/// Splits a positive number; others give something finite that means nothing.
pub(super) fn split(b: &mut Builder<'_, '_>, x: Value) -> Split {
    let facts = format(b);
    let limit = b.float(facts.smallest_normal);
    let tiny = b.fcmp(FloatCompare::Olt, x, limit);
    let lift = b.float(facts.lift.0);
    let lifted = b.fmul(x, lift);
    let x = b.select(tiny, lifted, x);
    let base = b.float(facts.float_base);
    let lifted_base = b.float(facts.float_base + facts.lift.1);
    let base = b.select(tiny, lifted_base, base);

    let bits = b.bits(x);
    let shift = b.int(facts.one_bits - facts.half_root_bits);
    let bits = b.iadd(bits, shift);
    let field = b.lshr(bits, facts.mantissa);
    let float_bits = b.int(facts.float_bits);
    let field = b.ior(field, float_bits);
    let field = b.with_bits(field);
    let exponent = b.fsub(field, base);
    let mask = b.int((1 << facts.mantissa) - 1);
    let mantissa = b.iand(bits, mask);
    let root = b.int(facts.half_root_bits);
    let mantissa = b.iadd(mantissa, root);
    let mantissa = b.with_bits(mantissa);
    let one = b.float(1.0);
    Split { exponent, fraction: b.fsub(mantissa, one) }
}

/// `log(1 + f) = f - half_square + tail`.
struct Series {
    half_square: Value,
    tail: Value,
}

fn series(b: &mut Builder<'_, '_>, f: Value) -> Series {
    let half = b.float(0.5);
    let in_fraction: Option<&[f64]> = match b.elem() {
        Elem::F32 => Some(&LOG_F32),
        Elem::F64 => match b.doubles() {
            Doubles::Full => None,
            Doubles::Short => Some(&short::LOG),
            Doubles::Exponents => Some(&short::LOG_OF_POWERS),
        },
    };
    match in_fraction {
        Some(coefficients) => {
            let square = b.fmul(f, f);
            let polynomial = b.polynomial(f, coefficients);
            let cube = b.fmul(square, f);
            Series { half_square: b.fmul(square, half), tail: b.fmul(cube, polynomial) }
        }
        None => {
            let two = b.float(2.0);
            let sum = b.fadd(f, two);
            let s = b.fdiv(f, sum);
            let z = b.fmul(s, s);
            let polynomial = b.polynomial(z, &LOG_F64);
            let square = b.fmul(f, f);
            let half_square = b.fmul(square, half);
            let inner = b.mul_add(z, polynomial, half_square);
            Series { half_square, tail: b.fmul(s, inner) }
        }
    }
}

/// Infinities and NaN stay, zero gives minus infinity, less than zero gives NaN.
fn special_cases(b: &mut Builder<'_, '_>, x: Value, result: Value) -> Value {
    let infinity = b.float(f64::INFINITY);
    let finite = b.fcmp(FloatCompare::Olt, x, infinity);
    let result = b.select(finite, result, x);
    let zero = b.float(0.0);
    let nan = b.float(f64::NAN);
    let negative = b.fcmp(FloatCompare::Olt, x, zero);
    let result = b.select(negative, nan, result);
    let minus_infinity = b.float(f64::NEG_INFINITY);
    let is_zero = b.fcmp(FloatCompare::Oeq, x, zero);
    b.select(is_zero, minus_infinity, result)
}

/// `log(x)`.
pub(super) fn log(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let Split { exponent, fraction } = split(b, x[0]);
    let Series { half_square, tail } = series(b, fraction);
    let (high, low) = format(b).ln2;
    let (high, low) = (b.float(high), b.float(low));
    let tail = b.mul_add(exponent, low, tail);
    let tail = b.fsub(tail, half_square);
    let sum = b.fadd(fraction, tail);
    let result = b.mul_add(exponent, high, sum);
    special_cases(b, x[0], result)
}

/// `log(x)` times a constant in two parts, plus `exponent_factor` times the exponent.
fn scaled_log(
    b: &mut Builder<'_, '_>,
    x: Value,
    factor: (f64, f64),
    exponent_factor: Option<(f64, f64)>,
) -> Value {
    let Split { exponent, fraction } = split(b, x);
    let Series { half_square, tail } = series(b, fraction);
    let head = b.fsub(fraction, half_square);
    let bits = b.bits(head);
    let mask = b.int(format(b).head_mask);
    let bits = b.iand(bits, mask);
    let head = b.with_bits(bits);
    let rest = b.fsub(fraction, head);
    let rest = b.fsub(rest, half_square);
    let rest = b.fadd(rest, tail);

    let (high, low) = (b.float(factor.0), b.float(factor.1));
    let product = b.fmul(head, high);
    let sum = b.fadd(rest, head);
    let mut small = b.fmul(sum, low);
    small = b.mul_add(rest, high, small);
    let mut whole = exponent;
    if let Some((high, low)) = exponent_factor {
        let (high, low) = (b.float(high), b.float(low));
        small = b.mul_add(exponent, low, small);
        whole = b.fmul(exponent, high);
    }
    let total = b.fadd(whole, product);
    let lost = b.fsub(whole, total);
    let lost = b.fadd(lost, product);
    let small = b.fadd(small, lost);
    let result = b.fadd(small, total);
    special_cases(b, x, result)
}

/// `log2(x)`.
pub(super) fn log2(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let factor = format(b).inverse_ln2;
    scaled_log(b, x[0], factor, None)
}

/// `log10(x)`.
pub(super) fn log10(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let (factor, exponent_factor) = (format(b).inverse_ln10, format(b).log10_of_2);
    scaled_log(b, x[0], factor, Some(exponent_factor))
}

/// `log(1 + x)`: what rounding `1 + x` lost is added to the logarithm of the sum.
pub(super) fn log1p(b: &mut Builder<'_, '_>, x: &[Value]) -> Value {
    let x = x[0];
    let one = b.float(1.0);
    let sum = b.fadd(x, one);
    let kept = b.fsub(sum, one);
    let rest = b.fsub(sum, kept);
    let lost_one = b.fsub(one, rest);
    let lost_x = b.fsub(x, kept);
    let lost = b.fadd(lost_one, lost_x);
    // Of a large sum nothing is lost that counts, and nothing is divided into the subnormals.
    let divisor = b.at_most(sum, 2f64.powi(100));
    let correction = b.fdiv(lost, divisor);

    let Split { exponent, fraction } = split(b, sum);
    let Series { half_square, tail } = series(b, fraction);
    let (high, low) = format(b).ln2;
    let (high, low) = (b.float(high), b.float(low));
    let correction = b.mul_add(exponent, low, correction);
    let tail = b.fadd(tail, correction);
    let tail = b.fsub(tail, half_square);
    let result = b.fadd(fraction, tail);
    let result = b.mul_add(exponent, high, result);
    let result = special_cases(b, sum, result);
    keep_tiny(b, x, result)
}
