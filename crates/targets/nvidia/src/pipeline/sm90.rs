//! Architectures on which groups of warps multiply from shared memory.

use ir::pass::PassRow;
use ir::passes::{CANONICALIZE, CSE, LICM};
use ttgir::passes::{
    ACCELERATE_DOTS, ASSIGN_LAYOUTS, BULK_COPIES, CAPTURE_VALUES, DEFER_REDUCTIONS, DROP_CARRIED,
    HOIST_MEMORY, HOLD_OPERANDS, INSERT_FENCES, ORDER_COPIES, PIPELINE_LOOPS, PREFETCH_LOADS,
    STREAM_LAST_READS, UNROLL_LOADS,
};

/// The passes in order.
pub(super) static PASSES: &[&PassRow] = &[
    &ACCELERATE_DOTS,
    &ASSIGN_LAYOUTS,
    &LICM,
    &CSE,
    &DEFER_REDUCTIONS,
    &STREAM_LAST_READS,
    &HOIST_MEMORY,
    &HOLD_OPERANDS,
    &UNROLL_LOADS,
    &PIPELINE_LOOPS,
    &BULK_COPIES,
    &PREFETCH_LOADS,
    &DROP_CARRIED,
    &CANONICALIZE,
    &LICM,
    &CSE,
    &ORDER_COPIES,
    &INSERT_FENCES,
    &CAPTURE_VALUES,
];
