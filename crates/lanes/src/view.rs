//! Views of shared memory that registers are stored to and loaded from: `ttg.memdesc` types with the place of what they
//! stand for.

use crate::block_memory::element_bytes;
use crate::context::Cx;
use crate::error::{Result, at};
use crate::free_bits::FreeBits;
use crate::value::{LaneValue, Region};
use ir::{Module, Op, Type, Value as IrValue};
use layout::convert;
use layout::{Dim, LinearLayout};
use smallvec::SmallVec;
use ttgir::SharedEncoding;
use ttgir::types::memdesc;

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

/// The memory that a memory descriptor stands for.
pub(crate) fn view(cx: &mut Cx<'_>, op: Op, value: IrValue) -> Result<View> {
    let LaneValue::Shared(memory) = cx.get(value)? else {
        return Err(cx.error(op, "an operand is not in shared memory"));
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
pub(crate) fn memory_layout(module: &Module, op: Op, ty: Type) -> Result<LinearLayout> {
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
