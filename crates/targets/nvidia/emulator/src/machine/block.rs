//! Programs (thread blocks) and the clusters they form: shared memory, barriers, what is in flight.

use crate::machine::mbarrier::Mbarrier;
use crate::machine::registers::Registers;
use emulation::{Barrier, Clocks, Seen, Shadow, Who};
use rustc_hash::FxHashMap;

/// One program.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) id: [u32; 3],
    pub(crate) shared: Vec<u8>,
    /// Which bytes have been written.
    pub(crate) written: Vec<bool>,
    pub(crate) barriers: [Barrier; 16],
    pub(crate) registers: Registers,
    pub(crate) mbarriers: FxHashMap<u32, Mbarrier>,
    /// Threads that have not exited.
    pub(crate) live: u32,
    pub(crate) shadow: Option<Shadow>,
    /// The number of its first warp among the cluster's.
    pub(crate) first_warp: usize,
}

/// One piece of a copy between global and shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// Absent where the tensor ends: zeros are copied.
    pub(crate) global: Option<u64>,
    pub(crate) shared: u32,
    pub(crate) bytes: u32,
}

/// A bulk copy into shared memory that an mbarrier waits for.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// Block and offset of the mbarrier.
    pub(crate) mbarrier: (usize, u32),
    /// The block that is written.
    pub(crate) block: usize,
    pub(crate) pieces: Vec<Piece>,
    /// The bytes that the mbarrier counts.
    pub(crate) bytes: u32,
    /// Who began it, the warp's number in the cluster, the lane, what they had seen, and the instruction.
    pub(crate) who: Who,
    pub(crate) warp: usize,
    pub(crate) lane: u32,
    pub(crate) seen: Seen,
    pub(crate) instruction: u32,
}

/// The programs of a cluster.
#[derive(Debug)]
pub(crate) struct Team {
    /// Its number, from 1.
    pub(crate) number: u32,
    pub(crate) blocks: Vec<Block>,
    pub(crate) clocks: Clocks,
    pub(crate) cluster_barrier: Barrier,
    pub(crate) deliveries: Vec<Delivery>,
    /// When each warp last fenced the asynchronous proxy for global memory, among all accesses of the launch.
    pub(crate) fenced: Vec<u64>,
    /// What releases through atomics on shared memory have published, by block and offset.
    pub(crate) published: FxHashMap<(usize, u32), Vec<u32>>,
}

impl Team {
    /// Threads of all programs that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.blocks.iter().map(|block| block.live).sum()
    }
}
