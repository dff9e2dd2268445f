//! Architectures whose matrix instructions are those of a warp.

use ir::pass::PassRow;
use ir::passes::{CANONICALIZE, CSE, LICM};
use ttgir::passes::{
    ACCELERATE_DOTS, ASSIGN_LAYOUTS, BULK_COPIES, COPY_LOADS, DEFER_REDUCTIONS, DROP_CARRIED, EASE_REGISTERS,
    LOAD_EARLY, ORDER_COPIES, PIPELINE_LOOPS, PREFETCH_LOADS, STREAM_LAST_READS, UNROLL_LOADS,
};

/// The passes in order.
pub(super) static PASSES: &[&PassRow] = &[
    &ACCELERATE_DOTS,
    &ASSIGN_LAYOUTS,
    &LICM,
    &CSE,
    &DEFER_REDUCTIONS,
    &STREAM_LAST_READS,
    &UNROLL_LOADS,
    &PIPELINE_LOOPS,
    &BULK_COPIES,
    &COPY_LOADS,
    &PREFETCH_LOADS,
    &DROP_CARRIED,
    &CANONICALIZE,
    &LICM,
    &CSE,
    &EASE_REGISTERS,
    &LOAD_EARLY,
    &ORDER_COPIES,
];
