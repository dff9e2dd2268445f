//! Histograms: counters in memory of the program, which all lanes add to.

use super::gather::accesses;
use crate::block_memory::{Region, load_block, store_block, with_copies};
use crate::cx::Cx;
use crate::error::Result;
use crate::free::FreeBits;
use crate::ops::memory::both;
use crate::shared::{Need, NeedOf, Planner};
use crate::table::Entry;
use crate::target::{AtomicAccess, Order, Rmw, Scope};
use crate::types;
use ir::{Module, Op, OpRow, Type};
use layout::{Dim, LinearLayout};
use llir::{IntCompare, Value};
use ttir::ops::reduce::HISTOGRAM;
use ttir::types::numel;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&HISTOGRAM, histogram)];

/// What they need.
pub(crate) const NEEDS: &[(&OpRow, NeedOf)] = &[(&HISTOGRAM, need)];

fn need(_: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let bins = numel(module.ty(module.result(op, 0)));
    Ok(Need::exchanged(u32::try_from(4 * bins).unwrap_or(u32::MAX)))
}

fn histogram(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let ty = cx.module.ty(cx.module.result(op, 0));
    let Some(region) = cx.scratch(op) else { return Err(cx.error(op, "has no scratch memory")) };
    let layout = cx.layout(ty)?;
    let counters = LinearLayout::identity(layout.outs().total_bits(), Dim::OFFSET, Dim::block(0));
    let facts = cx.planner.facts;
    let (store, load) = accesses(cx.module, op, &layout, &counters, (32, &facts))?;
    let (zero, counter) = (cx.b.i32(0), Type::int(32));
    let count = 1 << layout.ins().bits(Dim::REGISTER);
    store_block(cx, &store, region, counter, &vec![zero; count], 0);
    cx.target.barrier(&mut cx.b);
    count_all(cx, op, region, numel(ty))?;
    cx.target.barrier(&mut cx.b);
    let mut loaded = vec![None; count];
    load_block(cx, &load, region, counter, &mut loaded, 0);
    let counts = with_copies(cx, &load.same, counter, &loaded);
    let to = types::register(ty);
    let counts = counts.into_iter().map(|count| cx.b.resize_unsigned(count, to)).collect();
    cx.set_registers(op, counts);
    Ok(())
}

/// Adds one to the counter of each element that is inside and under the mask, copies once.
fn count_all(cx: &mut Cx<'_>, op: Op, region: Region, bins: i64) -> Result<()> {
    let source = cx.layout(cx.module.ty(cx.module.operand(op, 0)))?;
    let registers = cx.operand(op, 0)?;
    let masks = cx.module.optional_operand(op, 1).map(|mask| cx.registers(mask)).transpose()?;
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
            order: Order::Relaxed,
            scope: Scope::Program,
        };
        let one = cx.b.i32(1);
        if cx.target.atomic(&mut cx.b, Rmw::Add, &access, &[one]).is_none() {
            return Err(cx.error(op, "the machine cannot add to memory of the program"));
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
