//! Shared memory that the program allocates: making it, reading and writing it, other views of it.

use super::Entry;
use crate::block_memory::{element_bytes, load_block, store_block, with_copies};
use crate::context::Cx;
use crate::error::Result;
use crate::layouts::layout_of;
use crate::row_access;
use crate::value::{LaneValue, SharedMemory};
use crate::view::{memory_layout, view};
use ir::{Op, Value as IrValue};
use layout::Dim;
use smallvec::SmallVec;
use std::rc::Rc;
use ttgir::ops::shared::{
    LOCAL_ALLOC, LOCAL_DEALLOC, LOCAL_LOAD, LOCAL_STORE, LocalAllocOp, LocalLoadOp, LocalStoreOp,
    MEMDESC_INDEX, MEMDESC_REINTERPRET, MEMDESC_RESHAPE, MEMDESC_SUBSLICE, MEMDESC_TRANS, MemdescIndexOp,
    MemdescSubsliceOp, MemdescTransOp,
};
use ttgir::types::memdesc;
use ttir::ops::forms::UnaryOp;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&LOCAL_ALLOC, alloc),
    (&LOCAL_DEALLOC, |_, _| Ok(())),
    (&LOCAL_LOAD, load),
    (&LOCAL_STORE, |cx, op| {
        let of = LocalStoreOp::new(cx.module, op);
        store(cx, op, of.src(), of.dst())
    }),
    (&MEMDESC_INDEX, index),
    (&MEMDESC_SUBSLICE, subslice),
    (&MEMDESC_TRANS, trans),
    (&MEMDESC_RESHAPE, same),
    (&MEMDESC_REINTERPRET, same),
];

fn alloc(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let Some(region) = cx.scratch(op) else { return Err(cx.error(op, "has no memory")) };
    let bytes = cx.b.i32(region.offset as i32);
    let base = cx.add_pointer(region.base, bytes, 1);
    let memory = SharedMemory { base, offsets: SmallVec::new() };
    let result = cx.module.result(op, 0);
    cx.set(result, LaneValue::Shared(Rc::new(memory)));
    LocalAllocOp::new(cx.module, op).src().map_or(Ok(()), |source| store(cx, op, source, result))
}

/// Stores a tensor.
fn store(cx: &mut Cx<'_>, op: Op, source: IrValue, target: IrValue) -> Result<()> {
    let view = view(cx, op, target)?;
    let ty = cx.module.ty(source);
    let tensor = layout_of(ty)?;
    let (store, _) = view.accesses(cx, op, &tensor)?;
    view.check_whole(cx, op, ttir::types::numel(ty), &store)?;
    let registers = cx.registers(source)?;
    let bytes = element_bytes(view.element);
    let (_, single) = view.accesses_up_to(cx, op, &tensor, bytes)?;
    if !row_access::store(cx, &view, (&single, store.copies), bytes, &registers) {
        store_block(cx, &store, view.region, view.element, &registers, 0);
    }
    Ok(())
}

fn load(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let view = view(cx, op, LocalLoadOp::new(cx.module, op).src())?;
    let tensor = layout_of(cx.module.ty(cx.module.result(op, 0)))?;
    let bytes = element_bytes(view.element);
    let (_, single) = view.accesses_up_to(cx, op, &tensor, bytes)?;
    if let Some(registers) = row_access::load(cx, &view, &single, bytes) {
        let registers = with_copies(&single.same, &registers);
        cx.set_registers(op, registers);
        return Ok(());
    }
    let (_, load) = view.accesses(cx, op, &tensor)?;
    let mut registers = vec![None; load.same.len()];
    load_block(cx, &load, view.region, view.element, &mut registers, 0);
    let registers = with_copies(&load.same, &registers);
    cx.set_registers(op, registers);
    Ok(())
}

/// The memory that an operand stands for.
fn memory_of(cx: &Cx<'_>, op: Op, operand: IrValue) -> Result<Rc<SharedMemory>> {
    match cx.get(operand)? {
        LaneValue::Shared(memory) => Ok(memory),
        _ => Err(cx.error(op, "an operand is not in shared memory")),
    }
}

fn index(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = MemdescIndexOp::new(cx.module, op);
    let memory = memory_of(cx, op, of.src())?;
    let ty = cx.module.ty(cx.module.result(op, 0));
    let elements = 1u32 << memory_layout(cx.module, op, ty)?.ins().bits(Dim::OFFSET);
    let bytes = cx.b.i32((elements * element_bytes(memdesc(ty).map_or(ty, |desc| desc.elem))) as i32);
    let number = cx.scalar(of.index())?;
    let number = cx.b.resize_signed(number, llir::Type::I32);
    let by = cx.b.mul(number, bytes);
    let base = cx.add_pointer(memory.base, by, 1);
    cx.set_result(op, LaneValue::Shared(Rc::new(SharedMemory { base, offsets: memory.offsets.clone() })));
    Ok(())
}

fn subslice(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = MemdescSubsliceOp::new(cx.module, op);
    let memory = memory_of(cx, op, of.src())?;
    let mut offsets = SmallVec::new();
    for (dim, start) in of.offsets().iter().enumerate() {
        let start = cx.b.i32(*start as i32);
        offsets.push(match memory.offsets.get(dim) {
            Some(before) => cx.b.add(*before, start),
            None => start,
        });
    }
    cx.set_result(op, LaneValue::Shared(Rc::new(SharedMemory { base: memory.base, offsets })));
    Ok(())
}

fn trans(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = MemdescTransOp::new(cx.module, op);
    let memory = memory_of(cx, op, of.src())?;
    let order = of.order().iter();
    let offsets = order.filter_map(|from| memory.offsets.get(*from as usize).copied()).collect();
    cx.set_result(op, LaneValue::Shared(Rc::new(SharedMemory { base: memory.base, offsets })));
    Ok(())
}

/// The same memory by another type.
fn same(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let memory = memory_of(cx, op, UnaryOp::new(cx.module, op).src())?;
    cx.set_result(op, LaneValue::Shared(memory));
    Ok(())
}
