//! Memory of the device that each program has for the time it runs, and descriptors of tensors that it keeps there.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::shared::{Need, NeedOf, Order};
use crate::value::LaneValue;
use ir::{Op, OpRow};
use ttgir::ops::bulk::{
    GLOBAL_SCRATCH_ALLOC, GlobalScratchAllocOp, REINTERPRET_DESCRIPTOR, ReinterpretDescriptorOp,
    TENSORMAP_CREATE,
};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&GLOBAL_SCRATCH_ALLOC, alloc), (&REINTERPRET_DESCRIPTOR, reinterpret)];

/// A descriptor is put together in shared memory by one warp, in the way of the target.
pub(crate) const BY_TARGETS: &[(&OpRow, NeedOf)] =
    &[(&TENSORMAP_CREATE, |_, _, _| Ok(Need { bytes: 128, align: 128, order: Order::WithinWarp }))];

fn alloc(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = GlobalScratchAllocOp::new(cx.module, op);
    let offset = cx.scratch_taken.next_multiple_of(u64::from(of.alignment()));
    cx.scratch_taken = offset + u64::from(of.nbytes());
    let mut program = cx.program_id(2);
    for axis in [1, 0] {
        let (count, own) = (cx.num_programs(axis), cx.program_id(axis));
        let before = cx.b.mul(program, count);
        program = cx.b.add(before, own);
    }
    let program = cx.b.resize_signed(program, llir::Type::I64);
    let bytes = cx.b.i64(cx.facts.global_scratch.bytes as i64);
    let start = cx.b.mul(program, bytes);
    let offset = cx.b.i64(offset as i64);
    let start = cx.b.add(start, offset);
    // The address of all of it is the parameter behind those of the kernel.
    let base = cx.b.param(cx.facts.params.len());
    let pointer = cx.add_pointer(base, start, 1);
    cx.set_result(op, LaneValue::Scalar(pointer));
    Ok(())
}

/// A descriptor is its address.
fn reinterpret(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let address = cx.get(ReinterpretDescriptorOp::new(cx.module, op).raw_desc())?;
    cx.set_result(op, address);
    Ok(())
}
