//! Memory of the program that the program allocates: making it, reading and writing it, other views of it.

use crate::block_memory::{Region, element_bytes, load_block, store_block, with_copies};
use crate::cx::Cx;
use crate::error::{Result, at};
use crate::free::FreeBits;
use crate::layouts::layout_of;
use crate::row_load;
use crate::table::Entry;
use crate::value::{LaneValue, SharedMemory};
use ir::{Module, Op, Type, Value as IrValue};
use layout::convert;
use layout::{Dim, LinearLayout};
use smallvec::SmallVec;
use std::rc::Rc;
use ttgir::SharedEncoding;
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

/// A view of memory, ready to be accessed.
#[derive(Debug)]
pub(crate) struct View {
    /// Where it begins.
    pub(crate) region: Region,
    /// Which element of the allocation each offset of each block holds.
    pub(crate) layout: LinearLayout,
    /// What the place of the view in its allocation changes of every offset, in elements, by xor.
    pub(crate) offset: u32,
    /// The type of the elements.
    pub(crate) element: Type,
}

/// The memory that a memory description stands for.
pub(crate) fn view(cx: &mut Cx<'_>, op: Op, value: IrValue) -> Result<View> {
    let LaneValue::Shared(memory) = cx.get(value)? else {
        return Err(cx.error(op, "an operand is not memory of the program"));
    };
    let ty = cx.module.ty(value);
    let layout = memory_layout(cx.module, op, ty)?;
    let mut starts: SmallVec<[(Dim, u32); 4]> = SmallVec::new();
    for (dim, start) in memory.offsets.iter().enumerate() {
        let Some(start) = cx.b.as_int(*start) else {
            return Err(cx.error(op, "a part of memory must begin at a constant"));
        };
        starts.push((Dim::block(dim), start as u32));
    }
    let mut offset = 0;
    if starts.iter().any(|start| start.1 != 0) {
        let inverse = layout.right_inverse().map_err(|error| at(cx.module, op, error.to_string()))?;
        offset = inverse.apply(&starts).first().map_or(0, |offset| offset.1);
    }
    let (base, bytes) = cx.split_pointer(memory.base);
    let element = memdesc(ty).map_or(ty, |desc| desc.elem);
    Ok(View { region: Region { base, offset: bytes }, layout, offset, element })
}

/// Which element of what was allocated each offset of each block holds.
fn memory_layout(module: &Module, op: Op, ty: Type) -> Result<LinearLayout> {
    let parts = memdesc(ty).zip(SharedEncoding::of(ty));
    let Some((desc, encoding)) = parts else { return Err(at(module, op, "an operand has no memory layout")) };
    let outer = desc.alloc_shape.len() - encoding.rank();
    let layout = encoding.to_linear(&desc.alloc_shape[outer..]);
    let outs: Vec<Dim> = layout.outs().iter().map(|dim| dim.0).collect();
    Ok(layout.restrict(&[Dim::OFFSET, Dim::BLOCK], &outs))
}

impl View {
    /// How registers of a layout are stored and loaded.
    pub(crate) fn accesses(
        &self,
        cx: &mut Cx<'_>,
        op: Op,
        tensor: &LinearLayout,
    ) -> Result<(convert::Access, convert::Access)> {
        let widest = cx.planner.facts.max_vector_bytes;
        self.accesses_up_to(cx, op, tensor, widest)
    }

    /// The same with instructions of at most so many bytes.
    pub(crate) fn accesses_up_to(
        &self,
        cx: &mut Cx<'_>,
        op: Op,
        tensor: &LinearLayout,
        limit: u32,
    ) -> Result<(convert::Access, convert::Access)> {
        let bytes = element_bytes(self.element);
        // A part may begin in the middle of what would be a wide access of the whole.
        let aligned = if self.offset == 0 { u32::MAX } else { (1 << self.offset.trailing_zeros()) * bytes };
        let widest = limit.min(cx.planner.facts.max_vector_bytes).min(aligned);
        let sizes: Vec<(Dim, u32)> = self.layout.outs().iter().collect();
        let tensor = tensor.enlarge_outs(&sizes).map_err(|error| at(cx.module, op, error.to_string()))?;
        let both = cx.planner.access(&tensor, &self.layout, 8 * bytes, widest);
        let (mut store, mut load) = (*both.map_err(|error| at(cx.module, op, error.message()))?).clone();
        for step in store.steps.iter_mut().chain(&mut load.steps) {
            step.offset ^= self.offset;
        }
        Ok((store, load))
    }

    /// Refuses a store after which some of what each block keeps of the view would not be written.
    pub(crate) fn check_whole(
        &self,
        cx: &Cx<'_>,
        op: Op,
        elements: i64,
        store: &convert::Access,
    ) -> Result<()> {
        if cx.num_blocks == 1 {
            return Ok(());
        }
        let copies = FreeBits::of(&self.layout).block.count_ones();
        let kept = elements << copies >> self.layout.ins().bits(Dim::BLOCK);
        let registers: usize = store.steps.iter().map(|step| step.registers.len()).sum();
        let threads = (cx.lanes * cx.num_warps) >> store.copies.count_ones();
        if registers as i64 * i64::from(threads) == kept {
            return Ok(());
        }
        Err(cx.error(
            op,
            "a block of the cluster does not hold all that its memory is to keep; convert the value first",
        ))
    }
}

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
    store_block(cx, &store, view.region, view.element, &registers, 0);
    Ok(())
}

fn load(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let view = view(cx, op, LocalLoadOp::new(cx.module, op).src())?;
    let tensor = layout_of(cx.module.ty(cx.module.result(op, 0)))?;
    let bytes = element_bytes(view.element);
    let (_, single) = view.accesses_up_to(cx, op, &tensor, bytes)?;
    if let Some(registers) = row_load::load(cx, &view, &single, bytes) {
        let registers = with_copies(cx, &single.same, view.element, &registers);
        cx.set_registers(op, registers);
        return Ok(());
    }
    let (_, load) = view.accesses(cx, op, &tensor)?;
    let mut registers = vec![None; load.same.len()];
    load_block(cx, &load, view.region, view.element, &mut registers, 0);
    let registers = with_copies(cx, &load.same, view.element, &registers);
    cx.set_registers(op, registers);
    Ok(())
}

/// The memory that an operand stands for.
fn memory_of(cx: &Cx<'_>, op: Op, operand: IrValue) -> Result<Rc<SharedMemory>> {
    match cx.get(operand)? {
        LaneValue::Shared(memory) => Ok(memory),
        _ => Err(cx.error(op, "an operand is not memory of the program")),
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
