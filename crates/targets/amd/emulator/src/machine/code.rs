//! Decoded code: what a kernel needs, its blocks and instructions.

use super::Execute;
use amdgcn_isa::Arch;
use llir::Location;

/// Lanes that a row has room for.
pub(crate) const LANES: usize = 64;

/// One component of a value, in all lanes.
pub(crate) type Row = [u64; LANES];

/// All 64 lanes.
pub(crate) const FULL: u64 = u64::MAX;

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u64) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// Copies the lanes of a mask.
pub(crate) fn blend(into: &mut Row, from: &Row, mask: u64) {
    if mask == FULL {
        *into = *from;
        return;
    }
    if mask == FULL >> 32 {
        into[..32].copy_from_slice(&from[..32]);
        return;
    }
    for lane in lanes_of(mask) {
        into[lane] = from[lane];
    }
}

/// The number of a row in a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The row that nobody ever wrote.
pub(crate) const NOWHERE: Slot = Slot(0);

/// What happens after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next instruction.
    Next,
    /// The warp waits at the program's barrier, then goes on behind the instruction.
    Barrier,
    /// The lanes end.
    Exit,
}

/// What fills a row when a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fill {
    /// The same bits for every lane.
    Bits(u64),
    /// So many bytes of the arguments, from an offset.
    Argument { offset: usize, bytes: usize },
    /// The address of a variable of the module.
    Variable(usize),
}

/// One instruction.
pub(crate) struct Instr {
    pub(crate) execute: Box<dyn Execute>,
    /// Rows it reads, for the checks.
    pub(crate) reads: Box<[Slot]>,
    /// Rows it writes.
    pub(crate) writes: Box<[Slot]>,
    /// Rows whose value leaves the lane or steers it: they must have been written.
    pub(crate) sinks: Box<[Slot]>,
    /// It says itself which of its results are known.
    pub(crate) knows: bool,
    /// Its number in [`Code::sites`].
    pub(crate) site: u32,
}

/// Where an instruction stands in the module.
#[derive(Debug, Clone)]
pub(crate) struct SitePlace {
    /// The number of its function among those with bodies, and its own in the function, in order of the text.
    pub(crate) function: u32,
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) location: Option<Location>,
}

/// A jump: where to, and what the block's parameters get.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edge {
    pub(crate) block: u32,
    /// Destinations and sources, to be copied in this order.
    pub(crate) moves: Box<[(Slot, Slot)]>,
}

/// How a block ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Jump(Edge),
    /// The condition; the edges where it holds and where not.
    Branch(Slot, [Edge; 2]),
    /// The value, the cases, and one edge more than cases: the first is the default.
    Switch(Slot, Box<[u64]>, Box<[Edge]>),
    Return,
    Unreachable,
}

/// A block.
pub(crate) struct Block {
    pub(crate) instructions: std::ops::Range<u32>,
    pub(crate) end: End,
    /// The number of its end in [`Code::sites`].
    pub(crate) site: u32,
    /// Where lanes that part here meet again; `None` where the function ends first.
    pub(crate) join: Option<u32>,
}

/// A decoded kernel.
pub(crate) struct Code {
    pub(crate) arch: Arch,
    pub(crate) instructions: Vec<Instr>,
    /// The first is the entry.
    pub(crate) blocks: Vec<Block>,
    pub(crate) sites: Vec<SitePlace>,
    pub(crate) slots: usize,
    pub(crate) fills: Vec<(Slot, Fill)>,
    /// Bytes of LDS of variables with a size.
    pub(crate) lds: usize,
    /// Bytes of private memory of a lane.
    pub(crate) private: usize,
    /// Whether it has atomics on device memory, or cannot rule them out.
    pub(crate) is_sequential: bool,
}

impl Code {
    /// Lanes of a warp.
    pub(crate) fn wave(&self) -> u32 {
        self.arch.wave().lanes()
    }
}
