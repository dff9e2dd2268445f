//! Gathers: the source goes to memory of the program, and each lane reads what its indices say.

use crate::block_memory::{Region, element_bytes, store_block};
use crate::cx::Cx;
use crate::error::{Result, at};
use crate::layouts::layout_of;
use crate::ops::memory::{from_memory, in_memory};
use crate::shared::{Need, NeedOf, Planner};
use crate::table::Entry;
use crate::target::Access;
use ir::{Attr, Module, Op, OpRow, Type};
use layout::convert::{self, ConvertFacts};
use layout::{Dim, LinearLayout};
use llir::Value;
use ttir::ops::shape::GATHER;
use ttir::types::{elem, numel, shape};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&GATHER, gather)];

/// What they need.
pub(crate) const NEEDS: &[(&OpRow, NeedOf)] = &[(&GATHER, need)];

fn need(_: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let ty = module.ty(module.operand(op, 0));
    let bytes = numel(ty) * i64::from(element_bytes(ty));
    Ok(Need::exchanged(u32::try_from(bytes).unwrap_or(u32::MAX)))
}

/// Dimensions from the fastest to the slowest: the gathered one last, so that lanes side by side along the others read
/// neighbours.
fn order(rank: usize, axis: usize) -> Vec<usize> {
    (0..rank).rev().filter(|&dim| dim != axis).chain([axis]).collect()
}

/// Elements behind each other in that order.
fn plain_memory(ty: Type, axis: usize) -> Result<LinearLayout> {
    let sizes = shape(ty);
    let mut layout = LinearLayout::empty();
    for dim in order(sizes.len(), axis) {
        let part = LinearLayout::identity(sizes[dim].ilog2(), Dim::OFFSET, Dim::block(dim));
        layout = layout.product(&part).map_err(|error| crate::error::plain(error.to_string()))?;
    }
    Ok(layout)
}

/// How a block is stored to and loaded from memory of a layout.
pub(crate) fn accesses(
    module: &Module,
    op: Op,
    tensor: &LinearLayout,
    memory: &LinearLayout,
    (bits, facts): (u32, &ConvertFacts),
) -> Result<(convert::Access, convert::Access)> {
    convert::access(tensor, memory, bits, facts).map_err(|error| at(module, op, error.to_string()))
}

fn gather(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let axis = cx.module.attr(op, 0).and_then(Attr::as_int).unwrap_or(0) as usize;
    let source = cx.module.ty(cx.module.operand(op, 0));
    let element = elem(source);
    let bytes = element_bytes(element);
    let Some(region) = cx.scratch(op) else { return Err(cx.error(op, "has no scratch memory")) };
    let memory = plain_memory(source, axis)?;
    let facts = cx.planner.facts;
    let (store, _) = accesses(cx.module, op, &layout_of(source)?, &memory, (8 * bytes, &facts))?;
    let registers = cx.operand(op, 0)?;
    store_block(cx, &store, region, element, &registers, 0);
    cx.target.barrier(&mut cx.b);

    let indices = cx.operand(op, 1)?;
    let result = cx.layout(cx.module.ty(cx.module.result(op, 0)))?;
    let positions = cx.positions(&result);
    let mut loaded = Vec::with_capacity(indices.len());
    for (index, position) in indices.iter().zip(&positions) {
        let at = offset(cx, source, axis, *index, position);
        loaded.push(read(cx, region, element, bytes, at));
    }
    cx.set_registers(op, loaded);
    Ok(())
}

/// The offset in elements of what an index chooses; indices out of range choose any element.
fn offset(cx: &mut Cx<'_>, source: Type, axis: usize, index: Value, position: &[Value]) -> Value {
    let sizes = shape(source);
    // An index of few bits is never negative when it is in range.
    let index = cx.b.resize_unsigned(index, llir::Type::I32);
    let last = cx.b.i32(sizes[axis] as i32 - 1);
    let index = cx.b.and(index, last);
    let (mut at, mut stride) = (cx.b.i32(0), 1);
    for dim in order(sizes.len(), axis) {
        let step = cx.b.i32(stride);
        let part = if dim == axis { index } else { position[dim] };
        let part = cx.b.mul(part, step);
        at = cx.b.add(at, part);
        stride *= sizes[dim] as i32;
    }
    at
}

fn read(cx: &mut Cx<'_>, region: Region, element: Type, bytes: u32, at: Value) -> Value {
    let size = cx.b.i32(bytes as i32);
    let at = cx.b.mul(at, size);
    let pointer = cx.b.gep(llir::Type::I8, region.base, at);
    let access = Access::new(pointer, region.offset, in_memory(element), 1);
    let loaded = cx.target.load(&mut cx.b, &access, &[]);
    from_memory(cx, loaded[0], element)
}
