//! What is done to a program between block-level code and code of a lane: one flat list of passes, the same for every
//! architecture.

use ir::pass::PassRow;
use ir::passes::{CANONICALIZE, CSE, LICM};
use ttgir::passes::{
    ACCELERATE_DOTS, ASSIGN_LAYOUTS, DEFER_REDUCTIONS, DROP_CARRIED, FIT_REGISTERS, LOAD_EARLY, PING_PONG,
    PIPELINE_LOOPS, PREFETCH_LOADS, REBASE_POINTERS, UNROLL_LOADS,
};

/// The passes in order, behind the step that gives every block a layout.
pub static PASSES: &[&PassRow] = &[
    &REBASE_POINTERS,
    &DROP_CARRIED,
    &CANONICALIZE,
    &ACCELERATE_DOTS,
    &ASSIGN_LAYOUTS,
    &LICM,
    &CSE,
    &DEFER_REDUCTIONS,
    &FIT_REGISTERS,
    &UNROLL_LOADS,
    &PIPELINE_LOOPS,
    &PREFETCH_LOADS,
    &DROP_CARRIED,
    &CANONICALIZE,
    &LICM,
    &CSE,
    &LOAD_EARLY,
    &PING_PONG,
];
