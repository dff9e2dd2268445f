//! Histograms: counters in shared memory, which all lanes add to. Each block of a cluster has counters of its own,
//! which are added up in the end.

use super::SharingEntry;
use super::scan_layout::ordered;
use crate::block_memory::{load_block, store_block, with_copies};
use crate::context::Cx;
use crate::error::{Result, at};
use crate::free_bits::FreeBits;
use crate::ops::memory::both;
use crate::shared::{Accesses, Need, Order, Planner};
use crate::target::AtomicAccess;
use crate::types;
use crate::value::Region;
use ir::{Module, Op, Type};
use layout::convert::Access;
use layout::{Dim, LinearLayout};
use llir::{IntCompare, Value};
use std::rc::Rc;
use ttir::ops::atomic::{Rmw, Scope, Sem};
use ttir::ops::reduce::{HISTOGRAM, HistogramOp};
use ttir::types::numel;

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&HISTOGRAM, histogram, need)];

fn need(planner: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let bins = numel(module.ty(module.result(op, 0)));
    let need = Need::exchanged(u32::try_from(4 * bins).unwrap_or(u32::MAX));
    let waits = if planner.num_blocks == 1 { Order::Waits } else { Order::WaitsForCluster };
    Ok(Need { order: waits, ..need })
}

/// How counters of a layout are stored and loaded.
fn accesses(cx: &mut Cx<'_>, op: Op, layout: &LinearLayout, counters: &LinearLayout) -> Result<Rc<Accesses>> {
    let widest = cx.planner.facts.max_vector_bytes;
    let access = cx.planner.access(layout, counters, 32, widest);
    access.map_err(|error| at(cx.module, op, error.message()))
}

fn histogram(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let ty = cx.module.ty(cx.module.result(op, 0));
    let Some(region) = cx.scratch(op) else { return Err(cx.error(op, "has no scratch memory")) };
    let layout = cx.layout(ty)?;
    let counters = LinearLayout::identity(layout.outs().total_bits(), Dim::OFFSET, Dim::block(0));
    let load = accesses(cx, op, &layout, &counters)?;
    // The counters of a block are all of them, whatever part of the result it wants.
    let whole = if cx.num_blocks == 1 { Ok((*layout).clone()) } else { ordered(&layout, 0) };
    let whole = whole.map_err(|error| at(cx.module, op, error.to_string()))?;
    let store = accesses(cx, op, &whole, &counters)?;
    let zero = cx.b.i32(0);
    let zeros = vec![zero; 1 << whole.ins().bits(Dim::REGISTER)];
    store_block(cx, &store.0, region, Type::int(32), &zeros, 0);
    cx.block_barrier();
    count_all(cx, op, region, numel(ty))?;
    cx.program_barrier();
    let mut counts = counted(cx, &load.1, region, 0);
    for block in 1..cx.num_blocks {
        let more = counted(cx, &load.1, region, block);
        counts = counts.into_iter().zip(more).map(|(count, more)| cx.b.add(count, more)).collect();
    }
    let to = types::register(ty);
    let counts = counts.into_iter().map(|count| cx.b.resize_unsigned(count, to)).collect();
    cx.set_registers(op, counts);
    Ok(())
}

/// What the counters of a block hold whose number differs from the own one by these bits.
fn counted(cx: &mut Cx<'_>, load: &Access, region: Region, block: u32) -> Vec<Value> {
    let mut load = load.clone();
    if block != 0 {
        load.far = vec![0; load.thread.len()];
        load.steps.iter_mut().for_each(|step| step.far = block);
    }
    let mut loaded = vec![None; load.same.len()];
    load_block(cx, &load, region, Type::int(32), &mut loaded, 0);
    with_copies(&load.same, &loaded)
}

/// Adds one to the counter of each element that is inside and under the mask, copies once.
fn count_all(cx: &mut Cx<'_>, op: Op, region: Region, bins: i64) -> Result<()> {
    let histogram = HistogramOp::new(cx.module, op);
    let source = cx.layout(cx.module.ty(histogram.src()))?;
    let registers = cx.registers(histogram.src())?;
    let masks = histogram.mask().map(|mask| cx.registers(mask)).transpose()?;
    let free = FreeBits::of(&source);
    let owner = cx.owner_mask(&free);
    for (index, value) in registers.iter().enumerate() {
        if index as u32 & free.register != 0 {
            continue;
        }
        let mask = masks.as_ref().map(|masks| masks[index]);
        let mask = both(cx, mask, owner);
        let inside = inside(cx, *value, bins);
        let mask = both(cx, mask, inside);
        let number = cx.b.resize_unsigned(*value, llir::Type::I32);
        let four = cx.b.i32(4);
        let at = cx.b.mul(number, four);
        let access = AtomicAccess {
            pointer: cx.b.gep(llir::Type::I8, region.base, at),
            offset: region.offset,
            mask,
            order: Sem::Relaxed,
            scope: Scope::Cta,
            near: None,
        };
        let one = cx.b.i32(1);
        if cx.target.atomic(&mut cx.b, Rmw::Add, &access, &[one]).is_none() {
            return Err(cx.error(op, "the machine has no atomic addition in shared memory"));
        }
    }
    Ok(())
}

/// Whether a number has a counter; `None` if each number of its type has.
fn inside(cx: &mut Cx<'_>, value: Value, bins: i64) -> Option<Value> {
    let ty = cx.b.ty(value);
    if ty.lane_bits() < 63 && bins >= 1 << ty.lane_bits() {
        return None;
    }
    let end = cx.b.int(ty, bins);
    Some(cx.b.icmp(IntCompare::Ult, value, end))
}
