//! What layouts cost, in bytes of global memory traffic: the one unit in which accesses, conversions and work are
//! compared.
//!
//! The weights say what one multiprocessor does in the time in which it moves a byte to or from global memory. They are
//! ratios that hold, within a factor of two, on all machines that this path serves; only their order decides.

use super::bases::{Bases, Reach, strides};
use crate::Encoding;
use smallvec::SmallVec;

/// Shared memory: a byte written and read again.
pub(super) const SHARED_BYTE: f64 = 0.3;
/// One store instruction of a warp to shared memory, whatever it moves, and the most that a lane stores by it in bytes.
const STORE: f64 = 8.0;
const WIDEST_STORE: u64 = 16;
/// A barrier of all warps, twice around shared memory.
pub(super) const BARRIER: f64 = 300.0;
/// A byte that another block of the cluster reads, and all lanes of the cluster waiting for each other.
const REMOTE_BYTE: f64 = 2.0;
const CLUSTER_BARRIER: f64 = 1500.0;
/// A byte that a lane sends to another.
pub(super) const SHUFFLED_BYTE: f64 = 0.2;
/// One simple operation of one lane.
pub(super) const LANE_OPERATION: f64 = 0.05;
/// One access instruction of a warp, whatever it moves.
const ACCESS: f64 = 32.0;
/// A line of the first cache that an access instruction of a warp touches: one is looked up at a time.
const LOOKUP: f64 = 20.0;
/// Bytes of such a line.
const LINE: u64 = 128;
/// A sector is the least that global memory moves.
const SECTOR: u64 = 32;
/// So many lanes side by side share a sector where nothing says how far apart they store.
const UNKNOWN_NEIGHBOURS: u64 = 2;
/// What is read again soon comes from the nearest cache.
const CACHED: f64 = 0.3;
/// How much more often the body of a loop runs than the code around it.
const ITERATIONS: f64 = 10.0;

/// How often code at a depth of loops runs.
pub(crate) fn frequency(depth: usize) -> f64 {
    ITERATIONS.powi(depth.min(3) as i32)
}

/// A conversion of a block with so many elements of so many bytes.
pub(crate) fn conversion(from: &Bases, to: &Bases, elements: u64, bytes: u64) -> f64 {
    let size = (elements * bytes) as f64;
    // Copies are written once but read by all warps that hold them; lanes of a warp read them together.
    let lanes = to.lane.iter().filter(|&&word| word != 0).count();
    let read = ((to.registers() << (lanes + to.warp.len())) * bytes) as f64;
    match from.reach(to) {
        Reach::Nothing | Reach::Registers => 0.0,
        Reach::Lanes => BARRIER * 0.1 + SHUFFLED_BYTE * read,
        Reach::Warps => BARRIER + SHARED_BYTE * (size + read) / 2.0,
        Reach::Blocks => 2.0 * CLUSTER_BARRIER + REMOTE_BYTE * read,
    }
}

/// Putting a block with elements of so many bytes into shared memory, where it is contiguous along a dimension: a lane
/// stores at once what it holds of that together, and a warp's store takes at least the time of one row of banks.
pub(crate) fn stored(bases: &Bases, shape: &[i64], dim: usize, bytes: u64) -> f64 {
    let unit = strides(shape)[dim];
    let mut vector = 1;
    while vector * bytes < WIDEST_STORE && bases.register.contains(&(unit * vector)) {
        vector *= 2;
    }
    let warps = 1u64 << bases.warp.iter().filter(|&&word| word != 0).count();
    let lanes = 1u64 << bases.lane.iter().filter(|&&word| word != 0).count();
    let moved = (lanes * vector * bytes).max(LINE);
    let stores = bases.registers() / vector * warps;
    stores as f64 * (moved as f64 * SHARED_BYTE / 2.0 + STORE)
}

/// Work on each element that a lane holds, copies included.
pub(crate) fn work(bases: &Bases, operations: f64) -> f64 {
    let lanes = 1u64 << (bases.lane.len() + bases.warp.len());
    (bases.registers() * lanes) as f64 * operations * LANE_OPERATION
}

/// How an operation on memory runs through a block.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Sizes of the block.
    pub(crate) shape: &'static [i64],
    /// Bytes of an element.
    pub(crate) bytes: u64,
    /// The dimension along which addresses run.
    pub(crate) dim: usize,
    /// Along that dimension: so many neighbours are contiguous.
    pub(crate) contiguity: u64,
    /// So many may be moved by one access: aligned, and all or none of them masked off, or a first part of them not,
    /// which other accesses then move.
    pub(crate) run: u64,
    /// So many may always be moved by one access: all or none of them are masked off.
    pub(crate) whole: u64,
    /// Groups of neighbours along each dimension that have one address.
    pub(crate) constancy: SmallVec<[u64; 4]>,
    /// Dimensions, those along which addresses run first.
    pub(crate) order: SmallVec<[u32; 4]>,
    /// The widest access of a lane in bytes.
    pub(crate) widest: u64,
    /// Whether it only reads, so that what it touches again is in a cache.
    pub(crate) reads: bool,
}

impl Access {
    /// Elements that one access of a lane moves at most.
    pub(crate) fn vector(&self) -> u64 {
        self.run.min(self.widest / self.bytes).max(1)
    }

    /// Elements that one access of a lane moves at most where it moves all of them or none.
    pub(crate) fn whole_vector(&self) -> u64 {
        self.vector().min(self.whole)
    }

    /// Neighbours along the addresses that a lane holds in a layout.
    pub(crate) fn in_registers(&self, encoding: &Encoding) -> u64 {
        let bases = Bases::new(&encoding.to_linear(self.shape), self.shape);
        let unit = strides(self.shape)[self.dim];
        let mut count = 1;
        while bases.register.contains(&(unit * count)) {
            count *= 2;
        }
        count
    }

    /// The bytes that are moved, and nothing else.
    pub(crate) fn moved(&self) -> f64 {
        (self.shape.iter().product::<i64>() as u64 * self.bytes) as f64
    }

    /// What the accesses of all warps cost.
    pub(crate) fn cost(&self, bases: &Bases) -> f64 {
        let unit: u64 = self.shape[self.dim + 1..].iter().map(|&size| size as u64).product();
        let grow = |words: &[u64], mut span: u64, limit: u64| {
            while span < limit && words.contains(&(unit * span)) {
                span *= 2;
            }
            span
        };
        let vector = grow(&bases.register, 1, self.vector());
        let instructions = (bases.registers() / vector) >> self.repeated(bases);
        // A stretch that the lanes of a warp cover together, and what other registers add to it.
        let span = grow(&bases.lane, vector, self.contiguity);
        let later = grow(&bases.register, span, self.contiguity);
        let lanes = 1u64 << bases.lane.iter().filter(|&&word| word != 0 && !self.same_address(word)).count();
        let mut stretches = (lanes * vector / span).max(1);
        if self.may_share_sectors(bases, unit) {
            stretches = stretches.div_ceil(UNKNOWN_NEIGHBOURS);
        }
        let stretch = span * self.bytes;
        let moved = if stretch >= SECTOR {
            stretch as f64
        } else if later * self.bytes >= SECTOR && self.reads {
            stretch as f64 * 1.25
        } else {
            SECTOR as f64
        };
        let warps = 1u64 << bases.warp.iter().filter(|&&word| word != 0).count();
        let copies = (1u64 << bases.warp.len()) - warps;
        let runs = warps as f64 + if self.reads { copies as f64 * CACHED } else { 0.0 };
        let lookups = (stretches * stretch.div_ceil(LINE)) as f64 * LOOKUP;
        instructions as f64 * (stretches as f64 * moved + ACCESS + lookups) * runs
    }

    /// Whether lanes side by side store neighbours whose distance is not known: it may be two or three elements. What
    /// is read so is in the first cache when the next register's turn comes; stores go past that.
    fn may_share_sectors(&self, bases: &Bases, unit: u64) -> bool {
        !self.reads && self.contiguity == 1 && bases.lane.first() == Some(&unit)
    }

    /// Whether neighbours are read at one address, so that it suits a lane to hold as many as what it computes with.
    pub(crate) fn repeats(&self) -> bool {
        self.reads && self.contiguity == 1 && self.constancy[self.dim] > 1
    }

    /// Bits of the register number that lead to the same address: what is there is read once.
    fn repeated(&self, bases: &Bases) -> u32 {
        let same = bases.register.iter().filter(|&&word| word != 0 && self.same_address(word)).count();
        if self.reads { same as u32 } else { 0 }
    }

    /// Whether a step by this word leads to the same address.
    fn same_address(&self, word: u64) -> bool {
        let strides = strides(self.shape);
        (0..self.shape.len()).all(|dim| {
            let at = word / strides[dim] % self.shape[dim] as u64;
            at < self.constancy[dim]
        })
    }
}

/// A reduction along a dimension: what lanes and warps must tell each other, and so many operations wherever two
/// elements are combined.
pub(crate) fn reduction(bases: &Bases, shape: &[i64], axis: usize, bytes: u64, operations: f64) -> f64 {
    let stride = strides(shape)[axis];
    let along = |word: u64| !(word / stride).is_multiple_of(shape[axis] as u64);
    let count = |words: &[u64]| words.iter().filter(|&&word| along(word)).count();
    let (lanes, warps, blocks) = (count(&bases.lane), count(&bases.warp), count(&bases.block));
    let kept = bases.register.iter().filter(|&&word| word != 0 && !along(word)).count();
    let threads = 1u64 << (bases.lane.len() + bases.warp.len());
    let held = ((1u64 << kept) * threads * bytes) as f64;
    let through_shared = if warps > 0 { BARRIER + SHARED_BYTE * held } else { 0.0 };
    let between = if blocks > 0 { 2.0 * CLUSTER_BARRIER + REMOTE_BYTE * held } else { 0.0 };
    let combined = ((1u64 << kept) * threads) as f64 * lanes as f64 * operations * LANE_OPERATION;
    held * lanes as f64 * SHUFFLED_BYTE + combined + through_shared + between + work(bases, operations)
}
