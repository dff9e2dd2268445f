//! Integer arithmetic, shifts, bits.

use super::Decode;
use super::cells::{low, signed};
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, LANES};
use crate::machine::lanes::run;
use llir::{Op, intrinsics};

pub(super) const OPS: &[(Op, Decode)] = &[
    (Op::ADD, |site| unsigned(site, u64::wrapping_add)),
    (Op::SUB, |site| unsigned(site, u64::wrapping_sub)),
    (Op::MUL, |site| unsigned(site, u64::wrapping_mul)),
    (Op::AND, |site| unsigned(site, |a, b| a & b)),
    (Op::OR, |site| unsigned(site, |a, b| a | b)),
    (Op::XOR, |site| unsigned(site, |a, b| a ^ b)),
    (Op::UDIV, |site| divide(site, |a, b, _| a.checked_div(b))),
    (Op::UREM, |site| divide(site, |a, b, _| a.checked_rem(b))),
    (Op::SDIV, |site| divide(site, |a, b, bits| signed_pair(a, b, bits, i64::checked_div))),
    (Op::SREM, |site| divide(site, |a, b, bits| signed_pair(a, b, bits, i64::checked_rem))),
    (Op::SHL, |site| divide(site, |a, b, bits| (b < u64::from(bits)).then(|| a << b))),
    (Op::LSHR, |site| divide(site, |a, b, bits| (b < u64::from(bits)).then(|| a >> b))),
    (Op::ASHR, |site| {
        divide(site, |a, b, bits| (b < u64::from(bits)).then(|| (signed(a, bits) >> b) as u64))
    }),
];

pub(super) static INTRINSICS: super::General = &[
    (&intrinsics::ABS, abs),
    (&intrinsics::SMAX, |site| with_sign(site, i64::max)),
    (&intrinsics::SMIN, |site| with_sign(site, i64::min)),
    (&intrinsics::UMAX, |site| unsigned(site, u64::max)),
    (&intrinsics::UMIN, |site| unsigned(site, u64::min)),
    (&intrinsics::SADD_SAT, |site| saturate(site, |a, b| a + b)),
    (&intrinsics::SSUB_SAT, |site| saturate(site, |a, b| a - b)),
    (&intrinsics::UADD_SAT, unsigned_add_sat),
    (&intrinsics::USUB_SAT, |site| unsigned(site, u64::saturating_sub)),
    (&intrinsics::CTPOP, |site| bits1(site, |a, _| u64::from(a.count_ones()))),
    (&intrinsics::CTLZ, |site| bits1(site, |a, bits| u64::from(a.leading_zeros()) - u64::from(64 - bits))),
    (&intrinsics::CTTZ, |site| bits1(site, |a, bits| u64::from(a.trailing_zeros().min(bits)))),
    (&intrinsics::BITREVERSE, |site| bits1(site, |a, bits| a.reverse_bits() >> (64 - bits))),
    (&intrinsics::BSWAP, |site| bits1(site, |a, bits| a.swap_bytes() >> (64 - bits))),
    (&intrinsics::FSHL, |site| funnel(site, true)),
    (&intrinsics::FSHR, |site| funnel(site, false)),
    (&intrinsics::SADD_WITH_OVERFLOW, |site| overflow(site, |a, b| a + b, true)),
    (&intrinsics::SSUB_WITH_OVERFLOW, |site| overflow(site, |a, b| a - b, true)),
    (&intrinsics::SMUL_WITH_OVERFLOW, |site| overflow(site, |a, b| a * b, true)),
    (&intrinsics::UADD_WITH_OVERFLOW, |site| overflow(site, |a, b| a + b, false)),
    (&intrinsics::USUB_WITH_OVERFLOW, |site| overflow(site, |a, b| a - b, false)),
    (&intrinsics::UMUL_WITH_OVERFLOW, |site| overflow(site, |a, b| a * b, false)),
];

fn width(site: &Site<'_, '_>) -> Result<u32, String> {
    site.widths(0)?.first().copied().ok_or_else(|| "an operand is missing".to_owned())
}

/// A result that is cut to its width.
fn unsigned(site: &mut Site<'_, '_>, f: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static) -> Decoded {
    let mask = low(width(site)?);
    site.each(move |[a, b]| f(a, b) & mask)
}

fn with_sign(site: &mut Site<'_, '_>, f: impl Fn(i64, i64) -> i64 + Copy + Send + Sync + 'static) -> Decoded {
    let bits = width(site)?;
    site.each(move |[a, b]| f(signed(a, bits), signed(b, bits)) as u64 & low(bits))
}

fn signed_pair(a: u64, b: u64, bits: u32, f: fn(i64, i64) -> Option<i64>) -> Option<u64> {
    let (a, b) = (signed(a, bits), signed(b, bits));
    if a == signed(1 << (bits - 1), bits) && b == -1 { None } else { f(a, b).map(|value| value as u64) }
}

/// A result that may be none, which is not known then.
fn divide(
    site: &mut Site<'_, '_>,
    f: impl Fn(u64, u64, u32) -> Option<u64> + Copy + Send + Sync + 'static,
) -> Decoded {
    let bits = width(site)?;
    let mask = low(bits);
    let (a, b) = (site.rows(0)?, site.rows(1)?);
    let dests = site.dests()?;
    for ((a, b), dest) in a.into_iter().zip(b).zip(dests) {
        let execute = run(move |step| {
            let mut out = [0; LANES];
            let mut known = step.wave.known(a) & step.wave.known(b);
            for lane in step.lanes() {
                match f(step.get(a, lane), step.get(b, lane), bits) {
                    Some(value) => out[lane] = value & mask,
                    None => known &= !(1 << lane),
                }
            }
            step.set(dest, &out);
            step.know(dest, known);
            Ok(Flow::Next)
        });
        site.add(execute, Rows { reads: &[a, b], writes: &[dest], knows: true, ..Rows::default() });
    }
    Ok(())
}

fn abs(site: &mut Site<'_, '_>) -> Decoded {
    let bits = width(site)?;
    bits1(site, move |a, _| signed(a, bits).unsigned_abs() & low(bits))
}

fn bits1(site: &mut Site<'_, '_>, f: impl Fn(u64, u32) -> u64 + Copy + Send + Sync + 'static) -> Decoded {
    let bits = width(site)?;
    site.each(move |[a]| f(a, bits))
}

fn saturate(
    site: &mut Site<'_, '_>,
    f: impl Fn(i128, i128) -> i128 + Copy + Send + Sync + 'static,
) -> Decoded {
    let bits = width(site)?;
    let most = (low(bits) >> 1) as i128;
    site.each(move |[a, b]| {
        let value = f(i128::from(signed(a, bits)), i128::from(signed(b, bits)));
        value.clamp(-most - 1, most) as u64 & low(bits)
    })
}

fn unsigned_add_sat(site: &mut Site<'_, '_>) -> Decoded {
    let mask = low(width(site)?);
    unsigned(site, move |a, b| a.saturating_add(b).min(mask))
}

fn funnel(site: &mut Site<'_, '_>, left: bool) -> Decoded {
    let bits = width(site)?;
    site.each(move |[high, low_half, by]| {
        let by = (by % u64::from(bits)) as u32;
        let both = u128::from(high) << bits | u128::from(low_half);
        let shifted = if left { both << by >> bits } else { both >> by };
        shifted as u64 & low(bits)
    })
}

fn overflow(
    site: &mut Site<'_, '_>,
    f: impl Fn(i128, i128) -> i128 + Copy + Send + Sync + 'static,
    has_sign: bool,
) -> Decoded {
    use crate::machine::lanes::map;
    let bits = width(site)?;
    let (a, b) = (site.rows(0)?, site.rows(1)?);
    let dests = site.dests()?;
    let exact = move |[a, b]: [u64; 2]| match has_sign {
        true => f(i128::from(signed(a, bits)), i128::from(signed(b, bits))),
        false => f(i128::from(a), i128::from(b)),
    };
    let fits = move |value: i128| match has_sign {
        true => value == i128::from(signed(value as u64, bits)),
        false => value >= 0 && value <= i128::from(low(bits)),
    };
    for (index, (a, b)) in a.iter().copied().zip(b).enumerate() {
        let (value, flag) = (dests[index], dests[index + dests.len() / 2]);
        site.push(map(value, [a, b], move |pair| exact(pair) as u64 & low(bits)), &[a, b], &[value]);
        site.push(map(flag, [a, b], move |pair| u64::from(!fits(exact(pair)))), &[a, b], &[flag]);
    }
    Ok(())
}
