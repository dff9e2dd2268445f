//! Gathers: the source goes to shared memory, and each lane reads what its indices say. Blocks of a cluster keep
//! what they have at its place among all elements, and read each other's.

use super::SharingEntry;
use crate::block_memory::{element_bytes, store_block};
use crate::context::Cx;
use crate::error::{Result, at};
use crate::free_bits::FreeBits;
use crate::layouts::layout_of;
use crate::ops::memory::{from_memory, in_memory};
use crate::shared::{Need, Order, Planner};
use crate::target::Access;
use crate::value::Region;
use ir::{Module, Op, Type};
use layout::{Dim, LinearLayout};
use llir::Value;
use ttir::ops::shape::{GATHER, GatherOp};
use ttir::types::{elem, numel, shape};

/// Rows of this file.
pub(crate) const SHARING: &[SharingEntry] = &[(&GATHER, gather, need)];

fn need(_: &mut Planner, module: &Module, op: Op) -> Result<Need> {
    let ty = module.ty(GatherOp::new(module, op).src());
    let bytes = numel(ty) * i64::from(element_bytes(ty));
    let need = Need::exchanged(u32::try_from(bytes).unwrap_or(u32::MAX));
    let split = owners(&layout_of(ty)?)?.is_some();
    Ok(if split { Need { order: Order::WaitsForCluster, ..need } } else { need })
}

/// The block of the cluster that has each element; `None` where every block has them all.
fn owners(source: &LinearLayout) -> Result<Option<LinearLayout>> {
    let blocks = source.ins().bits(Dim::BLOCK);
    if FreeBits::of(source).block.count_ones() == blocks {
        return Ok(None);
    }
    let places = source.right_inverse().map_err(|error| crate::error::plain(error.to_string()))?;
    let dims: Vec<Dim> = source.outs().iter().map(|out| out.0).collect();
    Ok(Some(places.restrict(&dims, &[Dim::BLOCK])))
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

fn gather(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = GatherOp::new(cx.module, op);
    let (axis, source) = (of.axis(), cx.module.ty(of.src()));
    let element = elem(source);
    let bytes = element_bytes(element);
    let Some(region) = cx.scratch(op) else { return Err(cx.error(op, "has no scratch memory")) };
    let memory = plain_memory(source, axis)?;
    let widest = cx.planner.facts.max_vector_bytes;
    let access = cx.planner.access(&layout_of(source)?, &memory, 8 * bytes, widest);
    let access = access.map_err(|error| at(cx.module, op, error.message()))?;
    let registers = cx.registers(of.src())?;
    store_block(cx, &access.0, region, element, &registers, 0);
    let owners = owners(&*cx.layout(source)?)?;
    match owners {
        Some(_) => cx.program_barrier(),
        None => cx.block_barrier(),
    }

    let indices = cx.registers(of.indices())?;
    let result = cx.layout(cx.module.ty(cx.module.result(op, 0)))?;
    let positions = cx.positions(&result);
    let mut loaded = Vec::with_capacity(indices.len());
    for (index, position) in indices.iter().zip(&positions) {
        let chosen = chosen(cx, source, axis, *index, position);
        let at = offset(cx, source, axis, &chosen);
        let from = owners.as_ref().map(|owners| owner(cx, owners, &chosen));
        loaded.push(read(cx, region, element, at, from));
    }
    cx.set_registers(op, loaded);
    Ok(())
}

/// The position of what an index chooses; indices out of range choose any element.
fn chosen(cx: &mut Cx<'_>, source: Type, axis: usize, index: Value, position: &[Value]) -> Vec<Value> {
    // An index of few bits is never negative when it is in range.
    let index = cx.b.resize_unsigned(index, llir::Type::I32);
    let last = cx.b.i32(shape(source)[axis] as i32 - 1);
    let mut chosen = position.to_vec();
    chosen[axis] = cx.b.and(index, last);
    chosen
}

/// The block of the cluster that has the element at a position.
fn owner(cx: &mut Cx<'_>, owners: &LinearLayout, position: &[Value]) -> Value {
    let inputs: Vec<(Dim, Value)> =
        position.iter().enumerate().map(|(dim, at)| (Dim::block(dim), *at)).collect();
    cx.apply_layout(owners, &inputs)[0]
}

/// The offset in elements of a position.
fn offset(cx: &mut Cx<'_>, source: Type, axis: usize, position: &[Value]) -> Value {
    let sizes = shape(source);
    let (mut at, mut stride) = (cx.b.i32(0), 1);
    for dim in order(sizes.len(), axis) {
        let step = cx.b.i32(stride);
        let part = cx.b.mul(position[dim], step);
        at = cx.b.add(at, part);
        stride *= sizes[dim] as i32;
    }
    at
}

/// Reads an element, from the memory of a block where one is given.
fn read(cx: &mut Cx<'_>, region: Region, element: Type, at: Value, from: Option<Value>) -> Value {
    let size = cx.b.i32(element_bytes(element) as i32);
    let at = cx.b.mul(at, size);
    let mut pointer = cx.b.gep(llir::Type::I8, region.base, at);
    if let Some(block) = from {
        pointer = cx.target.peer(&mut cx.b, pointer, block);
    }
    let access = Access::new(pointer, region.offset, in_memory(element), 1);
    let loaded = cx.target.load(&mut cx.b, &access, &[]);
    from_memory(cx, loaded[0], element)
}
