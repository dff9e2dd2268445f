//! Copies from device memory to shared memory that go on while the program does.
//!
//! Neighbours in both memories go in one copy. What the machine cannot copy by itself (a part of fewer bytes than it
//! takes, or values for masked-off elements other than zero) is loaded and stored at once, which a later wait allows.
//! So is what is not in order, where a warp's copy puts the parts of its lanes one behind the other.
//!
//! A machine that has no groups waits for all but so many copies of a warp. As many as are begun in the newest groups
//! are at least as many times the fewest of a group, where every group was begun in front of the wait, or is like one
//! that was: that of a later iteration. A later group that is smaller is waited for where it is begun.

use super::Entry;
use super::memory::{Hints, access, from_memory, to_memory};
use crate::access::{plan, widest};
use crate::block_memory::{Addresses, element_bytes};
use crate::context::Cx;
use crate::error::Result;
use crate::layouts::layout_of;
use crate::shuffle::thread_bits_zero;
use crate::target::{Access, Pending};
use crate::view::view;
use ir::Op;
use llir::Value;
use std::rc::Rc;
use target::survey::SharedBy;
use ttgir::ops::async_copy::{ASYNC_COMMIT_GROUP, ASYNC_COPY, ASYNC_WAIT, AsyncCopyOp, AsyncWaitOp};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&ASYNC_COPY, copy), (&ASYNC_COMMIT_GROUP, commit), (&ASYNC_WAIT, wait)];

fn commit(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    cx.target.async_commit(&mut cx.b);
    // What stands in a branch may not be begun.
    let tokens = cx.module.operands(op).iter().filter_map(|&token| cx.module.def_op(token));
    let beside = tokens.filter(|&copy| cx.module.block_of(copy) == cx.module.block_of(op));
    let begun = beside.filter_map(|copy| cx.copies.of.get(&copy)).sum();
    cx.copies.fewest = Some(cx.copies.fewest.map_or(begun, |fewest| fewest.min(begun)));
    if cx.target.machine().staged_loads && begun < cx.copies.assumed {
        // A wait in front of it counts on larger groups: what is begun here and before must not be under way there.
        cx.target.async_wait(&mut cx.b, Pending { groups: 0, copies: 0 });
    }
    cx.set_result(op, crate::LaneValue::Token);
    Ok(())
}

fn wait(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let pending = AsyncWaitOp::new(cx.module, op).num();
    let fewest = cx.copies.fewest.unwrap_or(0);
    if pending > 0 {
        cx.copies.assumed = cx.copies.assumed.max(fewest);
    }
    cx.target.async_wait(&mut cx.b, Pending { groups: pending, copies: pending.saturating_mul(fewest) });
    cx.set_result(op, crate::LaneValue::Token);
    Ok(())
}

/// The operands of a copy, by register, and what it says of its accesses.
struct Operands {
    hints: Hints,
    pointers: Rc<[Value]>,
    masks: Option<Rc<[Value]>>,
    /// What masked-off elements become, unless that is zero.
    others: Option<Rc<[Value]>>,
}

fn operands(cx: &Cx<'_>, op: Op) -> Result<Operands> {
    let copy = AsyncCopyOp::new(cx.module, op);
    let masks = copy.mask().map(|mask| cx.registers(mask)).transpose()?;
    let others = copy.other().map(|other| cx.registers(other)).transpose()?;
    let others = others.filter(|others| masks.is_some() && !others.iter().all(|other| cx.b.is_zero(*other)));
    let hints = Hints { cache: copy.cache(), eviction: copy.evict(), volatile: copy.volatile() };
    Ok(Operands { hints, pointers: cx.registers(copy.ptr())?, masks, others })
}

fn copy(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let copy = AsyncCopyOp::new(cx.module, op);
    let pointer = copy.ptr();
    let view = view(cx, op, copy.dst())?;
    let bytes = element_bytes(view.element);
    let limit = widest(cx, view.element);
    let plan = plan(cx, pointer, copy.mask(), limit)?;
    let operands = operands(cx, op)?;
    let run = plan.groups.first().map_or(1, Vec::len);
    let tensor = layout_of(cx.module.ty(pointer))?;
    let (store, _) = view.accesses_up_to(cx, op, &tensor, run as u32 * bytes)?;
    view.check_whole(cx, op, ttir::types::numel(cx.module.ty(pointer)), &store)?;
    let mut addresses = Addresses::new(cx, &store, view.region, bytes);
    let only = thread_bits_zero(cx, store.copies);
    let in_order = !cx.target.machine().staged_loads || lies_in_order(cx, &store);
    let mut at_once = 0;
    for step in &store.steps {
        let (to, offset) = addresses.of(cx, step);
        let registers: Vec<usize> = step.registers.iter().map(|register| *register as usize).collect();
        let together =
            plan.groups.iter().any(|group| group.windows(registers.len()).any(|part| part == registers));
        let first = registers[0];
        let mask = operands.masks.as_ref().map(|masks| masks[first]);
        if together && in_order && operands.others.is_none() {
            let from = access(cx, operands.hints, operands.pointers[first], view.element, registers.len());
            let from = Access { mask, ..from };
            if cx.target.async_copy(&mut cx.b, (to, offset), &from, only) {
                at_once += 1;
                continue;
            }
        }
        let mut values = Vec::with_capacity(registers.len());
        for register in registers {
            values.push(load_one(cx, &operands, (register, view.element)));
        }
        let ty = cx.b.ty(values[0]);
        let access = Access { mask: only, ..Access::new(to, offset, ty, values.len()) };
        cx.target.store(&mut cx.b, &access, &values);
    }
    crate::notes::note_copy(cx, op, &plan, &store, at_once)?;
    cx.copies.of.insert(op, at_once as u32);
    let by = if at_once == store.steps.len() { SharedBy::Copies } else { SharedBy::Lanes };
    crate::notes::note_block(cx, &store, 0, bytes, (by, true));
    cx.set_result(op, crate::LaneValue::Token);
    Ok(())
}

/// Whether the parts of the lanes of a warp lie one behind the other, from a place on that other bits decide.
fn lies_in_order(cx: &Cx<'_>, store: &layout::convert::Access) -> bool {
    let lane_bits = cx.target.machine().warp_size.ilog2() as usize;
    let size = store.vector;
    let (lanes, warps) = store.thread.split_at(lane_bits.min(store.thread.len()));
    let in_order = lanes.iter().enumerate().all(|(bit, offset)| *offset == size << bit);
    let end = size << lane_bits;
    let above = |offset: &u32| offset.is_multiple_of(end);
    lanes.len() == lane_bits
        && in_order
        && warps.iter().all(above)
        && store.steps.iter().all(|step| above(&step.offset))
}

/// Loads one element as it is in memory.
fn load_one(cx: &mut Cx<'_>, operands: &Operands, (register, element): (usize, ir::Type)) -> Value {
    let mut access = access(cx, operands.hints, operands.pointers[register], element, 1);
    let Some(masks) = &operands.masks else { return cx.target.load(&mut cx.b, &access, &[])[0] };
    access.mask = Some(masks[register]);
    let other = match &operands.others {
        Some(others) => to_memory(cx, others[register], element),
        None => cx.b.zero(access.element),
    };
    let loaded = cx.target.load(&mut cx.b, &access, &[other])[0];
    let value = from_memory(cx, loaded, element);
    to_memory(cx, value, element)
}
