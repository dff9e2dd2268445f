//! Descriptors of tensors that kernels make: put together in shared memory by one warp, and copied to the device's
//! memory, where the copy engine reads them.
//!
//! All of the first warp clear the 128 bytes, one lane sets the fields, and the warp copies them: the copy is what lets
//! the engine see them.

use super::bulk::{scalar, speaks};
use super::instruction::Instruction;
use ir::{Module, Op};
use lanes::{Cx, Handler, Result};
use llir::{IntCompare, Op as LlirOp, Type, Value};
use ttgir::ops::bulk::{
    TENSORMAP_ACQUIRE, TENSORMAP_CREATE, TensormapAcquireOp, TensormapCreateOp, tensormap_parts,
};

/// Bytes of a descriptor.
const MAP_BYTES: i64 = 128;

/// The handler of an operation on descriptors that kernels make.
pub(super) fn handler(module: &Module, op: Op) -> Option<Handler> {
    if module.is(op, &TENSORMAP_CREATE) {
        Some(create)
    } else {
        module.is(op, &TENSORMAP_ACQUIRE).then_some(acquire as Handler)
    }
}

/// Puts a descriptor together and copies it to memory.
fn create(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = TensormapCreateOp::new(cx.module, op);
    let (slot, base) = (scalar(cx, op, of.desc_ptr())?, scalar(cx, op, of.global_address())?);
    let plain = [
        ("elemtype", of.elem_type()),
        ("interleave_layout", of.interleave_layout()),
        ("swizzle_mode", of.swizzle_mode()),
        ("fill_mode", of.fill_mode()),
    ];
    let lists = lists(cx.module, op);
    let memory = cx.scratch_address(op)?;
    let memory = cx.b.cast(LlirOp::PTRTOINT, memory, Type::I32);
    let (first, one) = (is_first_warp(cx), speaks(cx, None));
    clear(cx, memory, first);
    cx.target.warp_barrier(&mut cx.b);
    set(cx, "global_address", "b64", None, (memory, base, one));
    let rank = cx.b.i32(lists[0].2.len() as i32 - 1);
    set(cx, "rank", "b32", None, (memory, rank, one));
    for (field, number) in plain {
        // These are part of the instruction.
        let replace = Instruction::new(format!("tensormap.replace.tile.{field}.shared::cta.b1024.b32"));
        replace.at(memory).constant(number).when(one).effect(&mut cx.b);
    }
    for (field, ty, values) in lists {
        for (at, value) in values.into_iter().enumerate() {
            let value = scalar(cx, op, value)?;
            set(cx, field, ty, Some(at as i64), (memory, value, one));
        }
    }
    cx.target.warp_barrier(&mut cx.b);
    let copy = Instruction::new(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
    );
    copy.at(slot).at(memory).constant(MAP_BYTES).when(first).effect(&mut cx.b);
    Ok(())
}

/// Lets this lane's copies see a descriptor that was written before.
fn acquire(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let slot = scalar(cx, op, TensormapAcquireOp::new(cx.module, op).desc_ptr())?;
    let fence = Instruction::new("fence.proxy.tensormap::generic.acquire.gpu");
    fence.at(slot).constant(MAP_BYTES).effect(&mut cx.b);
    Ok(())
}

/// The fields that have a value for each dimension, with the type of one.
type List = (&'static str, &'static str, Vec<ir::Value>);

fn lists(module: &Module, op: Op) -> [List; 4] {
    let [sides, sizes, strides, steps] = tensormap_parts(module, op).map(<[_]>::to_vec);
    [
        ("box_dim", "b32", sides),
        ("global_dim", "b32", sizes),
        ("global_stride", "b64", strides),
        ("element_stride", "b32", steps),
    ]
}

fn is_first_warp(cx: &mut Cx<'_>) -> Value {
    let warp = cx.ids().warp;
    let zero = cx.b.i32(0);
    cx.b.icmp(IntCompare::Eq, warp, zero)
}

/// Each lane of a warp clears four bytes.
fn clear(cx: &mut Cx<'_>, memory: Value, first: Value) {
    let lane = cx.ids().lane;
    let two = cx.b.i32(2);
    let place = cx.b.shl(lane, two);
    let place = cx.b.add(memory, place);
    let zero = cx.b.i32(0);
    Instruction::new("st.shared.b32").at(place).register(zero).when(first).effect(&mut cx.b);
}

/// Sets a field, or the part of it that a number says.
fn set(cx: &mut Cx<'_>, field: &str, ty: &str, at: Option<i64>, (memory, value, one): (Value, Value, Value)) {
    let replace =
        Instruction::new(format!("tensormap.replace.tile.{field}.shared::cta.b1024.{ty}")).at(memory);
    let replace = at.into_iter().fold(replace, Instruction::constant);
    replace.register(value).when(one).effect(&mut cx.b);
}
