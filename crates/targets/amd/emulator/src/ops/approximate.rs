//! Instructions that approximate, and arithmetic that LLVM has no word of its own for.
//!
//! An approximation gives the correctly rounded value, which is within what the manual documents. `v_exp`, `v_log`,
//! `v_rcp`, `v_rsq` and `v_sqrt` of singles take and give no denormals.

use super::cells::{Kind, low, signed};
use crate::decode::site::{Decoded, Site};
use amdgcn_isa::convert;
use emulation::arithmetic;

pub(super) static INTRINSICS: super::Own = &[
    (&convert::EXP2, |site| approximate(site, f64::exp2)),
    (&convert::LOG, |site| approximate(site, f64::log2)),
    (&convert::RCP, |site| approximate(site, f64::recip)),
    (&convert::RSQ, |site| approximate(site, |value| value.sqrt().recip())),
    (&convert::SQRT, |site| approximate(site, f64::sqrt)),
    (&convert::SIN, |site| approximate(site, |turns| (turns.fract() * std::f64::consts::TAU).sin())),
    (&convert::COS, |site| approximate(site, |turns| (turns.fract() * std::f64::consts::TAU).cos())),
    (&convert::FRACT, fract),
    (&convert::FREXP_MANT, |site| {
        let kind = Kind::of(site.ty(0))?;
        site.each(move |[a]| kind.encode(parts(kind.decode(a)).0))
    }),
    (&convert::FREXP_EXP_I32, |site| {
        let kind = Kind::of(site.ty(0))?;
        site.each(move |[a]| i64::from(parts(kind.decode(a)).1) as u64 & low(32))
    }),
    (&convert::FMED3, middle),
    (&convert::FMA_LEGACY, |site| {
        site.each(|[a, b, c]| {
            let [a, b, c] = [a, b, c].map(|cell| f32::from_bits(cell as u32));
            let value = if a == 0.0 || b == 0.0 { c } else { a.mul_add(b, c) };
            u64::from(value.to_bits())
        })
    }),
    (&convert::MUL_U24, |site| site.each(|[a, b]| ((a & low(24)) * (b & low(24))) & low(32))),
    (&convert::MUL_I24, |site| {
        site.each(|[a, b]| (signed(a & low(24), 24) * signed(b & low(24), 24)) as u64 & low(32))
    }),
    (&convert::UBFE, |site| site.each(|[value, at, count]| value >> (at & 31) & bits(count))),
    (&convert::SBFE, |site| {
        site.each(|[value, at, count]| match count & 31 {
            0 => 0,
            width => signed(value >> (at & 31) & bits(width), width as u32) as u64 & low(32),
        })
    }),
];

/// As many ones as the low five bits say.
fn bits(count: u64) -> u64 {
    (1 << (count & 31)) - 1
}

fn approximate(site: &mut Site<'_, '_>, f: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    let flush = move |cell: u64| match kind {
        Kind::Single => u64::from(arithmetic::flush(f32::from_bits(cell as u32)).to_bits()),
        _ => cell,
    };
    site.each(move |[a]| flush(kind.encode(f(kind.decode(flush(a))))))
}

/// What is behind the point, below one even where rounding would make it one.
fn fract(site: &mut Site<'_, '_>) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    let one = kind.encode(1.0);
    site.each(move |[a]| {
        let value = kind.decode(a);
        let rest = kind.encode(value - value.floor());
        if rest == one { one - 1 } else { rest }
    })
}

/// Mantissa from 0.5 to 1 and exponent; of what has none itself and 0.
fn parts(value: f64) -> (f64, i32) {
    if value == 0.0 || !value.is_finite() { (value, 0) } else { libm::frexp(value) }
}

/// The middle of three; with a NaN among them the smallest.
fn middle(site: &mut Site<'_, '_>) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    site.each(move |[a, b, c]| {
        let [x, y, z] = [a, b, c].map(|cell| kind.decode(cell));
        let least = |a, b| arithmetic::minimum(a, b, false);
        let most = |a, b| arithmetic::maximum(a, b, false);
        let value = if x.is_nan() || y.is_nan() || z.is_nan() {
            least(least(x, y), z)
        } else {
            most(least(x, y), least(most(x, y), z))
        };
        kind.encode(value)
    })
}
