//! Lanes of a warp reading each other's values. What an inactive lane gives is what the manuals say: zero to
//! `ds_bpermute`, `ds_swizzle` and to patterns with bound control, the old value to others, its register to `readlane`.

use super::cells::low;
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, LANES, NOWHERE, Slot};
use crate::machine::lanes::{map, run};
use crate::machine::step::Step;
use amdgcn_isa::exchange;
use emulation::Fault;

pub(super) static INTRINSICS: super::Own = &[
    (&exchange::MBCNT_LO, |site| count_below(site, 0)),
    (&exchange::MBCNT_HI, |site| count_below(site, 32)),
    (&exchange::READFIRSTLANE, read_first),
    (&exchange::READLANE, read_lane),
    (&exchange::WRITELANE, write_lane),
    (&exchange::BALLOT, ballot),
    (&exchange::BALLOT_32, ballot),
    (&exchange::DS_BPERMUTE, pull),
    (&exchange::DS_PERMUTE, push),
    (&exchange::DS_SWIZZLE, swizzle),
    (&exchange::MOV_DPP, |site| {
        let value = site.row(0)?;
        data_parallel(site, NOWHERE, value, 1)
    }),
    (&exchange::UPDATE_DPP, |site| {
        let (old, value) = (site.row(0)?, site.row(1)?);
        data_parallel(site, old, value, 2)
    }),
    (&exchange::MOV_DPP8, eight),
    (&exchange::PERMLANE16, |site| permlane(site, 0)),
    (&exchange::PERMLANEX16, |site| permlane(site, 16)),
    (&exchange::PERMLANE16_SWAP, |site| swap(site, 16)),
    (&exchange::PERMLANE32_SWAP, |site| swap(site, 32)),
    (&exchange::PERM, bytes),
    (&exchange::ALIGNBYTE, |site| {
        site.each(|[high, low_half, by]| (high << 32 | low_half) >> (8 * (by & 3)) & low(32))
    }),
];

/// Where a lane gets its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// From a lane.
    Lane(usize),
    Zero,
    /// It keeps the old value.
    Old,
}

/// Every lane's result comes from a lane, or is zero, or the old value.
fn exchange(
    step: &mut Step<'_, '_>,
    [dest, value, old]: [Slot; 3],
    from: impl Fn(&Step<'_, '_>, usize) -> From,
) -> Result<Flow, Box<Fault>> {
    let (mut out, mut known) = ([0; LANES], 0u64);
    for lane in step.lanes() {
        let (cell, good) = match from(step, lane) {
            From::Lane(source) => (step.get(value, source), step.wave.known(value) >> source & 1),
            From::Zero => (0, 1),
            From::Old => (step.get(old, lane), step.wave.known(old) >> lane & 1),
        };
        out[lane] = cell;
        known |= good << lane;
    }
    step.set(dest, &out);
    step.know(dest, known);
    Ok(Flow::Next)
}

/// Adds an exchange; `steers` are the rows that say who reads whom.
fn add(
    site: &mut Site<'_, '_>,
    value: Slot,
    old: Slot,
    steers: &[Slot],
    from: impl Fn(&Step<'_, '_>, usize) -> From + Send + Sync + 'static,
) -> Decoded {
    let dest = site.dest()?;
    let execute = run(move |step| exchange(step, [dest, value, old], &from));
    site.add(execute, Rows { reads: &[value], writes: &[dest], sinks: steers, knows: true });
    Ok(())
}

fn is_active(step: &Step<'_, '_>, lane: usize) -> bool {
    step.mask >> lane & 1 == 1
}

/// A lane that must be active to give its value.
fn or_zero(step: &Step<'_, '_>, lane: usize) -> From {
    if is_active(step, lane) { From::Lane(lane) } else { From::Zero }
}

fn count_below(site: &mut Site<'_, '_>, first: usize) -> Decoded {
    let (mask, base, dest) = (site.row(0)?, site.row(1)?, site.dest()?);
    let execute = run(move |step| {
        let mut out = [0; LANES];
        for lane in step.lanes() {
            let below = match lane.saturating_sub(first) {
                0 => 0,
                count => low(count.min(32) as u32),
            };
            let bits = (step.get(mask, lane) & below).count_ones();
            out[lane] = (step.get(base, lane) + u64::from(bits)) & low(32);
        }
        step.set(dest, &out);
        Ok(Flow::Next)
    });
    site.push(execute, &[mask, base], &[dest]);
    Ok(())
}

fn read_first(site: &mut Site<'_, '_>) -> Decoded {
    let value = site.row(0)?;
    add(site, value, NOWHERE, &[], |step, _| From::Lane(step.mask.trailing_zeros() as usize))
}

fn read_lane(site: &mut Site<'_, '_>) -> Decoded {
    let (value, which) = (site.row(0)?, site.row(1)?);
    let (dest, lanes) = (site.dest()?, u64::from(site.wave()));
    let execute = run(move |step| {
        let lane = (step.uniform(which, "the lane that is read")? % lanes) as usize;
        exchange(step, [dest, value, NOWHERE], |_, _| From::Lane(lane))
    });
    site.add(execute, Rows { reads: &[value], writes: &[dest], sinks: &[which], knows: true });
    Ok(())
}

fn write_lane(site: &mut Site<'_, '_>) -> Decoded {
    let (value, which, old) = (site.row(0)?, site.row(1)?, site.row(2)?);
    let (dest, lanes) = (site.dest()?, u64::from(site.wave()));
    let execute = run(move |step| {
        let target = (step.uniform(which, "the lane that is written")? % lanes) as usize;
        exchange(
            step,
            [dest, value, old],
            |_, lane| if lane == target { From::Lane(lane) } else { From::Old },
        )
    });
    site.add(execute, Rows { reads: &[value, old], writes: &[dest], sinks: &[which], knows: true });
    Ok(())
}

fn ballot(site: &mut Site<'_, '_>) -> Decoded {
    let (condition, dest) = (site.row(0)?, site.dest()?);
    let execute = run(move |step| {
        let lanes = step.wave.truth(condition) & step.mask;
        let known = step.mask & !step.wave.known(condition) == 0;
        step.set(dest, &[lanes; LANES]);
        step.know(dest, if known { u64::MAX } else { 0 });
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &[condition], writes: &[dest], knows: true, ..Rows::default() });
    Ok(())
}

fn pull(site: &mut Site<'_, '_>) -> Decoded {
    let (address, value) = (site.row(0)?, site.row(1)?);
    let lanes = u64::from(site.wave());
    add(site, value, NOWHERE, &[address], move |step, lane| {
        or_zero(step, (step.get(address, lane) / 4 % lanes) as usize)
    })
}

/// Of several that send to one lane the last is there; nobody sent is zero.
fn push(site: &mut Site<'_, '_>) -> Decoded {
    let (address, value) = (site.row(0)?, site.row(1)?);
    let lanes = u64::from(site.wave());
    add(site, value, NOWHERE, &[address], move |step, lane| {
        let sends = |from: &usize| (step.get(address, *from) / 4 % lanes) as usize == lane;
        step.lanes().filter(sends).last().map_or(From::Zero, From::Lane)
    })
}

fn swizzle(site: &mut Site<'_, '_>) -> Decoded {
    let value = site.row(0)?;
    let pattern = site.constant(1)? as usize;
    if pattern >= 0xc000 {
        return Err(format!("the pattern {pattern:#x} of ds_swizzle cannot be run"));
    }
    add(site, value, NOWHERE, &[], move |step, lane| {
        let source = if pattern & 0x8000 != 0 {
            lane & !3 | pattern >> (2 * (lane & 3)) & 3
        } else {
            let within = (lane & 31 & pattern & 31 | pattern >> 5 & 31) ^ pattern >> 10 & 31;
            lane & !31 | within
        };
        or_zero(step, source)
    })
}

/// The lane that a control of `v_mov_dpp` names; `None` where there is none.
fn source(control: usize, lane: usize) -> Option<usize> {
    let (row, within) = (lane & !15, lane & 15);
    let by = control & 15;
    Some(match control {
        0..=0xff => lane & !3 | control >> (2 * (lane & 3)) & 3,
        0x101..=0x10f => row | Some(within + by).filter(|to| *to < 16)?,
        0x111..=0x11f => row | within.checked_sub(by)?,
        0x121..=0x12f => row | (within + 16 - by) & 15,
        0x140 => row | (15 - within),
        0x141 => lane & !7 | (7 - (lane & 7)),
        0x142 => row.checked_sub(1)?,
        0x143 => Some(31).filter(|_| lane >= 32)?,
        0x150..=0x15f => row | by,
        0x160..=0x16f => row | within ^ by,
        _ => return None,
    })
}

/// Whether an architecture has a control.
fn has_control(site: &Site<'_, '_>, control: usize) -> bool {
    let is_rdna = site.wave() == 32;
    match control {
        0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 => true,
        0x142 | 0x143 => !is_rdna,
        // `row_newbcast` of CDNA, `row_share` of RDNA.
        0x150..=0x15f => true,
        0x160..=0x16f => is_rdna,
        _ => false,
    }
}

/// A value through a pattern of lanes; the constants begin at operand `first`.
fn data_parallel(site: &mut Site<'_, '_>, old: Slot, value: Slot, first: usize) -> Decoded {
    let control = site.constant(first)? as usize;
    let (rows, banks) = (site.constant(first + 1)?, site.constant(first + 2)?);
    let zeros = site.constant(first + 3)? & 1 == 1;
    if !has_control(site, control) {
        return Err(format!("{} has no data-parallel control {control:#x}", site.arch()));
    }
    add(site, value, old, &[], move |step, lane| {
        if rows >> (lane / 16) & 1 == 0 || banks >> (lane % 16 / 4) & 1 == 0 {
            return From::Old;
        }
        match source(control, lane) {
            Some(from) if is_active(step, from) => From::Lane(from),
            _ if zeros => From::Zero,
            _ => From::Old,
        }
    })
}

fn eight(site: &mut Site<'_, '_>) -> Decoded {
    let value = site.row(0)?;
    let pattern = site.constant(1)? as usize;
    add(site, value, NOWHERE, &[], move |step, lane| {
        or_zero(step, lane & !7 | pattern >> (3 * (lane & 7)) & 7)
    })
}

/// Lanes name lanes of their row of 16, or of the other row of the pair.
fn permlane(site: &mut Site<'_, '_>, other: usize) -> Decoded {
    let (old, value) = (site.row(0)?, site.row(1)?);
    let selectors = [site.row(2)?, site.row(3)?];
    let (inactive, zeros) = (site.constant(4)? & 1 == 1, site.constant(5)? & 1 == 1);
    let dest = site.dest()?;
    let execute = run(move |step| {
        let first = step.uniform(selectors[0], "the selector of lanes 0 to 7")?;
        let second = step.uniform(selectors[1], "the selector of lanes 8 to 15")?;
        let both = second << 32 | first;
        exchange(step, [dest, value, old], |step, lane| {
            let from = (lane ^ other) & !15 | (both >> (4 * (lane & 15)) & 15) as usize;
            match (inactive || is_active(step, from), zeros) {
                (true, _) => From::Lane(from),
                (false, true) => From::Zero,
                (false, false) => From::Old,
            }
        })
    });
    site.add(execute, Rows { reads: &[old, value], writes: &[dest], sinks: &selectors, knows: true });
    Ok(())
}

/// The odd parts of the first operand change places with the even parts of the second, each of so many lanes.
fn swap(site: &mut Site<'_, '_>, part: usize) -> Decoded {
    let (a, b) = (site.row(0)?, site.row(1)?);
    let dests = site.dests()?;
    let [first, second] = dests[..] else { return Err("two results are expected".to_owned()) };
    let execute = run(move |step| {
        if !step.is_whole() {
            return Err(step.misuse("lanes change values with others of the warp, which are not active"));
        }
        let rows = [*step.wave.row(a), *step.wave.row(b)];
        let known = [step.wave.known(a), step.wave.known(b)];
        let (mut out, mut good) = ([[0; LANES]; 2], [0u64; 2]);
        for lane in step.lanes() {
            let is_odd = lane & part != 0;
            let sources = if is_odd { [(1, lane - part), (1, lane)] } else { [(0, lane), (0, lane + part)] };
            for (index, (operand, from)) in sources.into_iter().enumerate() {
                out[index][lane] = rows[operand][from];
                good[index] |= (known[operand] >> from & 1) << lane;
            }
        }
        for (index, dest) in [first, second].into_iter().enumerate() {
            step.set(dest, &out[index]);
            step.know(dest, good[index]);
        }
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &[a, b], writes: &dests, knows: true, ..Rows::default() });
    Ok(())
}

/// Four bytes of eight: 0 to 3 are those of the second operand; 8 to 11 signs, 12 zero, above ones.
fn bytes(site: &mut Site<'_, '_>) -> Decoded {
    let (a, b, select, dest) = (site.row(0)?, site.row(1)?, site.row(2)?, site.dest()?);
    let f = |[a, b, select]: [u64; 3]| {
        let both = a << 32 | b;
        let byte = |which: u64| match which {
            0..=7 => both >> (8 * which) & 0xff,
            8..=11 => 0xff * (both >> (15 + 16 * (which - 8)) & 1),
            12 => 0,
            _ => 0xff,
        };
        (0..4).fold(0, |out, index| out | byte(select >> (8 * index) & 0xff) << (8 * index))
    };
    site.push(map(dest, [a, b, select], f), &[a, b, select], &[dest]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn controls_name_the_lanes_of_the_manual() {
        assert_eq!((source(0xb1, 4), source(0x4e, 5), source(0x1b, 7)), (Some(5), Some(7), Some(4)));
        assert_eq!((source(0x101, 14), source(0x101, 15)), (Some(15), None));
        assert_eq!((source(0x118, 24), source(0x118, 23)), (Some(16), None));
        assert_eq!((source(0x128, 3), source(0x128, 59)), (Some(11), Some(51)));
        assert_eq!((source(0x121, 16), source(0x121, 17)), (Some(31), Some(16)));
        assert_eq!((source(0x140, 17), source(0x141, 17)), (Some(30), Some(22)));
        assert_eq!((source(0x142, 5), source(0x142, 21), source(0x142, 63)), (None, Some(15), Some(47)));
        assert_eq!((source(0x143, 31), source(0x143, 32)), (None, Some(31)));
        assert_eq!((source(0x153, 40), source(0x161, 40)), (Some(35), Some(41)));
    }
}
