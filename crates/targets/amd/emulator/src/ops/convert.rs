//! Casts between integers, floats and addresses.

use super::Decode;
use super::cells::{Kind, low, signed};
use crate::decode::assembly::Components;
use crate::decode::site::{Decoded, Site};
use crate::machine::code::Slot;
use crate::machine::lanes::map;
use crate::machine::place::{FLAT, LDS, LDS_WINDOW, PRIVATE, PRIVATE_WINDOW};
use emulation::Rounding;
use llir::{Op, Scalar, intrinsics};

pub(super) const OPS: &[(Op, Decode)] = &[
    (Op::TRUNC, |site| {
        let mask = low(site.data.ty.lane_bits());
        site.each(move |[a]| a & mask)
    }),
    (Op::ZEXT, alias),
    (Op::SEXT, |site| {
        let (from, to) = (site.ty(0).lane_bits(), site.data.ty.lane_bits());
        site.each(move |[a]| signed(a, from) as u64 & low(to))
    }),
    (Op::FPTRUNC, float_to_float),
    (Op::FPEXT, float_to_float),
    (Op::FPTOSI, |site| to_integer(site, true)),
    (Op::FPTOUI, |site| to_integer(site, false)),
    (Op::SITOFP, |site| from_integer(site, true)),
    (Op::UITOFP, |site| from_integer(site, false)),
    (Op::PTRTOINT, pointer),
    (Op::INTTOPTR, pointer),
    (Op::ADDRSPACECAST, address_space),
    (Op::BITCAST, bitcast),
];

pub(super) static INTRINSICS: super::General = &[
    (&intrinsics::FPTOSI_SAT, |site| to_integer(site, true)),
    (&intrinsics::FPTOUI_SAT, |site| to_integer(site, false)),
];

/// The same cells.
pub(super) fn alias(site: &mut Site<'_, '_>) -> Decoded {
    site.result = site.rows(0)?;
    Ok(())
}

fn float_to_float(site: &mut Site<'_, '_>) -> Decoded {
    let (from, to) = (Kind::of(site.ty(0))?, Kind::of(site.data.ty)?);
    site.each(move |[a]| to.encode(from.decode(a)))
}

/// Cut towards zero; what does not fit becomes the nearest that does, NaN zero.
fn to_integer(site: &mut Site<'_, '_>, is_signed: bool) -> Decoded {
    let kind = Kind::of(site.ty(0))?;
    let bits = site.data.ty.lane_bits();
    let (least, most) = match is_signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, i128::from(low(bits))),
    };
    site.each(move |[a]| (kind.decode(a) as i128).clamp(least, most) as u64 & low(bits))
}

fn from_integer(site: &mut Site<'_, '_>, is_signed: bool) -> Decoded {
    let bits = site.ty(0).lane_bits();
    let kind = Kind::of(site.data.ty)?;
    site.each(move |[a]| {
        let value = if is_signed { i128::from(signed(a, bits)) } else { i128::from(a) };
        match kind {
            Kind::Small(format) => format.encode_integer(value, Rounding::NearestEven),
            Kind::Single => u64::from((value as f32).to_bits()),
            Kind::Double => (value as f64).to_bits(),
        }
    })
}

fn pointer(site: &mut Site<'_, '_>) -> Decoded {
    let mask = low(site.data.ty.lane_bits());
    if site.ty(0).lane_bits() <= site.data.ty.lane_bits() {
        return alias(site);
    }
    site.each(move |[a]| a & mask)
}

fn address_space(site: &mut Site<'_, '_>) -> Decoded {
    let Scalar::Ptr(to) = site.data.ty.kind() else { return Err("an address is expected".to_owned()) };
    let from = site.space(0)?;
    match (from, to) {
        (LDS, FLAT) => site.each(|[a]| a | LDS_WINDOW),
        (PRIVATE, FLAT) => site.each(|[a]| a | PRIVATE_WINDOW),
        (FLAT, LDS | PRIVATE) => site.each(|[a]| a & low(32)),
        (LDS | PRIVATE, _) | (_, LDS | PRIVATE) => {
            Err(format!("an address of space {from} cannot become one of space {to}"))
        }
        _ => alias(site),
    }
}

fn bitcast(site: &mut Site<'_, '_>) -> Decoded {
    let (from, to) = (site.ty(0).lane_bits(), site.data.ty.lane_bits());
    let rows = site.rows(0)?;
    site.result = repack(site, &rows, from, to);
    Ok(())
}

/// The same bits in components of another width.
pub(super) fn repack(site: &mut Site<'_, '_>, rows: &[Slot], from: u32, to: u32) -> Components {
    if from == to {
        return rows.into();
    }
    if from > to {
        let parts = from / to;
        let part = |site: &mut Site<'_, '_>, row: Slot, index: u32| {
            let dest = site.assembly.slot();
            site.push(map(dest, [row], move |[a]| a >> (index * to) & low(to)), &[row], &[dest]);
            dest
        };
        return rows
            .iter()
            .flat_map(|row| (0..parts).map(move |index| (*row, index)))
            .map(|(row, index)| part(site, row, index))
            .collect();
    }
    let parts = (to / from) as usize;
    rows.chunks(parts).map(|chunk| join(site, chunk, from)).collect()
}

/// Components side by side in one, the first lowest.
fn join(site: &mut Site<'_, '_>, rows: &[Slot], bits: u32) -> Slot {
    let mut joined = rows[0];
    for (index, row) in rows.iter().enumerate().skip(1) {
        let dest = site.assembly.slot();
        let shift = index as u32 * bits;
        site.push(map(dest, [joined, *row], move |[a, b]| a | b << shift), &[joined, *row], &[dest]);
        joined = dest;
    }
    joined
}
