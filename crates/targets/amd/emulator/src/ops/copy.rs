//! Copies from device memory to LDS that pass by the registers: under way until their warp has waited for them.
//!
//! Of the accesses that a wait counts only these copies are counted here. Others between them make hardware wait
//! longer, never shorter, so what is right here is right there.

use super::buffer::{Buffer, at_offset};
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, Slot};
use crate::machine::lanes::run;
use crate::machine::place::{Address, GLOBAL, LDS, Place};
use crate::machine::step::Step;
use crate::machine::wave::Copy;
use amdgcn_isa::{Arch, memory};
use emulation::Fault;

pub(super) static INTRINSICS: super::Own =
    &[(&memory::RAW_PTR_BUFFER_LOAD_LDS, from_buffer), (&memory::GLOBAL_LOAD_LDS, from_global)];

/// The bytes that a lane copies.
fn size(site: &Site<'_, '_>, index: usize) -> Result<usize, String> {
    let size = site.constant(index)? as usize;
    let widest = site.arch() == Arch::Gfx950 && matches!(size, 12 | 16);
    if size == 4 || widest {
        return Ok(size);
    }
    Err(format!("{} copies no {size} bytes to LDS", site.arch()))
}

fn from_buffer(site: &mut Site<'_, '_>) -> Decoded {
    let bytes = size(site, 2)?;
    let buffer = Buffer::new(site, 0, [3, 4])?;
    let base = site.row(1)?;
    let more = site.constant(5)?;
    let sinks: Vec<Slot> = buffer.rows().into_iter().chain([base]).collect();
    let execute = run(move |step| {
        begin(step, base, more, bytes, |step, lane| {
            let mut data = vec![0; bytes];
            for start in (0..bytes).step_by(4) {
                let offset = more + start as u64;
                if let Some(address) = at_offset(step, &buffer, lane, offset, 4) {
                    let place = step.place(Address { space: GLOBAL, address }, lane, 4, 4)?;
                    step.load(place, lane, &mut data[start..start + 4]);
                }
            }
            Ok(data)
        })
    });
    site.add(execute, Rows { reads: &sinks, sinks: &sinks, ..Rows::default() });
    Ok(())
}

fn from_global(site: &mut Site<'_, '_>) -> Decoded {
    let bytes = size(site, 2)?;
    let (from, base) = (site.row(0)?, site.row(1)?);
    let more = site.constant(3)?;
    let execute = run(move |step| {
        begin(step, base, more, bytes, |step, lane| {
            let address = step.get(from, lane).wrapping_add(more);
            let place = step.place(Address { space: GLOBAL, address }, lane, bytes, 4)?;
            let mut data = vec![0; bytes];
            step.load(place, lane, &mut data);
            Ok(data)
        })
    });
    let sinks = [from, base];
    site.add(execute, Rows { reads: &sinks, sinks: &sinks, ..Rows::default() });
    Ok(())
}

/// Begins a copy: lane after lane behind an address that all lanes agree on.
fn begin(
    step: &mut Step<'_, '_>,
    base: Slot,
    more: u64,
    bytes: usize,
    read: impl Fn(&mut Step<'_, '_>, usize) -> Result<Vec<u8>, Box<Fault>>,
) -> Result<Flow, Box<Fault>> {
    let base = step.uniform(base, "the address in LDS")?.wrapping_add(more);
    let mut pieces = Vec::new();
    for lane in step.lanes() {
        let address = base + (lane * bytes) as u64;
        let Place::Lds(offset) = step.place(Address { space: LDS, address }, lane, bytes, 4)? else {
            return Err(step.misuse("a copy to LDS needs an address in LDS"));
        };
        let data = read(step, lane)?;
        if step.world.checks.races {
            step.note_write(offset, &data, lane);
        }
        pieces.push((lane, offset as u32, data));
    }
    for (_, offset, data) in &pieces {
        for byte in *offset..offset + data.len() as u32 {
            step.group.pending.insert(byte, step.site);
            step.group.written[byte as usize] = false;
        }
    }
    step.wave.copies.push(Copy { pieces, site: step.site });
    Ok(Flow::Next)
}

/// Waits until at most so many copies are under way.
pub(super) fn wait(site: &mut Site<'_, '_>, left: usize) -> Decoded {
    let execute = run(move |step| {
        while step.wave.copies.len() > left {
            let copy = step.wave.copies.remove(0);
            land(step, &copy);
        }
        Ok(Flow::Next)
    });
    site.push(execute, &[], &[]);
    Ok(())
}

fn land(step: &mut Step<'_, '_>, copy: &Copy) {
    for (lane, offset, data) in &copy.pieces {
        let start = *offset as usize;
        let range = start..start + data.len();
        for byte in range.clone() {
            step.group.pending.remove(&(byte as u32));
        }
        // The bytes are written now: who reads them must come after this warp's wait.
        step.with_shadow(*lane, |shadow, access| shadow.write(range.clone(), access, |_| true));
        step.group.lds[range.clone()].copy_from_slice(data);
        step.group.written[range].fill(true);
    }
}
