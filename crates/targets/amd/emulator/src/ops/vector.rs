//! Taking vectors and structures apart and putting them together: mostly a matter of names.

use super::Decode;
use super::convert::alias;
use crate::decode::assembly::Components;
use crate::decode::site::{Decoded, Rows, Site};
use crate::decode::widths;
use crate::machine::code::{Flow, LANES, NOWHERE, Slot};
use crate::machine::lanes::run;
use llir::{Op, Payload};

pub(super) const OPS: &[(Op, Decode)] = &[
    (Op::FREEZE, alias),
    (Op::EXTRACT, extract),
    (Op::INSERT, insert),
    (Op::SHUFFLE, shuffle),
    (Op::EXTRACT_VALUE, extract_value),
];

fn extract(site: &mut Site<'_, '_>) -> Decoded {
    let rows = site.rows(0)?;
    if let Ok(index) = site.constant(1) {
        site.result.push(rows.get(index as usize).copied().unwrap_or(NOWHERE));
        return Ok(());
    }
    let (index, dest) = (site.row(1)?, site.dest()?);
    let from = rows.clone();
    let execute = run(move |step| {
        let (mut out, mut known) = ([0; LANES], 0);
        for lane in step.lanes() {
            let row = at(&from, step.get(index, lane));
            out[lane] = step.get(row, lane);
            known |= step.wave.known(row) & 1 << lane;
        }
        step.set(dest, &out);
        step.know(dest, known & step.wave.known(index));
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &rows, writes: &[dest], knows: true, ..Rows::default() });
    Ok(())
}

fn at(rows: &[Slot], index: u64) -> Slot {
    rows.get(index as usize).copied().unwrap_or(NOWHERE)
}

fn insert(site: &mut Site<'_, '_>) -> Decoded {
    let mut rows = site.rows(0)?;
    let value = site.row(1)?;
    if let Ok(index) = site.constant(2) {
        match rows.get_mut(index as usize) {
            Some(row) => *row = value,
            None => return Err(format!("component {index} is inserted into a vector of {}", rows.len())),
        }
        site.result = rows;
        return Ok(());
    }
    let index = site.row(2)?;
    let dests = site.dests()?;
    for (number, (from, dest)) in rows.into_iter().zip(dests).enumerate() {
        let execute = run(move |step| {
            let (mut out, mut known) = (*step.wave.row(from), step.wave.known(from));
            for lane in step.lanes() {
                if step.get(index, lane) == number as u64 {
                    out[lane] = step.get(value, lane);
                    known = known & !(1 << lane) | step.wave.known(value) & 1 << lane;
                }
            }
            step.set(dest, &out);
            step.know(dest, known & step.wave.known(index));
            Ok(Flow::Next)
        });
        site.add(execute, Rows { writes: &[dest], knows: true, ..Rows::default() });
    }
    Ok(())
}

fn shuffle(site: &mut Site<'_, '_>) -> Decoded {
    let mut rows: Components = site.rows(0)?;
    rows.extend(site.rows(1)?);
    let Payload::Mask(mask) = &site.data.payload else { return Err("a mask is missing".to_owned()) };
    site.result = mask
        .iter()
        .map(|lane| usize::try_from(*lane).ok().and_then(|lane| rows.get(lane).copied()).unwrap_or(NOWHERE))
        .collect();
    Ok(())
}

fn extract_value(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Index(index) = site.data.payload else { return Err("an index is missing".to_owned()) };
    let (rows, ty) = (site.rows(0)?, site.ty(0));
    let mut start = 0;
    for part in 0..index {
        start += ty.part(part).map_or(Ok(0), |part| widths(part).map(|widths| widths.len()))?;
    }
    let count = widths(site.data.ty)?.len();
    let part = rows.get(start..start + count);
    site.result = part.ok_or_else(|| "there is no such part".to_owned())?.into();
    Ok(())
}
