//! What orders accesses of shared memory, and which accesses nothing orders.

pub(crate) mod clocks;
pub(crate) mod shadow;
