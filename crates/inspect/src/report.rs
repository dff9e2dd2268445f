//! The report on a kernel.

use crate::loops::{Amount, Loop};
use crate::place::Place;
use crate::work::Kind;

/// Everything that is reported.
#[derive(Debug)]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// What it is compiled for.
    pub target: String,
    /// The device whose limits count.
    pub device: String,
    /// Where its figures come from.
    pub device_source: String,
    /// What runs programs, each by itself: "SM", "core".
    pub unit: &'static str,
    /// The sentence that names the bottleneck.
    pub verdict: String,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// Values of parameters.
    pub assumptions: Vec<Assumption>,
    /// The grid, if it was given.
    pub grid: Option<[u32; 3]>,
    /// The loops.
    pub loops: Vec<Loop>,
    /// Accesses to the memory of the device.
    pub accesses: Vec<AccessRow>,
    /// Layout conversions.
    pub moves: Vec<MoveRow>,
    /// Dots.
    pub dots: Vec<DotRow>,
    /// What goes through shared memory, what takes longest first.
    pub shared: Vec<SharedRow>,
    /// Shared memory.
    pub buffers: Vec<BufferRow>,
    /// Bytes of it in all.
    pub shared_bytes: u64,
    /// What moves to and from memory together: `sectors` or `lines`.
    pub granule: &'static str,
    /// What that memory is called.
    pub shared_name: &'static str,
    /// Waits and exchanges between lanes.
    pub events: Vec<EventRow>,
    /// What the machine code takes, a line each.
    pub resources: Vec<(String, String)>,
    /// What one program does, by kind.
    pub work: Vec<WorkRow>,
    /// What it takes at least, by what is limited.
    pub bounds: Vec<BoundRow>,
    /// Stages with the lines that belong together.
    pub stages: Vec<StageText>,
    /// Stages that cannot be shown, and why.
    pub missing: Vec<(String, String)>,
}

impl Report {
    /// The text of a line of the kernel's source, if that is at hand.
    pub fn source_line(&self, place: &Place) -> Option<&str> {
        let source = self.stages.first().filter(|stage| stage.is_source)?;
        let line = (place.line as usize).checked_sub(1)?;
        let name = place.file.rsplit('/').next()?;
        (source.name == name).then(|| source.lines.get(line).map(|line| line.0.as_str()))?
    }
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assumption {
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: i64,
    /// Whether it was given.
    pub given: bool,
}

/// An access.
#[derive(Clone, Debug)]
pub struct AccessRow {
    /// Where.
    pub place: Option<Place>,
    /// Whether it reads or writes.
    pub kind: Kind,
    /// The type of the elements.
    pub elem: String,
    /// The loops around it.
    pub nest: Vec<String>,
    /// How many operations of the compiled code do it: unrolling and pipelining make several of one.
    pub copies: usize,
    /// Elements of the block.
    pub elements: u64,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// The way, in words.
    pub way: String,
    /// Whether elements are contiguous.
    pub contiguous: String,
    /// Elements of one instruction of a lane.
    pub vector: u64,
    /// Instructions of a lane.
    pub instructions: u64,
    /// Why it is not wider; none where it is as wide as can be.
    pub why: Option<String>,
    /// Sectors that a request touches.
    pub sectors: Option<Sectors>,
    /// Why they are not known.
    pub sectors_unknown: Option<String>,
    /// Cache hints.
    pub hints: Vec<String>,
}

/// What one request of a warp touches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sectors {
    /// Sectors it touches.
    pub touched: u64,
    /// As few as would hold its bytes.
    pub ideal: u64,
    /// Bytes that it wants.
    pub bytes: u64,
    /// Lines of the cache that it touches.
    pub lines: u64,
}

impl Sectors {
    /// How much of what moves is wanted.
    pub fn efficiency(&self) -> f64 {
        self.ideal as f64 / self.touched.max(1) as f64
    }
}

/// A layout conversion.
#[derive(Clone, Debug)]
pub struct MoveRow {
    /// Where.
    pub place: Option<Place>,
    /// The type that changes.
    pub what: String,
    /// How.
    pub way: String,
    /// Bytes of the block.
    pub bytes: u64,
    /// What it costs.
    pub cost: String,
    /// Passes over the banks beyond those needed.
    pub conflicts: u64,
}

/// What a line of the source moves through shared memory, in all iterations of its loops.
#[derive(Clone, Debug)]
pub struct SharedRow {
    /// Where.
    pub place: Option<Place>,
    /// What does it.
    pub what: String,
    /// Whether it changes the layout of a block.
    pub is_move: bool,
    /// Whether it writes.
    pub writes: bool,
    /// Bytes that are wanted or given.
    pub bytes: f64,
    /// Passes over the banks.
    pub passes: f64,
    /// Those of them that conflicts add.
    pub lost: f64,
}

/// A dot.
#[derive(Clone, Debug)]
pub struct DotRow {
    /// Where.
    pub place: Option<Place>,
    /// The size, `m × n × k`.
    pub shape: String,
    /// How many operations of the compiled code do it: slices of a dot and unrolled loops make several of one.
    pub copies: usize,
    /// The instructions, those of all copies together.
    pub instruction: String,
    /// Where operands come from.
    pub operands: String,
    /// The name of the rate.
    pub rate: String,
    /// Whether matrix instructions do it.
    pub matrix: bool,
    /// Why they do not.
    pub why_not: Option<String>,
}

impl DotRow {
    /// The size, with the number of operations that share the work.
    pub(crate) fn size(&self) -> String {
        match self.copies {
            1 => self.shape.clone(),
            copies => format!("{copies} of {}", self.shape),
        }
    }
}

/// A piece of shared memory.
#[derive(Clone, Debug)]
pub struct BufferRow {
    /// Where.
    pub place: Option<Place>,
    /// What it is for.
    pub what: String,
    /// Where it begins.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// When it is alive.
    pub alive: String,
}

/// Instructions that wait or exchange values.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// Where they come from.
    pub places: Vec<Place>,
    /// What.
    pub what: &'static str,
    /// The instruction.
    pub text: String,
    /// How many.
    pub count: u64,
}

/// Work of one program.
#[derive(Clone, Debug)]
pub struct WorkRow {
    /// What kind.
    pub what: String,
    /// How much, with loops by name.
    pub amount: Amount,
    /// How much with the arguments that are given or assumed.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
}

/// The least time that something takes.
#[derive(Clone, Debug)]
pub struct BoundRow {
    /// What is limited.
    pub what: String,
    /// How much of it the programs that were counted need.
    pub amount: f64,
    /// How much there is in a second.
    pub rate: f64,
    /// The unit.
    pub unit: &'static str,
    /// Seconds.
    pub seconds: f64,
}

/// A stage.
#[derive(Clone, Debug)]
pub struct StageText {
    /// Its name.
    pub name: String,
    /// Whether it is the source.
    pub is_source: bool,
    /// Its lines, each with the lines of the source that it belongs to.
    pub lines: Vec<(String, Vec<u32>)>,
}
