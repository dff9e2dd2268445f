//! Loads, stores, addresses, fences.

use super::Decode;
use super::cells::{cell, low, signed};
use super::order::{acquires, order, publish, releases};
use crate::decode::assembly::Components;
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::Execute;
use crate::machine::code::{Fill, Flow, LANES, Row, Slot};
use crate::machine::lanes::{map, run};
use crate::machine::place::{Address, CONSTANT, FLAT, GLOBAL, LDS, PRIVATE, PRIVATE_WINDOW, Place};
use crate::machine::step::Step;
use emulation::Fault;
use llir::{Op, Ordering, Payload, Scalar, SyncScope, Type};

pub(super) const OPS: &[(Op, Decode)] =
    &[(Op::GEP, gep), (Op::LOAD, load), (Op::STORE, store), (Op::FENCE, fence), (Op::ALLOCA, alloca)];

/// Bytes of the widest access.
pub(super) const WIDEST: usize = 128;

/// Bytes of a value in memory.
fn bytes_of(ty: Type) -> usize {
    (ty.lane_bytes() * ty.lanes()) as usize
}

fn gep(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Element(element, _) = site.data.payload else {
        return Err("an element is missing".to_owned());
    };
    let size = bytes_of(element) as u64;
    let mask = low(site.data.ty.lane_bits());
    let from = site.widths(1)?[0];
    let (base, index) = (site.rows(0)?, site.rows(1)?);
    let dests = site.dests()?;
    let pick = |rows: &Components, component: usize| if rows.len() == 1 { rows[0] } else { rows[component] };
    for (component, dest) in dests.iter().enumerate() {
        let sources = [pick(&base, component), pick(&index, component)];
        let f = move |[base, index]: [u64; 2]| {
            base.wrapping_add((signed(index, from) as u64).wrapping_mul(size)) & mask
        };
        site.push(map(*dest, sources, f), &sources, &[*dest]);
    }
    Ok(())
}

fn alloca(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Element(ty, align) = site.data.payload else { return Err("a type is missing".to_owned()) };
    let offset = site.assembly.private.next_multiple_of(align.max(1) as usize);
    site.assembly.private = offset + bytes_of(ty);
    let window = if site.data.ty.kind() == Scalar::Ptr(PRIVATE) { 0 } else { PRIVATE_WINDOW };
    let row = site.assembly.fill(Fill::Bits(window | offset as u64));
    site.result.push(row);
    Ok(())
}

/// What is accessed: the components of a type, one after another.
#[derive(Clone)]
struct Access {
    address: Slot,
    space: u8,
    rows: Components,
    /// Bytes of a component, and the bits of it that count.
    size: usize,
    mask: u64,
    align: u32,
    ordering: Option<Ordering>,
}

impl Access {
    fn new(site: &mut Site<'_, '_>, pointer: usize, ty: Type, rows: Components) -> Result<Access, String> {
        let Payload::Memory(memory) = site.data.payload else {
            return Err("it says no alignment".to_owned());
        };
        let size = ty.lane_bytes() as usize;
        if !matches!(ty.lane_bits(), 1 | 8 | 16 | 32 | 64) || size * rows.len() > WIDEST || ty.is_structure()
        {
            return Err(format!("{ty} cannot be accessed in memory"));
        }
        let space = site.space(pointer)?;
        if !matches!(space, FLAT | GLOBAL | LDS | CONSTANT | PRIVATE) {
            return Err(format!("memory of address space {space} cannot be accessed"));
        }
        if memory.ordering.is_some() && matches!(space, FLAT | GLOBAL) {
            site.assembly.is_sequential = true;
        }
        let address = site.row(pointer)?;
        let (align, ordering) = (memory.align.max(1), memory.ordering);
        Ok(Access { address, space, rows, size, mask: low(ty.lane_bits()), align, ordering })
    }

    fn bytes(&self) -> usize {
        self.size * self.rows.len()
    }

    fn place(&self, step: &mut Step<'_, '_>, lane: usize) -> Result<Place, Box<Fault>> {
        let at = Address { space: self.space, address: step.get(self.address, lane) };
        match self.ordering {
            Some(_) => step.word_place(at, lane, self.bytes(), self.align),
            None => step.place(at, lane, self.bytes(), self.align),
        }
    }
}

fn load(site: &mut Site<'_, '_>) -> Decoded {
    let rows = site.dests()?;
    let access = Access::new(site, 0, site.data.ty, rows.clone())?;
    let address = [access.address];
    site.add(Box::new(Load(access)), Rows { reads: &address, writes: &rows, sinks: &address, knows: true });
    Ok(())
}

struct Load(Access);

impl Execute for Load {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let access = &self.0;
        let mut out: smallvec::SmallVec<[Row; 4]> = smallvec::smallvec![[0; LANES]; access.rows.len()];
        let mut known: smallvec::SmallVec<[u64; 4]> = smallvec::smallvec![u64::MAX; access.rows.len()];
        for lane in step.lanes() {
            let place = access.place(step, lane)?;
            if access.ordering.is_some() {
                order(step, place, access.bytes(), access.ordering);
            }
            let mut data = [0; WIDEST];
            let data = &mut data[..access.bytes()];
            let all = step.load(place, lane, data);
            for (index, chunk) in data.chunks(access.size).enumerate() {
                out[index][lane] = cell(chunk) & access.mask;
                if !all && !is_written(step, place, lane, index * access.size..(index + 1) * access.size) {
                    known[index] &= !(1 << lane);
                }
            }
        }
        for (index, row) in access.rows.iter().enumerate() {
            step.set(*row, &out[index]);
            step.know(*row, known[index]);
        }
        Ok(Flow::Next)
    }
}

/// Whether some bytes of a place have been written.
fn is_written(step: &Step<'_, '_>, place: Place, lane: usize, range: std::ops::Range<usize>) -> bool {
    let (written, start) = match place {
        Place::Host(_) => return true,
        Place::Lds(offset) => (&step.group.written, offset),
        Place::Private(offset) => (&step.wave.private_written, lane * step.world.code.private + offset),
    };
    written[start + range.start..start + range.end].iter().all(|written| *written)
}

fn store(site: &mut Site<'_, '_>) -> Decoded {
    let rows = site.rows(0)?;
    let access = Access::new(site, 1, site.ty(0), rows.clone())?;
    let mut sinks = vec![access.address];
    // What lies in LDS or private memory may yet be replaced before it is used.
    if matches!(access.space, FLAT | GLOBAL | CONSTANT) {
        sinks.extend(&rows);
    }
    let reads: Vec<Slot> = rows.iter().copied().chain([access.address]).collect();
    site.add(Box::new(Store(access)), Rows { reads: &reads, sinks: &sinks, ..Rows::default() });
    Ok(())
}

struct Store(Access);

impl Execute for Store {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let access = &self.0;
        let all = access.rows.iter().fold(u64::MAX, |known, row| known & step.wave.known(*row));
        for lane in step.lanes() {
            let place = access.place(step, lane)?;
            if access.ordering.is_some() {
                publish(step, place, access.bytes(), access.ordering);
            }
            let mut data = [0; WIDEST];
            let data = &mut data[..access.bytes()];
            for (row, chunk) in access.rows.iter().zip(data.chunks_mut(access.size)) {
                chunk.copy_from_slice(&step.get(*row, lane).to_le_bytes()[..access.size]);
            }
            step.store(place, lane, data, true);
            if all >> lane & 1 == 0 && step.world.checks.uninitialised {
                unwrite(step, access, place, lane);
            }
        }
        Ok(Flow::Next)
    }
}

/// Components that were never written are not written in memory either.
fn unwrite(step: &mut Step<'_, '_>, access: &Access, place: Place, lane: usize) {
    for (index, row) in access.rows.iter().enumerate() {
        if step.wave.known(*row) >> lane & 1 == 1 {
            continue;
        }
        let range = index * access.size..(index + 1) * access.size;
        let (written, start) = match place {
            Place::Host(_) => continue,
            Place::Lds(offset) => (&mut step.group.written, offset),
            Place::Private(offset) => {
                (&mut step.wave.private_written, lane * step.world.code.private + offset)
            }
        };
        written[start + range.start..start + range.end].fill(false);
    }
}

fn fence(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Fence(ordering, scope) = site.data.payload else {
        return Err("a fence without an order".to_owned());
    };
    let ordering = Some(ordering);
    let execute = run(move |step| {
        if !step.world.checks.races {
            return Ok(Flow::Next);
        }
        let warp = step.wave.index as usize;
        let is_wider = scope != SyncScope::Wavefront;
        if releases(ordering) && is_wider {
            step.wave.released = Some(step.group.clocks.snapshot(warp));
        }
        if acquires(ordering) && is_wider {
            step.group.clocks.acquire(warp, &step.wave.met);
        }
        // Lanes of the warp are ordered, too.
        step.group.clocks.tick(warp);
        Ok(Flow::Next)
    });
    site.push(execute, &[], &[]);
    Ok(())
}
