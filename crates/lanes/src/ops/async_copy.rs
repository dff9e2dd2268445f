//! Copies from device memory to shared memory that go on while the program does.
//!
//! Neighbours in both memories go in one copy. What the machine cannot copy by itself (a part of fewer bytes than it
//! takes, or values for masked-off elements other than zero) is loaded and stored at once, which a later wait allows.

use super::Entry;
use super::memory::{Hints, access, from_memory, to_memory};
use crate::access::{plan, widest};
use crate::block_memory::{Addresses, element_bytes};
use crate::cx::Cx;
use crate::error::Result;
use crate::layouts::layout_of;
use crate::target::Access;
use crate::trade::thread_bits_zero;
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
    cx.set_result(op, crate::LaneValue::Token);
    Ok(())
}

fn wait(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let pending = AsyncWaitOp::new(cx.module, op).num();
    cx.target.async_wait(&mut cx.b, pending);
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
    let mut at_once = 0;
    for step in &store.steps {
        let (to, offset) = addresses.of(cx, step);
        let registers: Vec<usize> = step.registers.iter().map(|register| *register as usize).collect();
        let together =
            plan.groups.iter().any(|group| group.windows(registers.len()).any(|part| part == registers));
        let first = registers[0];
        let mask = operands.masks.as_ref().map(|masks| masks[first]);
        if together && operands.others.is_none() {
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
    let by = if at_once == store.steps.len() { SharedBy::Copies } else { SharedBy::Lanes };
    crate::notes::note_block(cx, &store, 0, bytes, (by, true));
    cx.set_result(op, crate::LaneValue::Token);
    Ok(())
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
