//! Atomics on memory, lane after lane.

use super::Decode;
use super::cells::{cell, low};
use super::order::{order, publish};
use crate::decode::site::{Decoded, Rows, Site};
use crate::machine::Execute;
use crate::machine::code::{Flow, LANES, Slot};
use crate::machine::place::{Address, FLAT, GLOBAL, LDS};
use crate::machine::step::Step;
use emulation::{BF16, Element, F16, F32, Fault, Operation};
use llir::{Op, Ordering, Payload, Rmw, Scalar, Type};

pub(super) const OPS: &[(Op, Decode)] = &[(Op::ATOMIC_RMW, rmw), (Op::CMPXCHG, cmpxchg)];

/// What happens to a value in memory.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Reduce(Operation, Element),
    /// The old value minus the new one.
    Subtract(u32),
    SubtractFloat(Element),
}

impl Action {
    pub(super) fn apply(self, old: u64, new: u64) -> u64 {
        match self {
            Action::Reduce(operation, element) => operation.apply(element, old, new),
            Action::Subtract(bits) => old.wrapping_sub(new) & low(bits),
            Action::SubtractFloat(element) => {
                let sign = match element {
                    Element::Float(format) => 1 << (format.bits() - 1),
                    _ => 1 << 63,
                };
                Operation::Add.apply(element, old, new ^ sign)
            }
        }
    }
}

/// How the floats of a type add up.
pub(super) fn float_element(ty: Type) -> Result<Element, String> {
    match ty.kind() {
        Scalar::Half => Ok(Element::Float(F16)),
        Scalar::BFloat => Ok(Element::Float(BF16)),
        Scalar::Float => Ok(Element::Float(F32)),
        Scalar::Double => Ok(Element::Double),
        _ => Err(format!("a float is expected, not {ty}")),
    }
}

fn action(rmw: Rmw, ty: Type) -> Result<Action, String> {
    let bits = ty.lane_bits();
    let integer = Element::Unsigned(bits);
    Ok(match rmw {
        Rmw::Xchg => Action::Reduce(Operation::Exchange, integer),
        Rmw::Add => Action::Reduce(Operation::Add, integer),
        Rmw::Sub => Action::Subtract(bits),
        Rmw::And => Action::Reduce(Operation::And, integer),
        Rmw::Or => Action::Reduce(Operation::Or, integer),
        Rmw::Xor => Action::Reduce(Operation::Xor, integer),
        Rmw::Max => Action::Reduce(Operation::Max, Element::Signed(bits)),
        Rmw::Min => Action::Reduce(Operation::Min, Element::Signed(bits)),
        Rmw::UMax => Action::Reduce(Operation::Max, integer),
        Rmw::UMin => Action::Reduce(Operation::Min, integer),
        Rmw::FAdd => Action::Reduce(Operation::Add, float_element(ty)?),
        Rmw::FSub => Action::SubtractFloat(float_element(ty)?),
        Rmw::FMax => Action::Reduce(Operation::Max, float_element(ty)?),
        Rmw::FMin => Action::Reduce(Operation::Min, float_element(ty)?),
    })
}

fn rmw(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Rmw(kind, memory) = site.data.payload else { return Err("no operation".to_owned()) };
    let ty = site.ty(1);
    let action = action(kind, ty)?;
    let values = site.rows(1)?;
    let (space, address, align) = target(site, memory.align)?;
    let dests = site.dests()?;
    let size = ty.lane_bytes() as usize;
    let sinks: Vec<Slot> = values.iter().copied().chain([address]).collect();
    let atomic = Reduce {
        space,
        address,
        align,
        size,
        action,
        ordering: memory.ordering,
        values,
        dests: dests.clone(),
    };
    site.add(Box::new(atomic), Rows { reads: &sinks, writes: &dests, sinks: &sinks, knows: false });
    Ok(())
}

/// Space, address and alignment of an atomic.
fn target(site: &mut Site<'_, '_>, align: u32) -> Result<(u8, Slot, u32), String> {
    let space = site.space(0)?;
    if !matches!(space, FLAT | GLOBAL | LDS) {
        return Err(format!("memory of address space {space} has no atomics"));
    }
    if space != LDS {
        site.assembly.is_sequential = true;
    }
    Ok((space, site.row(0)?, align.max(1)))
}

struct Reduce {
    space: u8,
    address: Slot,
    align: u32,
    size: usize,
    action: Action,
    ordering: Option<Ordering>,
    values: crate::decode::assembly::Components,
    dests: crate::decode::assembly::Components,
}

impl Execute for Reduce {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let bytes = self.size * self.values.len();
        let mut out = vec![[0; LANES]; self.dests.len()];
        for lane in step.lanes() {
            let address = step.get(self.address, lane);
            let place = step.place(Address { space: self.space, address }, lane, bytes, self.align)?;
            order(step, place, bytes, self.ordering);
            let mut data = [0; 16];
            step.load(place, lane, &mut data[..bytes]);
            for (index, row) in self.values.iter().enumerate() {
                let part = &mut data[index * self.size..(index + 1) * self.size];
                let old = cell(part);
                out[index][lane] = old;
                let new = self.action.apply(old, step.get(*row, lane));
                part.copy_from_slice(&new.to_le_bytes()[..self.size]);
            }
            step.store(place, lane, &data[..bytes], true);
            publish(step, place, bytes, self.ordering);
        }
        for (row, values) in self.dests.iter().zip(&out) {
            step.set(*row, values);
        }
        Ok(Flow::Next)
    }
}

fn cmpxchg(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Memory(memory) = site.data.payload else { return Err("it says no alignment".to_owned()) };
    let size = site.ty(1).lane_bytes() as usize;
    let (expected, new) = (site.row(1)?, site.row(2)?);
    let (space, address, align) = target(site, memory.align)?;
    let dests = site.dests()?;
    let [value, success] = dests[..] else { return Err("a value and a truth value are expected".to_owned()) };
    let execute = crate::machine::lanes::run(move |step| {
        let (mut old, mut done) = ([0; LANES], [0; LANES]);
        for lane in step.lanes() {
            let at = Address { space, address: step.get(address, lane) };
            let place = step.word_place(at, lane, size, align)?;
            order(step, place, size, memory.ordering);
            let mut data = [0; 8];
            step.load(place, lane, &mut data[..size]);
            old[lane] = cell(&data[..size]);
            done[lane] = u64::from(old[lane] == step.get(expected, lane));
            if done[lane] == 1 {
                let bytes = step.get(new, lane).to_le_bytes();
                step.store(place, lane, &bytes[..size], true);
            }
            publish(step, place, size, memory.ordering);
        }
        step.set(value, &old);
        step.set(success, &done);
        Ok(Flow::Next)
    });
    let sinks = [address, expected, new];
    site.add(execute, Rows { reads: &sinks, writes: &dests, sinks: &sinks, knows: false });
    Ok(())
}
