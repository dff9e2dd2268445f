//! How many copies to shared memory a kernel has begun, as machines count them that know no groups of copies.

use ir::Op;
use rustc_hash::FxHashMap;

/// Copies of a kernel, as far as it is lowered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// How many instructions of a warp an operation is.
    pub(crate) of: FxHashMap<Op, u32>,
    /// The fewest of a group.
    pub(crate) fewest: Option<u32>,
    /// What waits took to be the fewest.
    pub(crate) assumed: u32,
}
