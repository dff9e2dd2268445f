//! Block-level code to vector loops: a ttir kernel in, an llir module out.
//!
//! Each layer calls only those above it:
//! - *facts* about the source ([`rows`], [`strides`], [`combine`], [`accesses`], [`dot_loop`]), and what symbolic
//!   values of chunks are ([`value`]): a scalar, a sum of known shape, a vector at last;
//! - the [`plan`] of a region, as data: loop nests that share an iteration space, steps of their own, blocks that are
//!   kept in scratch memory ([`scratch`]);
//! - [`emitter`]: what is fixed for the kernel, the function that is built, where values are; scalars, structured
//!   control flow, and regions that are inlined for each element, on it;
//! - [`chunk`]: what is fixed for a walk over chunks; loads, index arithmetic and views, which are given the values of
//!   their operands; and [`eval`], which makes values in topological order;
//! - what is done with values: stores, reductions, scans, and the conditions under which a better version of a loop
//!   runs;
//! - [`walk`]: the loops over chunks, and [`versions`] of them;
//! - the [`steps`] of a plan and [`control`] flow around them, up to the [`kernel`].
//!
//! Assumed: verified ttir with one public function and no calls. Left out: anything that differs between threads; a
//! program runs on one.

mod accesses;
mod atomics;
mod bf16;
mod blocks;
mod bounds;
mod carried_columns;
mod carried_reductions;
mod chosen_branches;
mod chunk;
mod combine;
mod control;
#[cfg(test)]
mod deep_tests;
mod divide;
mod dot;
mod dot_loop;
mod dot_scaled;
mod effects;
mod element;
mod emitter;
mod error;
mod eval;
mod extensions;
mod extremes;
mod fp64_dots;
mod group;
mod induction;
mod kernel;
mod memory;
mod narrowed_stores;
mod nest;
mod neutral;
mod operands;
mod plan;
mod positions;
mod prefetch;
mod print;
mod quotients;
mod rearranged;
mod reduce;
mod region;
mod remainders;
mod row_folds;
mod rows;
mod scalar;
mod scan;
mod scan_blocks;
mod scoped;
mod scratch;
mod skip_masked;
mod spin;
mod steps;
mod storage;
mod stores;
mod stream;
mod strides;
mod structured;
pub(crate) mod subtarget;
mod sums_of_products;
mod symbolic;
mod types;
mod value;
mod versions;
mod views;
mod walk;
mod whole_quotients;
mod wide_atomics;

pub(crate) use accesses::guards;
pub(crate) use emitter::{Kept, Note};
pub(crate) use kernel::{Lowered, lower};
pub(crate) use spin::may_wait;
