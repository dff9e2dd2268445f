//! Reduction of an angle to `x = q * pi/2 + r` with |r| <= pi/4, exact enough for every finite argument.
//!
//! Moderate arguments subtract multiples of a pi/2 that is cut in parts. If any lane is larger, one
//! branch leaves the vector code and reduces those lanes one by one with a 192-bit product
//! of the mantissa and the matching bits of 2/pi (Payne and Hanek).

use super::Elem;
use super::builder::{Builder, Rounded};
use super::exponential::round_product;
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
pub(super) const LIMIT_F32: f64 = 131_072.0;
const LIMIT_F64: f64 = 1_048_576.0;

/// How much of a remainder of singles is wanted; doubles give both parts, but one if singles are made of them.
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
        Elem::F64 if b.is_rounded() => Reduced { high: reduce_doubles(b, x, n.float), low: None, quadrant },
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

/// Two steps in doubles, for a remainder that is rounded to a single.
fn reduce_doubles(b: &mut Builder<'_, '_>, x: Value, n: Value) -> Value {
    // Taken from the parts of doubles: the difference is exact.
    let rest = (std::f64::consts::FRAC_PI_2 - PI_2_F64[0]) + 6.123_233_995_736_766e-17;
    [PI_2_F64[0], rest].into_iter().fold(x, |r, part| {
        let part = b.float_of(Type::F64, part);
        let product = b.fmul(part, n);
        b.fsub(r, product)
    })
}

/// Without a fused operation singles lose too much: two steps in doubles instead.
fn reduce_f32_widened(
    b: &mut Builder<'_, '_>,
    x: Value,
    n: &Rounded,
    quadrant: Value,
    parts: Parts,
) -> Reduced {
    let (wide_x, wide_n) = (b.widen(x), b.widen(n.float));
    let r = reduce_doubles(b, wide_x, wide_n);
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
