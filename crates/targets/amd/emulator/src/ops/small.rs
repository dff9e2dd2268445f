//! Conversions of 8-bit floats (FNUZ on gfx942, OCP elsewhere) and to halves towards zero.

use super::cells::{Kind, low};
use crate::decode::site::{Decoded, Site};
use crate::machine::lanes::map;
use amdgcn_isa::{Arch, convert};
use emulation::{E4M3, E4M3_FNUZ, E5M2, E5M2_FNUZ, F16, Format, Rounding};

pub(super) static INTRINSICS: super::Own = &[
    (&convert::CVT_PK_FP8_F32, |site| pack(site, fp8(site.arch()))),
    (&convert::CVT_PK_BF8_F32, |site| pack(site, bf8(site.arch()))),
    (&convert::CVT_SR_FP8_F32, |site| stochastic(site, fp8(site.arch()))),
    (&convert::CVT_SR_BF8_F32, |site| stochastic(site, bf8(site.arch()))),
    (&convert::CVT_F32_FP8, |site| unpack(site, fp8(site.arch()))),
    (&convert::CVT_F32_BF8, |site| unpack(site, bf8(site.arch()))),
    (&convert::CVT_PK_F32_FP8, |site| unpack_two(site, fp8(site.arch()))),
    (&convert::CVT_PK_F32_BF8, |site| unpack_two(site, bf8(site.arch()))),
    (&convert::CVT_PKRTZ, to_halves),
];

/// The format that an architecture calls fp8.
pub(super) fn fp8(arch: Arch) -> Format {
    if arch == Arch::Gfx942 { E4M3_FNUZ } else { E4M3 }
}

/// The format that an architecture calls bf8.
pub(super) fn bf8(arch: Arch) -> Format {
    if arch == Arch::Gfx942 { E5M2_FNUZ } else { E5M2 }
}

fn pack(site: &mut Site<'_, '_>, format: Format) -> Decoded {
    let rows = [site.row(0)?, site.row(1)?, site.row(2)?];
    let shift = 16 * (site.constant(3)? & 1);
    let dest = site.dest()?;
    let byte = move |cell: u64| format.encode(Kind::Single.decode(cell), Rounding::NearestEven);
    let f = move |[a, b, old]: [u64; 3]| old & !(0xffff << shift) | (byte(a) | byte(b) << 8) << shift;
    // The other half may be anything where nobody looks at it: then only the new bytes have to be known.
    if site.is_anything(2) {
        let zero = site.bits(0);
        site.push(map(dest, [rows[0], rows[1], zero], f), &rows[..2], &[dest]);
    } else {
        site.push(map(dest, rows, f), &rows, &[dest]);
    }
    Ok(())
}

/// Random bits are added below the last place that is kept, and the rest is cut off.
fn stochastic(site: &mut Site<'_, '_>, format: Format) -> Decoded {
    let rows = [site.row(0)?, site.row(1)?, site.row(2)?];
    let shift = 8 * (site.constant(3)? & 3);
    let dest = site.dest()?;
    let f = move |[value, random, old]: [u64; 3]| {
        let kept = 23 - format.fraction;
        let bits = value as u32;
        let is_number = f32::from_bits(bits).is_finite();
        let noisy = if is_number { bits.wrapping_add(random as u32 >> (32 - kept)) } else { bits };
        let byte = format.encode(f64::from(f32::from_bits(noisy)), Rounding::Zero);
        old & !(0xff << shift) & low(32) | byte << shift
    };
    site.push(map(dest, rows, f), &rows, &[dest]);
    Ok(())
}

fn unpack(site: &mut Site<'_, '_>, format: Format) -> Decoded {
    let row = site.row(0)?;
    let shift = 8 * (site.constant(1)? & 3);
    let dest = site.dest()?;
    let f = move |[a]: [u64; 1]| Kind::Single.encode(format.decode(a >> shift & 0xff));
    site.push(map(dest, [row], f), &[row], &[dest]);
    Ok(())
}

fn unpack_two(site: &mut Site<'_, '_>, format: Format) -> Decoded {
    let row = site.row(0)?;
    let first = 16 * (site.constant(1)? & 1);
    let dests = site.dests()?;
    for (index, dest) in dests.into_iter().enumerate() {
        let shift = first + 8 * index as u64;
        let f = move |[a]: [u64; 1]| Kind::Single.encode(format.decode(a >> shift & 0xff));
        site.push(map(dest, [row], f), &[row], &[dest]);
    }
    Ok(())
}

fn to_halves(site: &mut Site<'_, '_>) -> Decoded {
    let rows = [site.row(0)?, site.row(1)?];
    let dests = site.dests()?;
    for (row, dest) in rows.into_iter().zip(dests) {
        let f = |[a]: [u64; 1]| F16.encode(Kind::Single.decode(a), Rounding::Zero);
        site.push(map(dest, [row], f), &[row], &[dest]);
    }
    Ok(())
}
