//! Block-level code to vector loops: a ttir kernel in, an llir module out.
//!
//! A region becomes a [`plan`]: loop nests that share an iteration space, and steps of their own. In a nest every value
//! is made chunk by chunk where it is needed ([`eval`]), in the simplest form that holds ([`value`]): a scalar, a sum
//! of known shape, a vector at last. Blocks that outlive their nest are in scratch memory ([`scratch`]).
//!
//! Assumed: verified ttir with one public function and no calls. Left out: anything that differs between threads; a
//! program runs on one.

mod accesses;
mod ahead;
mod beyond;
mod blocks;
mod carried_reductions;
mod combine;
mod control;
mod cx;
#[cfg(test)]
mod deep_tests;
mod descriptors;
mod divide;
mod dot;
mod dot_scaled;
mod effects;
mod element;
mod error;
mod eval;
mod extremes;
mod group;
mod induction;
mod kernel;
pub(crate) mod machine;
mod memory;
mod nest;
mod operands;
mod plan;
mod product;
mod reduce;
mod rows;
mod scalar;
mod scan;
mod scoped;
mod scratch;
mod size;
mod stream;
mod strides;
mod symbolic;
mod types;
mod value;
mod views;

pub(crate) use cx::Note;
pub(crate) use kernel::{Lowered, lower};
