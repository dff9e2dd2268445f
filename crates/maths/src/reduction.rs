//! Reduction of an angle to `x = q * pi/2 + r` with |r| <= pi/4, exact enough for every finite argument.
//!
//! Moderate arguments subtract multiples of a pi/2 that is cut in parts. If any lane is larger, one
//! branch leaves the vector code and reduces those lanes one by one with a 192-bit product
//! of the mantissa and the matching bits of 2/pi (Payne and Hanek).

use super::Elem;
use super::builder::Builder;
use super::exponential::{Rounded, round_product};
use super::rare::Rare;
use llir::{FloatCompare, Type, Value};

/// A reduced angle: the argument is `quadrant * pi/2 + high + low`.
pub(super) struct Reduced {
    /// The rounded remainder.
    pub(super) high: Value,
    /// What rounding lost; for F32 only if it was asked for.
    pub(super) low: Option<Value>,
    /// An integer whose two lowest bits are the quadrant.
    pub(super) quadrant: Value,
}

/// pi/2 as three singles.
const PI_2_F32: [f64; 3] = [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15];
/// pi/2 as three parts of 33 bits and a rest.
const PI_2_F64: [f64; 4] =
    [1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];

/// Arguments above this take the slow path.
const LIMIT_F32: f64 = 131_072.0;
const LIMIT_F64: f64 = 1_048_576.0;

/// The bits of 2/pi after one word of zeros; word and bit order is big-endian.
pub(crate) const TWO_OVER_PI: [u64; 20] = [
    0,
    0xA2F9_836E_4E44_1529,
    0xFC27_57D1_F534_DDC0,
    0xDB62_9599_3C43_9041,
    0xFE51_63AB_DEBB_C561,
    0xB724_6E3A_424D_D2E0,
    0x0649_2EEA_09D1_921C,
    0xFE1D_EB1C_B129_A73E,
    0xE882_35F5_2EBB_4484,
    0xE99C_7026_B45F_7E41,
    0x3991_D639_8353_39F4,
    0x9C84_5F8B_BDF9_283B,
    0x1FF8_97FF_DE05_980F,
    0xEF2F_118B_5A0A_6D1F,
    0x6D36_7ECF_27CB_09B7,
    0x4F46_3F66_9E5F_EA2D,
    0x7527_BAC7_EBE5_F17B,
    0x3D07_39F7_8A52_92EA,
    0x6BFB_5FB1_1F8D_5D08,
    0x5603_3046_FC7B_6BAB,
];

/// How much of a remainder of singles is wanted; doubles always give both parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    High,
    Both,
}

/// Reduces `x`, which must not be negative.
pub(super) fn reduce(b: &mut Builder<'_, '_>, x: Value, parts: Parts) -> Reduced {
    let n = round_product(b, x, std::f64::consts::FRAC_2_PI);
    let quadrant = b.bits(n.carrier);
    let fast = match b.elem() {
        Elem::F32 if b.machine.has_fma() => reduce_f32_fused(b, x, &n, quadrant, parts),
        Elem::F32 => reduce_f32_widened(b, x, &n, quadrant, parts),
        Elem::F64 => reduce_f64(b, x, &n, quadrant),
    };
    large_lanes(b, x, fast)
}

fn reduce_f32_fused(
    b: &mut Builder<'_, '_>,
    x: Value,
    n: &Rounded,
    quadrant: Value,
    parts: Parts,
) -> Reduced {
    let [first, second, third] = PI_2_F32.map(|part| b.float(part));
    let start = b.neg_mul_add(first, n.float, x);
    if parts == Parts::High {
        let high = b.neg_mul_add(second, n.float, start);
        return Reduced { high: b.neg_mul_add(third, n.float, high), low: None, quadrant };
    }
    // Every rounding error is kept: of the product, of the difference.
    let product = b.fmul(second, n.float);
    let negated = b.fneg(product);
    let product_lost = b.mul_add(second, n.float, negated);
    let high = b.fsub(start, product);
    let moved = b.fsub(high, start);
    let origin = b.fsub(high, moved);
    let start_lost = b.fsub(start, origin);
    let moved_lost = b.fadd(product, moved);
    let lost = b.fsub(start_lost, moved_lost);
    let lost = b.fsub(lost, product_lost);
    let low = b.neg_mul_add(third, n.float, lost);
    Reduced { high, low: Some(low), quadrant }
}

/// Without a fused operation singles lose too much: two steps in doubles instead.
fn reduce_f32_widened(
    b: &mut Builder<'_, '_>,
    x: Value,
    n: &Rounded,
    quadrant: Value,
    parts: Parts,
) -> Reduced {
    let wide_n = b.widen(n.float);
    let mut r = b.widen(x);
    // Taken from the parts of doubles: the difference is exact.
    let rest = (std::f64::consts::FRAC_PI_2 - PI_2_F64[0]) + 6.123_233_995_736_766e-17;
    for part in [PI_2_F64[0], rest] {
        let part = b.float_of(Type::F64, part);
        let product = b.fmul(part, wide_n);
        r = b.fsub(r, product);
    }
    let high = b.narrow(r);
    let low = (parts == Parts::Both).then(|| {
        let kept = b.widen(high);
        let lost = b.fsub(r, kept);
        b.narrow(lost)
    });
    Reduced { high, low, quadrant }
}

fn reduce_f64(b: &mut Builder<'_, '_>, x: Value, n: &Rounded, quadrant: Value) -> Reduced {
    let parts = PI_2_F64.map(|part| b.float(part));
    // The products with the three parts are exact, and so is the first difference.
    let product = b.fmul(n.float, parts[0]);
    let first = b.fsub(x, product);
    let product = b.fmul(n.float, parts[1]);
    let second = b.fsub(first, product);
    let lost = b.fsub(first, second);
    let lost_second = b.fsub(lost, product);
    let product = b.fmul(n.float, parts[2]);
    let third = b.fsub(second, product);
    let lost = b.fsub(second, third);
    let lost_third = b.fsub(lost, product);
    let product = b.fmul(n.float, parts[3]);
    let low = b.fadd(lost_second, lost_third);
    let low = b.fsub(low, product);
    let high = b.fadd(third, low);
    let rest = b.fsub(third, high);
    let low = b.fadd(rest, low);
    Reduced { high, low: Some(low), quadrant }
}

/// Branches to the slow function if any lane is beyond the limit.
fn large_lanes(b: &mut Builder<'_, '_>, x: Value, fast: Reduced) -> Reduced {
    let limit = b.float(if b.elem() == Elem::F32 { LIMIT_F32 } else { LIMIT_F64 });
    let large = b.fcmp(FloatCompare::Ogt, x, limit);
    let mut outputs = vec![fast.high, fast.quadrant];
    outputs.extend(fast.low);
    let joined = b.rarely(large, Rare::ReduceAngle, &[x], &outputs);
    Reduced { high: joined[0], quadrant: joined[1], low: joined.get(2).copied() }
}
