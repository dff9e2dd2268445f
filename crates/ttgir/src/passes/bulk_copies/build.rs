//! The operations of bulk copies and of the barriers that wait for them.

use crate::SharedEncoding;
use crate::encoding::box_of;
use crate::from_ttir::is_halved;
use crate::ops::barrier::{
    BARRIER_EXPECT, BarrierExpectOp, FENCE_ASYNC_SHARED, INIT_BARRIER, INVAL_BARRIER, InitBarrierOp,
    WAIT_BARRIER,
};
use crate::ops::bulk::{
    BULK_LOAD, BULK_REDUCE, BULK_STORE, BULK_STORE_WAIT, BulkLoadOp, BulkReduceOp, BulkStoreWaitOp,
};
use crate::ops::shared::{AllocOp, MEMDESC_INDEX, allocate};
use crate::types::memdesc_type;
use ir::{Attr, Builder, Module, Op, Type, Value};
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::{DescriptorAccessOp, ReduceKind};
use ttir::types::{elem, elem_bytes, numel, shape};

/// Bits of a barrier.
const BARRIER_BITS: u32 = 64;

/// How barriers lie in shared memory.
fn plain() -> SharedEncoding {
    SharedEncoding::Swizzled { vec: 1, per_phase: 1, max_phase: 1, order: vec![0], cga: Vec::new() }
}

/// A constant of 32 bits.
pub(crate) fn number(builder: &mut Builder<'_>, value: i64) -> Value {
    let ty = Type::int(32);
    builder.build_as(&CONSTANT, &[], &[Some(Attr::int(value, ty))], ty)
}

/// Makes so many barriers, each for one arrival.
pub(crate) fn make_barriers(builder: &mut Builder<'_>, count: usize) -> Value {
    make_barriers_for(builder, count, 1)
}

/// Makes so many barriers, each for so many arrivals.
pub(crate) fn make_barriers_for(builder: &mut Builder<'_>, count: usize, arrivals: u32) -> Value {
    let ty = memdesc_type(&[count as i64, 1], Type::int(BARRIER_BITS), &plain(), true);
    let ring = allocate(builder, ty);
    for index in 0..count {
        let index = number(builder, index as i64);
        let barrier = barrier_at(builder, ring, index);
        builder.build_effect(&INIT_BARRIER, &[barrier], &InitBarrierOp::attrs(arrivals));
    }
    // What lanes did before to memory that copies will write comes before the copies.
    builder.build_effect(&FENCE_ASYNC_SHARED, &[], &[Some(Attr::Bool(false))]);
    ring
}

/// One of several barriers.
pub(crate) fn barrier_at(builder: &mut Builder<'_>, ring: Value, index: Value) -> Value {
    let ty = memdesc_type(&[1], Type::int(BARRIER_BITS), &plain(), true);
    builder.build_as(&MEMDESC_INDEX, &[ring, index], &[], ty)
}

/// Ends barriers.
pub(crate) fn end_barriers(builder: &mut Builder<'_>, ring: Value, count: usize) {
    for index in 0..count {
        let index = number(builder, index as i64);
        let barrier = barrier_at(builder, ring, index);
        builder.build_effect(&INVAL_BARRIER, &[barrier], &[]);
    }
}

/// Lets a barrier expect so many bytes, if a condition holds.
pub(crate) fn expect(builder: &mut Builder<'_>, barrier: Value, bytes: u64, condition: Value) {
    let attrs = BarrierExpectOp::attrs(u32::try_from(bytes).expect("shared memory is smaller"));
    builder.build_effect(&BARRIER_EXPECT, &[barrier, condition], &attrs);
}

/// Waits for a phase of a barrier.
pub(crate) fn wait(builder: &mut Builder<'_>, barrier: Value, phase: Value) -> Op {
    builder.build_effect(&WAIT_BARRIER, &[barrier, phase], &[])
}

/// What a copy moves: a box of a tensor, and shared memory.
pub(crate) struct BulkTile<'a> {
    pub(crate) desc: Value,
    pub(crate) corner: &'a [Value],
    pub(crate) target: Value,
}

/// Begins a copy that a barrier counts, if a condition holds; the half of a pair's program where each copies one.
pub(crate) fn load(builder: &mut Builder<'_>, copy: &BulkTile<'_>, barrier: Value, condition: Value) {
    let mut operands = vec![copy.desc];
    operands.extend(copy.corner);
    operands.extend([barrier, copy.target, condition]);
    let is_halved = is_halved(builder.module, copy.desc);
    builder.build_effect(&BULK_LOAD, &operands, &BulkLoadOp::attrs(is_halved));
}

/// Lets what lanes wrote to shared memory come before what copies read of it.
pub(crate) fn fence(builder: &mut Builder<'_>) {
    builder.build_effect(&FENCE_ASYNC_SHARED, &[], &[Some(Attr::Bool(false))]);
}

/// Begins to copy a block from shared memory, or to combine it with what is there.
pub(crate) fn store(builder: &mut Builder<'_>, copy: &BulkTile<'_>, kind: Option<ReduceKind>) {
    let operands: Vec<Value> = [copy.desc].iter().chain(copy.corner).chain([&copy.target]).copied().collect();
    match kind {
        None => builder.build_effect(&BULK_STORE, &operands, &[]),
        Some(kind) => builder.build_effect(&BULK_REDUCE, &operands, &BulkReduceOp::attrs(kind)),
    };
}

/// Waits until all but so many of the newest copies have read shared memory, or also are written.
pub(crate) fn store_wait(builder: &mut Builder<'_>, pendings: u32, read_only: bool) {
    builder.build_effect(&BULK_STORE_WAIT, &[], &BulkStoreWaitOp::attrs(pendings, read_only));
}

/// Bytes that a load brings.
pub(crate) fn bytes_of(module: &Module, load: Op) -> u64 {
    let ty = module.ty(module.result(load, 0));
    numel(ty) as u64 * elem_bytes(elem(ty))
}

/// How the block of a load should lie in shared memory: as one of its users wants it, if bulk copies can leave it so.
pub(crate) fn shared_for(module: &Module, load: Op) -> Option<SharedEncoding> {
    let of = DescriptorAccessOp::new(module, load);
    let users = module.uses(of.block()).iter().filter(|use_| AllocOp::is(module, use_.0));
    let mut wanted = users.filter_map(|&(user, _)| SharedEncoding::of(module.ty(module.result(user, 0))));
    let dims = shape(module.ty(of.block()));
    let wanted = wanted.find(|encoding| box_of(encoding, dims).is_some()).cloned();
    wanted.or_else(|| SharedEncoding::of_box(module.ty(of.block())))
}
