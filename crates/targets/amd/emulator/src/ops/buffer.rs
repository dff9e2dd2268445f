//! Buffers: memory with bounds. Reads beyond them give zeros, stores are dropped. Also reads of LDS that transpose.

use super::atomic::{Action, float_element};
use super::cells::{cell, low};
use super::convert::repack;
use crate::decode::assembly::Components;
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::code::{Flow, LANES, Row, Slot};
use crate::machine::lanes::{map, run};
use crate::machine::place::{Address, GLOBAL, LDS};
use crate::machine::step::Step;
use amdgcn_isa::memory;
use emulation::{Element, FindingKind, Operation};

pub(super) static INTRINSICS: super::Own = &[
    (&memory::MAKE_BUFFER_RSRC_P8_P1, make),
    (&memory::RAW_PTR_BUFFER_LOAD, load),
    (&memory::RAW_PTR_BUFFER_STORE, store),
    (&memory::RAW_PTR_BUFFER_ATOMIC_ADD, |site| atomic(site, Operation::Add, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_SMIN, |site| atomic(site, Operation::Min, Element::Signed)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_SMAX, |site| atomic(site, Operation::Max, Element::Signed)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_UMIN, |site| atomic(site, Operation::Min, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_UMAX, |site| atomic(site, Operation::Max, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_AND, |site| atomic(site, Operation::And, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_OR, |site| atomic(site, Operation::Or, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_XOR, |site| atomic(site, Operation::Xor, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_SWAP, |site| atomic(site, Operation::Exchange, Element::Unsigned)),
    (&memory::RAW_PTR_BUFFER_ATOMIC_FADD, float_atomic),
    (&memory::RAW_PTR_BUFFER_ATOMIC_FADD_PAIRS, float_atomic),
    (&memory::RAW_PTR_BUFFER_ATOMIC_CMPSWAP, compare_swap),
    (&memory::DS_READ_TR16_B64, |site| transpose(site, 16)),
    (&memory::DS_READ_TR8_B64, |site| transpose(site, 8)),
];

/// The lower half is base and stride, the upper one the number of bytes and flags.
fn make(site: &mut Site<'_, '_>) -> Decoded {
    let [base, stride, records, flags] = [site.row(0)?, site.row(1)?, site.row(2)?, site.row(3)?];
    if site.constant(1) != Ok(0) {
        return Err("only buffers without a stride can be run".to_owned());
    }
    let dests = site.dests()?;
    let [lower, upper] = dests[..] else { return Err("a buffer has two halves".to_owned()) };
    let sources = [base, stride];
    site.push(map(lower, sources, |[base, stride]| base & low(48) | stride << 48), &sources, &[lower]);
    let sources = [records, flags];
    site.push(map(upper, sources, |[records, flags]| records & low(32) | flags << 32), &sources, &[upper]);
    Ok(())
}

/// A buffer and an offset in it.
#[derive(Clone)]
pub(super) struct Buffer {
    lower: Slot,
    upper: Slot,
    /// A lane's offset and one of all lanes.
    offsets: [Slot; 2],
}

impl Buffer {
    pub(super) fn new(site: &mut Site<'_, '_>, buffer: usize, offsets: [usize; 2]) -> Result<Buffer, String> {
        let rows = site.rows(buffer)?;
        let [lower, upper] = rows[..] else { return Err("a buffer is expected".to_owned()) };
        Ok(Buffer { lower, upper, offsets: [site.row(offsets[0])?, site.row(offsets[1])?] })
    }

    pub(super) fn rows(&self) -> [Slot; 4] {
        [self.lower, self.upper, self.offsets[0], self.offsets[1]]
    }
}

/// The address of so many bytes at an offset more, if they are in bounds.
pub(super) fn at_offset(
    step: &Step<'_, '_>,
    buffer: &Buffer,
    lane: usize,
    more: u64,
    bytes: u64,
) -> Option<u64> {
    let records = step.get(buffer.upper, lane) & low(32);
    let offset = step.get(buffer.offsets[0], lane) + step.get(buffer.offsets[1], lane) + more;
    (offset + bytes <= records).then(|| (step.get(buffer.lower, lane) & low(48)) + offset)
}

/// Bytes of a component that is moved.
fn size(site: &Site<'_, '_>, ty: llir::Type) -> Result<usize, String> {
    match ty.lane_bits() {
        bits @ (8 | 16 | 32 | 64) => Ok(bits as usize / 8),
        _ => Err(format!("{} moves no {ty} in buffers", site.arch())),
    }
}

fn load(site: &mut Site<'_, '_>) -> Decoded {
    let buffer = Buffer::new(site, 0, [1, 2])?;
    let size = size(site, site.data.ty)?;
    let dests = site.dests()?;
    let rows = dests.clone();
    let sinks = buffer.rows();
    let execute = run(move |step| {
        let mut out: Vec<Row> = vec![[0; LANES]; rows.len()];
        for lane in step.lanes() {
            for (index, row) in out.iter_mut().enumerate() {
                let Some(address) = at_offset(step, &buffer, lane, (index * size) as u64, size as u64) else {
                    continue;
                };
                let place = step.place(Address { space: GLOBAL, address }, lane, size, align(size))?;
                let mut data = [0; 8];
                step.load(place, lane, &mut data[..size]);
                row[lane] = cell(&data[..size]);
            }
        }
        for (row, values) in rows.iter().zip(&out) {
            step.set(*row, values);
            step.know(*row, u64::MAX);
        }
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &sinks, writes: &dests, sinks: &sinks, knows: true });
    Ok(())
}

/// Words of four bytes stand at multiples of four.
fn align(size: usize) -> u32 {
    size.min(4) as u32
}

fn store(site: &mut Site<'_, '_>) -> Decoded {
    let buffer = Buffer::new(site, 1, [2, 3])?;
    let size = size(site, site.ty(0))?;
    let rows = site.rows(0)?;
    let reads = rows.clone();
    let sinks = buffer.rows();
    let execute = run(move |step| {
        for lane in step.lanes() {
            for (index, row) in rows.iter().enumerate() {
                let Some(address) = at_offset(step, &buffer, lane, (index * size) as u64, size as u64) else {
                    continue;
                };
                check_known(step, *row, lane);
                let place = step.place(Address { space: GLOBAL, address }, lane, size, align(size))?;
                let data = step.get(*row, lane).to_le_bytes();
                step.store(place, lane, &data[..size], true);
            }
        }
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &reads, sinks: &sinks, ..Rows::default() });
    Ok(())
}

/// What is stored in bounds must have been written.
fn check_known(step: &mut Step<'_, '_>, row: Slot, lane: usize) {
    if step.world.checks.uninitialised && step.wave.known(row) >> lane & 1 == 0 {
        let message = "a value is stored that was never written".to_owned();
        step.find(FindingKind::Uninitialised, message, None, lane);
    }
}

fn atomic(site: &mut Site<'_, '_>, operation: Operation, element: fn(u32) -> Element) -> Decoded {
    let action = Action::Reduce(operation, element(site.ty(0).lane_bits()));
    change(site, 1, move |old, new, _| Some(action.apply(old, new)))
}

fn float_atomic(site: &mut Site<'_, '_>) -> Decoded {
    let action = Action::Reduce(Operation::Add, float_element(site.ty(0))?);
    change(site, 1, move |old, new, _| Some(action.apply(old, new)))
}

fn compare_swap(site: &mut Site<'_, '_>) -> Decoded {
    change(site, 2, |old, new, expected| (old == expected).then_some(new))
}

/// Changes memory in bounds; the buffer is operand `at`, what is compared stands in front of it.
fn change(
    site: &mut Site<'_, '_>,
    at: usize,
    f: impl Fn(u64, u64, u64) -> Option<u64> + Send + Sync + 'static,
) -> Decoded {
    site.assembly.is_sequential = true;
    let buffer = Buffer::new(site, at, [at + 1, at + 2])?;
    let size = size(site, site.ty(0))?;
    let (values, expected) = (site.rows(0)?, site.rows(at - 1)?);
    let dests = site.dests()?;
    let rows = dests.clone();
    let sinks: Vec<Slot> = buffer.rows().into_iter().chain(values.iter().chain(&expected).copied()).collect();
    let execute = run(move |step| {
        let mut out: Vec<Row> = vec![[0; LANES]; rows.len()];
        for lane in step.lanes() {
            for (index, row) in values.iter().enumerate() {
                let Some(address) = at_offset(step, &buffer, lane, (index * size) as u64, size as u64) else {
                    continue;
                };
                let place = step.place(Address { space: GLOBAL, address }, lane, size, size as u32)?;
                let mut data = [0; 8];
                step.load(place, lane, &mut data[..size]);
                out[index][lane] = cell(&data[..size]);
                let new = f(out[index][lane], step.get(*row, lane), step.get(expected[index], lane));
                if let Some(new) = new {
                    step.store(place, lane, &new.to_le_bytes()[..size], true);
                }
            }
        }
        for (row, values) in rows.iter().zip(&out) {
            step.set(*row, values);
        }
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &sinks, writes: &dests, sinks: &sinks, knows: false });
    Ok(())
}

/// Each lane reads 8 bytes; then 16 lanes change elements, so that lane `i` has element `i` of the rows of 16 elements
/// that they read together.
fn transpose(site: &mut Site<'_, '_>, bits: u32) -> Decoded {
    let address = site.row(0)?;
    let count = (64 / bits) as usize;
    let elements: Components = (0..count).map(|_| site.assembly.slot()).collect();
    let rows = elements.clone();
    let execute = run(move |step| {
        if !step.is_whole() {
            return Err(step.misuse("lanes that read together must all take part"));
        }
        let (mut words, mut known) = ([0; LANES], 0u64);
        for lane in step.lanes() {
            let at = Address { space: LDS, address: step.get(address, lane) };
            let place = step.place(at, lane, 8, 8)?;
            let mut data = [0; 8];
            known |= u64::from(step.load(place, lane, &mut data)) << lane;
            words[lane] = u64::from_le_bytes(data);
        }
        for (element, row) in rows.iter().enumerate() {
            let (mut out, mut good) = ([0; LANES], 0);
            for lane in step.lanes() {
                let own = lane % 16;
                let source = lane - own + element * (16 / count) + own / count;
                out[lane] = words[source] >> (own % count * bits as usize) & low(bits);
                good |= (known >> source & 1) << lane;
            }
            step.set(*row, &out);
            step.know(*row, good);
        }
        Ok(Flow::Next)
    });
    site.add(execute, Rows { reads: &[address], writes: &elements, sinks: &[address], knows: true });
    site.result = repack(site, &elements, bits, site.data.ty.lane_bits());
    Ok(())
}
