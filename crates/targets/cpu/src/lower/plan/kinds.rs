//! What the plan asks of an operation that its row can tell: whether it is computed where it is used, needs blocks in
//! memory, and the like.

use ir::{Op, Traits};
use ttir::ops::access::AccessOp;
use ttir::ops::reduce::MapElementwiseOp;
use ttir::ops::{debug, extern_call, reduce};

/// Elementwise operations, and those whose region is inlined for each element.
pub(super) fn is_lazy(row: &ir::OpRow) -> bool {
    let others = [&extern_call::EXTERN_ELEMENTWISE, &extern_call::INLINE_ASM, &reduce::MAP_ELEMENTWISE];
    row.traits.has_any(Traits::ELEMENTWISE.and(Traits::SOURCE).and(Traits::VIEW))
        || others.iter().any(|other| row.is(other))
}

/// An elementwise call that takes several neighbours at once.
pub(super) fn is_packed(module: &ir::Module, op: Op) -> bool {
    MapElementwiseOp::of(module, op).is_some_and(|map| map.pack() > 1)
}

/// Rows whose regions are not control flow.
pub(super) fn is_inlined(row: &ir::OpRow) -> bool {
    reduce::is_reduction(row) || row.is(&reduce::MAP_ELEMENTWISE)
}

/// Effects on each element by itself.
pub(in crate::lower) fn is_elementwise_effect(module: &ir::Module, op: Op) -> bool {
    AccessOp::of(module, op).is_some_and(AccessOp::is_atomic) || module.is(op, &debug::ASSERT)
}

/// Rows that read blocks in memory of their own accord.
pub(super) fn needs_blocks(row: &ir::OpRow) -> bool {
    row.is(&reduce::HISTOGRAM) || row.is(&reduce::SCAN)
}
