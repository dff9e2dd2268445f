//! Floating-point arithmetic, rounded once, and the elementary functions that LLVM has.

use super::Decode;
use super::cells::Kind;
use crate::decode::site::{Decoded, Site};
use emulation::{F16, F32, Rounding, arithmetic};
use llir::{Op, intrinsics};

pub(super) const OPS: &[(Op, Decode)] = &[
    (Op::FADD, |site| binary(site, |a, b| a + b, |a, b| a + b)),
    (Op::FSUB, |site| binary(site, |a, b| a - b, |a, b| a - b)),
    (Op::FMUL, |site| binary(site, |a, b| a * b, |a, b| a * b)),
    (Op::FDIV, |site| binary(site, |a, b| a / b, |a, b| a / b)),
    (Op::FREM, |site| binary(site, |a, b| a % b, |a, b| a % b)),
    (Op::FNEG, |site| sign(site, |a, sign| a ^ sign)),
];

pub(super) static INTRINSICS: super::General = &[
    (&intrinsics::FABS, |site| sign(site, |a, sign| a & !sign)),
    (&intrinsics::COPYSIGN, copysign),
    (&intrinsics::CANONICALIZE, |site| unary(site, |a| a)),
    (&intrinsics::CEIL, |site| unary(site, f64::ceil)),
    (&intrinsics::FLOOR, |site| unary(site, f64::floor)),
    (&intrinsics::TRUNC, |site| unary(site, f64::trunc)),
    (&intrinsics::ROUND, |site| unary(site, f64::round)),
    (&intrinsics::RINT, |site| unary(site, f64::round_ties_even)),
    (&intrinsics::NEARBYINT, |site| unary(site, f64::round_ties_even)),
    (&intrinsics::ROUNDEVEN, |site| unary(site, f64::round_ties_even)),
    (&intrinsics::SQRT, |site| unary(site, f64::sqrt)),
    (&intrinsics::EXP, |site| unary(site, f64::exp)),
    (&intrinsics::EXP2, |site| unary(site, f64::exp2)),
    (&intrinsics::LOG, |site| unary(site, f64::ln)),
    (&intrinsics::LOG2, |site| unary(site, f64::log2)),
    (&intrinsics::LOG10, |site| unary(site, f64::log10)),
    (&intrinsics::SIN, |site| unary(site, f64::sin)),
    (&intrinsics::COS, |site| unary(site, f64::cos)),
    (&intrinsics::POW, |site| binary(site, f64::powf, f32::powf)),
    (&intrinsics::FMA, fma),
    (&intrinsics::FMULADD, fma),
    (&intrinsics::MINNUM, |site| both(site, |a, b| arithmetic::minimum(a, b, false))),
    (&intrinsics::MAXNUM, |site| both(site, |a, b| arithmetic::maximum(a, b, false))),
    (&intrinsics::MINIMUM, |site| both(site, |a, b| arithmetic::minimum(a, b, true))),
    (&intrinsics::MAXIMUM, |site| both(site, |a, b| arithmetic::maximum(a, b, true))),
    (&intrinsics::LDEXP, ldexp),
    (&intrinsics::IS_FPCLASS, is_class),
];

/// A function of one number, rounded to nearest.
pub(super) fn unary(
    site: &mut Site<'_, '_>,
    f: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    site.each(move |[a]| kind.encode(f(kind.decode(a))))
}

/// A function of two numbers, with one of its own for singles.
fn binary(
    site: &mut Site<'_, '_>,
    f: impl Fn(f64, f64) -> f64 + Copy + Send + Sync + 'static,
    single: impl Fn(f32, f32) -> f32 + Copy + Send + Sync + 'static,
) -> Decoded {
    match Kind::of(site.ty(0))? {
        Kind::Single => site.each(move |[a, b]| {
            u64::from(single(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits())
        }),
        kind => site.each(move |[a, b]| kind.encode(f(kind.decode(a), kind.decode(b)))),
    }
}

/// A function of two numbers that gives one of them.
fn both(site: &mut Site<'_, '_>, f: impl Fn(f64, f64) -> f64 + Copy + Send + Sync + 'static) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    site.each(move |[a, b]| kind.encode(f(kind.decode(a), kind.decode(b))))
}

/// What only touches the sign.
fn sign(site: &mut Site<'_, '_>, f: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static) -> Decoded {
    let bit = 1 << (Kind::of(site.ty(0))?.bits() - 1);
    site.each(move |[a]| f(a, bit))
}

fn copysign(site: &mut Site<'_, '_>) -> Decoded {
    let bit = 1u64 << (Kind::of(site.ty(0))?.bits() - 1);
    site.each(move |[a, b]| a & !bit | b & bit)
}

fn fma(site: &mut Site<'_, '_>) -> Decoded {
    match Kind::of(site.ty(0))? {
        Kind::Double => {
            site.each(|[a, b, c]| f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits())
        }
        Kind::Single => site.each(|[a, b, c]| {
            let [a, b, c] = [a, b, c].map(|cell| f32::from_bits(cell as u32));
            u64::from(single_fma(a, b, c).to_bits())
        }),
        Kind::Small(format) => site.each(move |[a, b, c]| {
            let [a, b, c] = [a, b, c].map(|cell| format.decode(cell));
            arithmetic::fma(a, b, c, Rounding::NearestEven).encode(format, Rounding::NearestEven)
        }),
    }
}

/// `a * b + c`, rounded once. The product is exact as a double; only where the sum is not does the slow way decide.
fn single_fma(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let addend = f64::from(c);
    let sum = product + addend;
    // A double that is no tie of singles rounds as the exact sum does.
    if sum.to_bits() & 0x1fff_ffff != 0x1000_0000 && (sum as f32).is_normal() {
        return sum as f32;
    }
    f32::from_bits(
        arithmetic::fma(f64::from(a), f64::from(b), addend, Rounding::NearestEven)
            .encode(F32, Rounding::NearestEven) as u32,
    )
}

fn ldexp(site: &mut Site<'_, '_>) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    let bits = site.widths(1)?[0];
    site.each(move |[a, by]| {
        let by = super::cells::signed(by, bits).clamp(-5000, 5000) as i32;
        kind.encode(libm::scalbn(kind.decode(a), by))
    })
}

/// The ten classes of numbers, by their bits in the mask.
fn is_class(site: &mut Site<'_, '_>) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    let wanted = site.constant(1)?;
    let smallest = match kind {
        Kind::Small(F16) => 2f64.powi(-14),
        Kind::Small(_) | Kind::Single => 2f64.powi(-126),
        Kind::Double => f64::MIN_POSITIVE,
    };
    let row = site.rows(0)?;
    let dests = site.dests()?;
    for (source, dest) in row.into_iter().zip(dests) {
        let execute = crate::machine::lanes::map(dest, [source], move |[a]| {
            let value = kind.decode(a);
            let quiet = a >> (mantissa(kind) - 1) & 1 == 1;
            wanted >> class(value, quiet, smallest) & 1
        });
        site.push(execute, &[source], &[dest]);
    }
    Ok(())
}

fn mantissa(kind: Kind) -> u32 {
    match kind {
        Kind::Small(format) => format.fraction,
        Kind::Single => 23,
        Kind::Double => 52,
    }
}

fn class(value: f64, quiet: bool, smallest: f64) -> u32 {
    if value.is_nan() {
        return u32::from(quiet);
    }
    let below = match value.abs() {
        magnitude if magnitude.is_infinite() => 2,
        magnitude if magnitude >= smallest => 3,
        magnitude if magnitude > 0.0 => 4,
        _ => 5,
    };
    if value.is_sign_negative() { below } else { 11 - below }
}

#[cfg(test)]
mod tests {
    use super::{class, single_fma};
    use proptest::prelude::{any, proptest};

    proptest! {
        #[test]
        fn fused_sums_round_once(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
            let (ours, exact) = (single_fma(a, b, c), a.mul_add(b, c));
            assert!(ours.to_bits() == exact.to_bits() || (ours.is_nan() && exact.is_nan()), "{a} {b} {c}");
            // A sum that is a tie of singles but for the last bits of the product.
            let near = 1.0 + (a.to_bits() & 0xfff) as f32 * f32::EPSILON;
            assert_eq!(single_fma(near, near, 1e-20), near.mul_add(near, 1e-20));
        }
    }

    #[test]
    fn classes_have_the_numbers_of_llvm() {
        let smallest = f64::from(f32::MIN_POSITIVE);
        assert_eq!(class(f64::NEG_INFINITY, false, smallest), 2);
        assert_eq!(class(-1.0, false, smallest), 3);
        assert_eq!(class(-1e-40, false, smallest), 4);
        assert_eq!(class(-0.0, false, smallest), 5);
        assert_eq!(class(0.0, false, smallest), 6);
        assert_eq!(class(1e-40, false, smallest), 7);
        assert_eq!(class(f64::INFINITY, false, smallest), 9);
        assert_eq!((class(f64::NAN, false, smallest), class(f64::NAN, true, smallest)), (0, 1));
    }
}
