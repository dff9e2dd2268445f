//! The machine that runs decoded code: programs of warps that share LDS and a barrier.
//!
//! - A component of a value is a row: one cell of 64 bits for each lane, zero-extended from the component's width.
//! - A warp has one stack of lanes to run; the top runs until it meets the block where the others wait for it.

pub(crate) mod code;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod lds;
pub(crate) mod place;
pub(crate) mod step;
pub(crate) mod wave;
