//! What every access to the memory of the device has in common, by addresses or by descriptors.

use super::async_copy::AsyncCopyOp;
use super::bulk::{BulkLoadOp, BulkWriteOp};
use ir::{Module, Op, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::descriptor::DescriptorAccessOp;

/// The block of addresses of an access.
pub fn addresses(module: &Module, op: Op) -> Option<Value> {
    let access = AccessOp::of(module, op).map(AccessOp::ptr);
    access.or_else(|| Some(AsyncCopyOp::of(module, op)?.ptr()))
}

/// Where an access by addresses takes place; everywhere without one.
pub fn mask(module: &Module, op: Op) -> Option<Value> {
    AccessOp::of(module, op).map_or_else(|| AsyncCopyOp::of(module, op)?.mask(), AccessOp::mask)
}

/// Whether an operation loads a block, by addresses or by a descriptor.
pub fn is_block_load(module: &Module, op: Op) -> bool {
    AccessOp::load(module, op).is_some() || DescriptorAccessOp::load(module, op).is_some()
}

/// What an access by a descriptor moves: a block, or shared memory.
pub fn block(module: &Module, op: Op) -> Option<Value> {
    let access = DescriptorAccessOp::of(module, op).map(DescriptorAccessOp::block);
    let read = || Some(BulkLoadOp::of(module, op)?.dst());
    access.or_else(read).or_else(|| Some(BulkWriteOp::of(module, op)?.src()))
}
