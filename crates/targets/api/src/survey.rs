//! What a compile decided, operation by operation, and what the device could do: for people who ask why a kernel is as
//! fast as it is.
//!
//! A survey is made by the code that lowers, while it lowers: it is what was done, not a second opinion. Operations are
//! those of [`Survey::module`]. All times and rates are of the whole device.

use std::collections::BTreeMap;

/// What a compile decided.
pub struct Survey {
    /// The code that the operations are of.
    pub module: ir::Module,
    /// Lanes of a warp, or of a vector register where one thread runs a program.
    pub lanes: u32,
    /// Warps of a program; 1 where one thread runs it.
    pub warps: u32,
    /// Accesses to the memory of the device.
    pub accesses: Vec<AccessFacts>,
    /// Layout conversions.
    pub moves: Vec<MoveFacts>,
    /// Dots.
    pub dots: Vec<DotFacts>,
    /// Shared memory.
    pub buffers: Vec<BufferFacts>,
    /// Bytes of it in all.
    pub shared_bytes: u64,
    /// What operations move through it; empty where it is memory like any other.
    pub shared: Vec<SharedFacts>,
    /// Bytes that it gives or takes in one pass over its banks.
    pub pass_bytes: u64,
    /// Instructions that make lanes wait for each other or exchange values, by what they are and where they come from.
    pub events: Vec<Event>,
}

/// How one operation accesses memory.
#[derive(Clone, PartialEq, Debug)]
pub struct AccessFacts {
    /// The operation.
    pub op: ir::Op,
    /// How it is done, in words: `vector`, `gather`, `asynchronous copy`, ….
    pub way: &'static str,
    /// Elements of one instruction of a lane.
    pub vector: u64,
    /// Instructions of a lane.
    pub instructions: u64,
    /// What each fact allows; the least of them is `vector`.
    pub bounds: WidthBounds,
    /// For each lane of the first warp, the position in the block of the first element of its first instruction; none
    /// for a lane that does nothing because another holds the same element. Empty where the program has no lanes.
    pub positions: Vec<Option<Vec<u32>>>,
    /// Whether it goes on while the program does.
    pub asynchronous: bool,
}

/// How many elements each fact allows in one access of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WidthBounds {
    /// The dimension along which elements are taken together.
    pub dim: usize,
    /// The widest access of the machine.
    pub machine: u64,
    /// Elements known to be contiguous.
    pub contiguity: u64,
    /// Elements that the known alignment of the address covers.
    pub alignment: u64,
    /// Elements known to have one mask.
    pub mask: u64,
    /// Neighbours that one lane holds.
    pub layout: u64,
}

impl WidthBounds {
    /// Elements that one access can cover, as far as the program is known.
    pub fn run(&self) -> u64 {
        self.machine.min(self.contiguity).min(self.alignment).min(self.mask)
    }

    /// Elements that one access covers.
    pub fn vector(&self) -> u64 {
        self.run().min(self.layout)
    }
}

/// How a block changes its layout.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveFacts {
    /// The operation.
    pub op: ir::Op,
    /// The way.
    pub way: MoveWay,
    /// Bytes of the block.
    pub bytes: u64,
}

/// The ways in which elements move between lanes.
#[derive(Clone, PartialEq, Debug)]
pub enum MoveWay {
    /// Every lane has what it needs: values are renamed.
    Registers,
    /// Lanes of a warp exchange values.
    Shuffles {
        /// Shuffles of a lane.
        shuffles: u64,
        /// Selects of a lane.
        selects: u64,
    },
    /// Through shared memory.
    Shared(SharedMove),
}

/// A way through shared memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SharedMove {
    /// Bytes of memory it needs.
    pub bytes: u64,
    /// Store instructions of a lane.
    pub stores: u64,
    /// Load instructions of a lane.
    pub loads: u64,
    /// Bytes of a store.
    pub store_bytes: u64,
    /// Bytes of a load.
    pub load_bytes: u64,
    /// Passes over the banks of one store of a warp, and how few would do.
    pub store_passes: (u32, u32),
    /// Passes over the banks of one load of a warp, and how few would do.
    pub load_passes: (u32, u32),
    /// Barriers of the program, if warps must wait for each other.
    pub barriers: u64,
}

/// How a dot is done.
#[derive(Clone, PartialEq, Debug)]
pub struct DotFacts {
    /// The operation.
    pub op: ir::Op,
    /// Rows, columns and length of the sums of the whole block, and how many such dots there are.
    pub shape: [u64; 4],
    /// Whether a matrix instruction does it, rather than multiply-adds of single numbers.
    pub matrix: bool,
    /// The kind of work it is: a name among [`Peaks::rates`].
    pub rate: String,
    /// Where the left and the right operand come from.
    pub operands: [&'static str; 2],
    /// Why there is no matrix instruction.
    pub why_not: Option<String>,
}

/// A piece of shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferFacts {
    /// What allocates it, or needs it while it runs.
    pub op: ir::Op,
    /// Whether only that operation uses it.
    pub scratch: bool,
    /// Where it begins.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// When it is alive: numbers of operations in the order of the program. Empty where that is not counted.
    pub alive: Vec<(u32, u32)>,
    /// Why the block that it holds goes through memory, where operations run together otherwise.
    pub why: Option<String>,
}

/// What an operation moves through shared memory each time that it is carried out. All warps are counted: what
/// several of them read counts for each, what several lanes of one read counts once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedFacts {
    /// The operation.
    pub op: ir::Op,
    /// Who does it.
    pub by: SharedBy,
    /// Whether it writes.
    pub writes: bool,
    /// Bytes that are wanted or given.
    pub bytes: u64,
    /// Passes over the banks that this takes.
    pub passes: u64,
    /// Passes it would take without conflicts.
    pub ideal: u64,
}

/// Who reads or writes shared memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SharedBy {
    /// Lanes, each for itself.
    Lanes,
    /// Warps, whose lanes fetch rows for each other.
    Rows,
    /// Copies that go on while the program does.
    Copies,
    /// Matrix instructions that take operands from there.
    Matrix,
}

/// An instruction that is worth counting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What it is: `barrier`, `shuffle`, `matrix`, ….
    pub what: &'static str,
    /// The instruction as the machine calls it.
    pub text: String,
    /// Line and column of the source, with the file.
    pub place: Option<(String, u32, u32)>,
    /// How many there are.
    pub count: u64,
}

/// What machine code takes; what is not known says why.
#[derive(Clone, PartialEq, Debug)]
pub struct Resources {
    /// Registers of a lane.
    pub registers: Result<u32, String>,
    /// Bytes of stack of a lane: what registers did not hold, and arrays.
    pub spill_bytes: Result<u32, String>,
    /// How many programs each limit lets an SM hold, and how much of it a program takes.
    pub limits: Vec<ResidentLimit>,
    /// Warps that an SM holds at most.
    pub resident_warps: u32,
    /// What else is known of the machine code, in the words of the target: what, and how much.
    pub code: Vec<(String, String)>,
}

/// A limit on how many programs an SM holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResidentLimit {
    /// What is limited.
    pub what: &'static str,
    /// How many programs fit.
    pub programs: u32,
    /// The sum behind it.
    pub because: String,
}

/// What a device can do at most.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Peaks {
    /// The device.
    pub device: String,
    /// Where the figures come from.
    pub source: String,
    /// Units that run programs, each by itself.
    pub units: u32,
    /// What such a unit is called: "SM", "core".
    pub unit: &'static str,
    /// Bytes that move to and from memory in a second.
    pub memory: f64,
    /// Bytes that the last cache gives in a second.
    pub cache: f64,
    /// Bytes of that cache.
    pub cache_bytes: u64,
    /// Bytes of the cache next to an SM, if programs share data only through memory and caches; else 0.
    pub near_cache_bytes: u64,
    /// Bytes that all memories of programs give in a second; 0 where there is none.
    pub shared: f64,
    /// Nanoseconds until a load from memory answers.
    pub latency_ns: f64,
    /// Bytes that move to or from memory together.
    pub sector_bytes: u64,
    /// Bytes of a line of the cache; a request of a warp is served line by line.
    pub line_bytes: u64,
    /// Lines that are looked up in a second, by all SMs; 0 where that is no limit.
    pub lines: f64,
    /// Operations in a second by kind; a multiply-add is two.
    pub rates: BTreeMap<String, f64>,
}
