//! What the warps of a program share: LDS, the barrier, clocks.

use emulation::{Barrier, Clocks, Shadow};
use rustc_hash::FxHashMap;

/// A program that runs.
pub(crate) struct Group {
    pub(crate) id: [u32; 3],
    pub(crate) lds: Vec<u8>,
    /// Which bytes have been written.
    pub(crate) written: Vec<bool>,
    /// Bytes that copies under way will write, with the instruction that began the copy.
    pub(crate) pending: FxHashMap<u32, u32>,
    pub(crate) barrier: Barrier,
    /// Warps that have not ended.
    pub(crate) live: u32,
    /// How often the warps that have ended came to the barrier.
    pub(crate) ended: Option<u32>,
    pub(crate) clocks: Clocks,
    pub(crate) shadow: Option<Shadow>,
    /// What releases through atomics on LDS have published, by offset.
    pub(crate) published: FxHashMap<u32, Vec<u32>>,
}

impl Group {
    pub(crate) fn new(id: [u32; 3], warps: u32, bytes: usize, has_races: bool) -> Group {
        let clocks = Clocks::new(warps as usize);
        Group {
            id,
            lds: vec![0xcd; bytes],
            written: vec![false; bytes],
            pending: FxHashMap::default(),
            barrier: Barrier::default(),
            live: warps,
            ended: None,
            shadow: has_races.then(|| Shadow::new(bytes, clocks.columns())),
            clocks,
            published: FxHashMap::default(),
        }
    }
}
