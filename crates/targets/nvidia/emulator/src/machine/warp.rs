//! A warp: registers of 32 lanes, and the groups of lanes that stand at the same instruction.

use crate::machine::block::{Piece, Team};
use crate::machine::code::Slot;
use crate::machine::flow::Wait;
use emulation::{Seen, Who};
use smallvec::SmallVec;

/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;
/// What a group is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Waiting(Wait),
    /// The wait is over; the instruction that waited is executed again.
    Resumed,
}

/// Lanes at one instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) state: State,
}

/// A copy of `cp.async`, which lands when its lane waits for it.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) lane: u32,
    /// The lane's group it belongs to.
    pub(crate) group: u32,
    pub(crate) global: u64,
    pub(crate) shared: u32,
    pub(crate) bytes: u32,
    /// Bytes that are read; the rest are zeros.
    pub(crate) from: u32,
    pub(crate) seen: Seen,
    pub(crate) instruction: u32,
}

/// A bulk copy out of shared memory, which reads and writes when its lane waits for either.
#[derive(Debug)]
pub(crate) struct BulkStore {
    pub(crate) lane: u32,
    pub(crate) group: u32,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) reduce: Option<crate::numeric::reduce::Reduce>,
    pub(crate) seen: Seen,
    pub(crate) clock: u32,
    pub(crate) instruction: u32,
    /// What its pieces read, once they have.
    pub(crate) data: Option<Vec<[u8; 16]>>,
}

/// A matrix instruction that runs by itself.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) group: u32,
    pub(crate) results: Box<[Slot]>,
    pub(crate) operands: Box<[Slot]>,
    pub(crate) clock: u32,
}

/// What matrix instructions in flight do with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    Free,
    Operand,
    Result,
}

/// Groups of something asynchronous, counted for each lane.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    pub(crate) committed: [u32; 32],
    pub(crate) pending: Vec<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { committed: [0; 32], pending: Vec::new() }
    }
}

/// A warp of a program.
pub(crate) struct Warp {
    /// The program's index in its cluster.
    pub(crate) block: usize,
    /// The warp's index in its program.
    pub(crate) index: u32,
    /// The warp's index in its cluster.
    pub(crate) number: usize,
    pub(crate) rows: Vec<[u64; 32]>,
    /// Lanes whose value is known to have been written, by row.
    pub(crate) known: Vec<u32>,
    pub(crate) groups: SmallVec<[Group; 4]>,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Where each lane goes after [`Flow::Scatter`].
    pub(crate) targets: [u32; 32],
    pub(crate) local: Vec<u8>,
    /// The phase of the cluster barrier that each lane arrived in, until it has waited.
    pub(crate) cluster_phases: [Option<u32>; 32],
    /// The carry flag of each lane.
    pub(crate) carry: u32,
    pub(crate) copies: Queue<Copy>,
    pub(crate) stores: Queue<BulkStore>,
    /// Committed groups and what is in flight of the warp's matrix instructions.
    pub(crate) matrix_groups: u32,
    pub(crate) flights: Vec<Flight>,
    /// Rows that matrix instructions in flight use; empty if there are none.
    pub(crate) busy: Vec<Busy>,
    /// Rows written since `wgmma.fence`, which a matrix instruction may not use.
    pub(crate) unfenced: Vec<bool>,
    pub(crate) patience: u32,
}

impl Warp {
    /// Who this is.
    pub(crate) fn who(&self, team: &Team) -> Who {
        Who { block: team.blocks[self.block].id, warp: self.index }
    }

    /// The row of a register.
    pub(crate) fn row(&self, slot: Slot) -> &[u64; 32] {
        &self.rows[slot.index()]
    }

    /// Writes the lanes of a mask.
    pub(crate) fn set(&mut self, slot: Slot, mask: u32, values: &[u64; 32]) {
        let row = &mut self.rows[slot.index()];
        if mask == FULL {
            *row = *values;
            return;
        }
        for (lane, cell) in row.iter_mut().enumerate() {
            if mask >> lane & 1 == 1 {
                *cell = values[lane];
            }
        }
    }

    /// Writes one lane.
    pub(crate) fn set_lane(&mut self, slot: Slot, lane: u32, value: u64) {
        self.rows[slot.index()][lane as usize] = value;
    }

    /// The lanes whose predicate holds.
    pub(crate) fn truth(&self, (slot, negated): (Slot, bool)) -> u32 {
        let row = self.row(slot);
        let mut mask = 0;
        for (lane, cell) in row.iter().enumerate() {
            mask |= u32::from(*cell & 1 == 1) << lane;
        }
        if negated { !mask } else { mask }
    }

    /// Says which lanes of a result are known.
    pub(crate) fn set_known(&mut self, slot: Slot, mask: u32, known: u32) {
        let own = &mut self.known[slot.index()];
        *own = *own & !mask | known & mask;
    }
}
