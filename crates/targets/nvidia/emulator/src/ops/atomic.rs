//! Atomics: `atom` gives the old value, `red` does not.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::code::Slot;
use crate::machine::flow::Flow;
use crate::machine::place::Address;
use crate::machine::place::Place;
use crate::machine::step::Step;
use crate::numeric::cell;
use crate::numeric::reduce::{OPERATIONS, Operation, Reduce};
use crate::ops::memory::{WIDEST, take_hints};
use crate::syntax::Operand;
use crate::syntax::types::{Space, Type};
use emulation::Fault;

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// What happens to the value in memory.
#[derive(Clone)]
enum Action {
    Reduce(Reduce, Vec<Slot>),
    /// Compare with the first, store the second.
    CompareAndSwap(Slot, Slot),
}

struct Atomic {
    space: Space,
    address: Address,
    ty: Type,
    dests: Vec<Slot>,
    action: Action,
}

/// `atom`.
pub(crate) fn atom(site: &mut Site<'_>) -> Decoded {
    decode(site, true)
}

/// `red`; `red.async` is another instruction.
pub(crate) fn red(site: &mut Site<'_>) -> Decoded {
    if site.flag("async") {
        return site.error("asynchronous reductions cannot be run");
    }
    decode(site, false)
}

fn decode(site: &mut Site<'_>, returns: bool) -> Decoded {
    take_hints(site);
    let space = site.space();
    let swap = site.flag("cas");
    let operation = site.choice(OPERATIONS);
    let width = site.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    site.flags(&["noftz"]);
    let ty = site.ty()?;
    if ty.bytes() * width > WIDEST {
        return site.error(format!("{} bytes: at most {WIDEST} are possible", ty.bytes() * width));
    }
    let first = usize::from(returns);
    let dests = match (returns, site.operand(0)?) {
        (false, _) | (true, Operand::Sink) => Vec::new(),
        _ => site.dests(0, ty)?,
    };
    let address = site.address(first)?;
    let action = if swap {
        site.arity(first + 3, first + 4)?;
        Action::CompareAndSwap(site.source(first + 1, ty)?, site.source(first + 2, ty)?)
    } else {
        let Some(operation) = operation else { return site.error("an operation such as `.add` is missing") };
        site.arity(first + 2, first + 3)?;
        let sources = site.sources(first + 1, ty)?;
        if sources.len() != width {
            return site.error(format!("{} registers for {width} elements", sources.len()));
        }
        if ty.width() == 128 && operation != Operation::Exchange {
            return site.error("128 bits can only be exchanged or compared");
        }
        Action::Reduce(Reduce { operation, ty }, sources)
    };
    let operands: Vec<Slot> = match &action {
        Action::Reduce(_, sources) => sources.clone(),
        Action::CompareAndSwap(a, b) => vec![*a, *b],
    };
    site.sink(&operands);
    Ok(Box::new(Atomic { space, address, ty, dests, action }))
}

impl Atomic {
    /// The new bytes for the old.
    fn apply(&self, step: &Step<'_, '_>, lane: u32, old: &[u8], new: &mut [u8]) {
        let size = self.ty.bytes();
        match &self.action {
            Action::CompareAndSwap(compare, swap) => {
                let matches = halves(size).all(|half| {
                    let at = half * 8;
                    cell(&old[at..(at + 8).min(size)]) == step.get(Slot(compare.0 + half as u32), lane)
                });
                if matches {
                    for half in halves(size) {
                        let bytes = step.get(Slot(swap.0 + half as u32), lane).to_le_bytes();
                        let end = (half * 8 + 8).min(size);
                        new[half * 8..end].copy_from_slice(&bytes[..end - half * 8]);
                    }
                }
            }
            Action::Reduce(reduce, sources) if size == 16 => {
                debug_assert_eq!(reduce.operation, Operation::Exchange);
                for half in halves(size) {
                    let bytes = step.get(Slot(sources[0].0 + half as u32), lane).to_le_bytes();
                    new[half * 8..half * 8 + 8].copy_from_slice(&bytes);
                }
            }
            Action::Reduce(reduce, sources) => {
                for (index, source) in sources.iter().enumerate() {
                    let at = index * size;
                    let value = reduce.apply(cell(&old[at..at + size]), step.get(*source, lane));
                    new[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
        }
    }

    fn deliver(&self, step: &mut Step<'_, '_>, lane: u32, old: &[u8]) {
        let size = self.ty.bytes();
        for (dest, chunk) in self.dests.iter().zip(old.chunks(size)) {
            for half in halves(size) {
                let end = (half * 8 + 8).min(size);
                step.warp.set_lane(Slot(dest.0 + half as u32), lane, cell(&chunk[half * 8..end]));
            }
        }
    }
}

/// The halves of a value of 128 bits, or the one of others.
fn halves(size: usize) -> std::ops::Range<usize> {
    0..size.div_ceil(8)
}

impl Execute for Atomic {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let count = match &self.action {
            Action::Reduce(_, sources) => sources.len(),
            Action::CompareAndSwap(..) => 1,
        };
        let bytes = self.ty.bytes() * count;
        let bases = *step.warp.row(self.address.base);
        let addresses: Vec<u64> =
            step.lanes().map(|lane| bases[lane as usize].wrapping_add_signed(self.address.offset)).collect();
        step.count_traffic(self.space, &addresses, bytes);
        for (lane, address) in step.lanes().zip(addresses) {
            let place = step.word_place(self.space, address, lane, bytes)?;
            if let Place::Shared(block, offset) = place {
                order(step, block, offset as u32, bytes);
            }
            let mut old = [0; WIDEST];
            step.load_place(place, lane, &mut old[..bytes]);
            let mut new = old;
            self.apply(step, lane, &old[..bytes], &mut new[..bytes]);
            step.store_place(place, lane, &new[..bytes])?;
            if let Place::Shared(block, offset) = place {
                publish(step, block, offset as u32);
            }
            self.deliver(step, lane, &old[..bytes]);
        }
        Ok(Flow::Next)
    }
}

/// An atomic on shared memory comes after the atomics before it at that address.
fn order(step: &mut Step<'_, '_>, block: usize, offset: u32, bytes: usize) {
    if !step.world.checks.races {
        return;
    }
    let warp = step.warp.number;
    if let Some(seen) = step.team.published.get(&(block, offset)) {
        step.team.clocks.acquire(warp, seen);
        // Lanes of one warp are ordered by the atomic, too.
        if let Some(shadow) = &mut step.team.blocks[block].shadow {
            shadow.forget(offset as usize..offset as usize + bytes);
        }
    }
}

fn publish(step: &mut Step<'_, '_>, block: usize, offset: u32) {
    if step.world.checks.races {
        let entry = step.team.published.entry((block, offset)).or_default();
        step.team.clocks.release(step.warp.number, entry);
    }
}
