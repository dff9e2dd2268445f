//! A warp: rows of its lanes, and the stack of lanes that part and meet.

use crate::machine::code::{Code, FULL, Fill, LANES, Row, Slot};
use crate::machine::lds::Group;
use crate::machine::world::World;
use emulation::{Seen, Who};

/// Lanes that run together, from an instruction of a block until they come to the block `join`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) block: u32,
    pub(super) pc: u32,
    pub(super) mask: u64,
    pub(super) join: Option<u32>,
}

/// A copy from device memory to LDS under way: it lands when its warp has waited for it.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Lanes, their offsets in LDS, and the bytes that they copy.
    pub(crate) pieces: Vec<(usize, u32, Vec<u8>)>,
    pub(crate) site: u32,
}

/// A warp of a program.
pub(crate) struct Wave {
    /// Its number in the program.
    pub(crate) index: u32,
    pub(super) rows: Vec<Row>,
    /// Lanes whose value is known to have been written, by row.
    pub(super) known: Vec<u64>,
    pub(super) stack: Vec<Entry>,
    /// Lanes that have not ended.
    pub(crate) live: u64,
    /// The phase of the barrier that it waits for to end, and the place where it waits.
    pub(crate) waiting: Option<(u32, u32)>,
    pub(crate) private: Vec<u8>,
    pub(crate) private_written: Vec<bool>,
    /// What it had done when it last executed a release fence.
    pub(crate) released: Option<Seen>,
    /// What those had released whom it has met: an acquire fence makes it seen.
    pub(crate) met: Vec<u32>,
    /// Copies to LDS under way, oldest first.
    pub(crate) copies: Vec<Copy>,
    /// The phase of the barrier that it has signalled at and not waited for.
    pub(crate) signalled: Option<u32>,
    /// How often it came to the barrier, and where it did so last.
    pub(crate) arrived: (u32, u32),
}

impl Wave {
    pub(crate) fn new(code: &Code) -> Wave {
        Wave {
            index: 0,
            rows: vec![[0; LANES]; code.slots],
            known: vec![0; code.slots],
            stack: Vec::new(),
            live: 0,
            waiting: None,
            private: vec![0; code.private * LANES],
            private_written: vec![false; code.private * LANES],
            released: None,
            met: Vec::new(),
            copies: Vec::new(),
            signalled: None,
            arrived: (0, 0),
        }
    }

    /// Begins a program.
    pub(crate) fn start(&mut self, world: &World<'_>, index: u32) {
        let code = world.code;
        self.index = index;
        self.known.fill(0);
        for (slot, fill) in &code.fills {
            let bits = match *fill {
                Fill::Bits(bits) => bits,
                Fill::Variable(index) => world.variables[index],
                Fill::Argument { offset, bytes } => {
                    let mut cell = [0; 8];
                    cell[..bytes].copy_from_slice(&world.arguments[offset..offset + bytes]);
                    u64::from_le_bytes(cell)
                }
            };
            self.rows[slot.index()] = [bits; LANES];
            self.known[slot.index()] = FULL;
        }
        self.live = FULL >> (LANES as u32 - code.wave());
        let start = code.blocks[0].instructions.start;
        self.stack.clear();
        self.stack.push(Entry { block: 0, pc: start, mask: self.live, join: None });
        self.private_written.fill(false);
        (self.waiting, self.released, self.signalled) = (None, None, None);
        self.arrived = (0, 0);
        self.met.clear();
        self.copies.clear();
    }

    /// Who this is.
    pub(crate) fn who(&self, group: &Group) -> Who {
        Who { block: group.id, warp: self.index }
    }

    pub(crate) fn row(&self, slot: Slot) -> &Row {
        &self.rows[slot.index()]
    }

    pub(crate) fn row_mut(&mut self, slot: Slot) -> &mut Row {
        &mut self.rows[slot.index()]
    }

    /// The lanes whose value is known.
    pub(crate) fn known(&self, slot: Slot) -> u64 {
        self.known[slot.index()]
    }

    pub(crate) fn set_known(&mut self, slot: Slot, mask: u64, known: u64) {
        let own = &mut self.known[slot.index()];
        *own = *own & !mask | known & mask;
    }

    /// The lanes whose truth value holds.
    pub(crate) fn truth(&self, slot: Slot) -> u64 {
        let cells = self.row(slot).iter().enumerate();
        cells.fold(0, |mask, (lane, cell)| mask | (cell & 1) << lane)
    }

    /// What those had released who came to the barrier may now be acquired.
    pub(crate) fn meet(&mut self, group: &Group) {
        merge(&mut self.met, &group.barrier.completed_seen);
    }
}

/// Adds what somebody has seen to a list of clocks.
pub(crate) fn merge(into: &mut Vec<u32>, seen: &[u32]) {
    if into.len() < seen.len() {
        into.resize(seen.len(), 0);
    }
    for (own, other) in into.iter_mut().zip(seen) {
        *own = (*own).max(*other);
    }
}
