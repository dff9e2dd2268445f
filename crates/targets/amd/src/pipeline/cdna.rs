//! Architectures for computing: waves of 64 lanes, `mfma`.

use ir::pass::PassRow;
use ir::passes::{CANONICALIZE, CSE, LICM};
use ttgir::passes::{
    ACCELERATE_DOTS, ASSIGN_LAYOUTS, DEFER_REDUCTIONS, DROP_CARRIED, PIPELINE_LOOPS, PREFETCH_LOADS,
    UNROLL_LOADS,
};

/// The passes in order.
pub(super) static PASSES: &[&PassRow] = &[
    &ACCELERATE_DOTS,
    &ASSIGN_LAYOUTS,
    &LICM,
    &CSE,
    &DEFER_REDUCTIONS,
    &UNROLL_LOADS,
    &PIPELINE_LOOPS,
    &PREFETCH_LOADS,
    &DROP_CARRIED,
    &CANONICALIZE,
    &LICM,
    &CSE,
];
