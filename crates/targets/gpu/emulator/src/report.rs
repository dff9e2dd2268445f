//! What a launch has to say: output, counters, findings; or the fault that ended it.

use rustc_hash::FxHashMap;
use std::fmt;

/// Where an instruction stands: in the text that is run and, where that says so, in the source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// What the text is written in.
    pub language: &'static str,
    /// Line of the text.
    pub line: u32,
    /// The instruction's opcode.
    pub instruction: String,
    /// File, line and column of the source, where the text gives them.
    pub source: Option<(String, u32, u32)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {} ({})", self.language, self.line, self.instruction)?;
        match &self.source {
            Some((file, line, column)) => write!(f, ", {file}:{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Why a launch ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The launch itself does not fit the entry.
    Launch,
    /// An access outside every allocation.
    OutOfBounds,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// A trap or a failed assertion.
    Trap,
    /// Every lane waits.
    Deadlock,
    /// More instructions than the launch allows.
    TooLong,
    /// An instruction used as the manual forbids.
    Misuse,
}

/// The end of a launch that cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// What happened.
    pub message: String,
    /// The instruction; `None` for a fault of the launch.
    pub place: Option<Place>,
    /// The program.
    pub block: [u32; 3],
    /// The warp within the program.
    pub warp: u32,
    /// The lane within the warp, where one is to blame.
    pub lane: Option<u32>,
    /// The address, where there is one.
    pub address: Option<u64>,
}

impl Fault {
    /// A fault before any instruction.
    pub fn launch(message: impl Into<String>) -> Fault {
        Fault {
            kind: FaultKind::Launch,
            message: message.into(),
            place: None,
            block: [0; 3],
            warp: 0,
            lane: None,
            address: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = &self.place else { return write!(f, "{}", self.message) };
        let [x, y, z] = self.block;
        write!(f, "{place}: {}; program ({x}, {y}, {z}), warp {}", self.message, self.warp)?;
        match self.lane {
            Some(lane) => write!(f, ", lane {lane}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// What a check found; the launch went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Two accesses of one byte of shared memory, at least one a write, with nothing that orders them.
    Race,
    /// Something asynchronous (a copy, a matrix instruction) touched memory that nothing kept from being touched.
    AsyncRace,
    /// A register or a byte of shared memory is used that nobody has written.
    Uninitialised,
    /// Lanes write different values to one address in one instruction.
    Collision,
    /// Something that was begun was never waited for.
    Unfinished,
}

/// One finding; equal ones of other lanes are counted in `times`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// What was found, of the first time.
    pub message: String,
    /// The instruction that noticed.
    pub place: Place,
    /// The other instruction, where there is one.
    pub other: Option<Place>,
    /// Program of the first time.
    pub block: [u32; 3],
    /// Warp of the first time.
    pub warp: u32,
    /// Lane of the first time.
    pub lane: u32,
    /// How often.
    pub times: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "{}: {}", self.place, self.message)?;
        if let Some(other) = &self.other {
            write!(f, "; the other access: {other}")?;
        }
        write!(f, "; program ({x}, {y}, {z}), warp {}, lane {}", self.warp, self.lane)?;
        if self.times > 1 { write!(f, "; {} times", self.times) } else { Ok(()) }
    }
}

/// Who did something.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// The program.
    pub block: [u32; 3],
    /// The warp within it.
    pub warp: u32,
}

/// What the checks of a launch have found, each kind at each pair of instructions once.
#[derive(Debug, Default)]
pub struct Findings(FxHashMap<(FindingKind, u32, Option<u32>), Finding>);

impl Findings {
    /// Adds what an instruction noticed, perhaps of another one; `make` is asked where it is new.
    pub fn add(&mut self, kind: FindingKind, at: u32, other: Option<u32>, make: impl FnOnce() -> Finding) {
        self.0.entry((kind, at, other)).and_modify(|known| known.times += 1).or_insert_with(make);
    }

    /// Adds what others found; of two the one of the earlier program stays, and both are counted.
    pub fn merge(&mut self, others: Findings) {
        let order = |finding: &Finding| {
            let [x, y, z] = finding.block;
            (z, y, x, finding.warp)
        };
        for (key, finding) in others.0 {
            let Some(known) = self.0.get_mut(&key) else {
                self.0.insert(key, finding);
                continue;
            };
            let times = known.times + finding.times;
            if order(&finding) < order(known) {
                *known = finding;
            }
            known.times = times;
        }
    }

    /// All of them, in order of the text.
    pub fn sorted(self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.0.into_values().collect();
        findings.sort_by_key(|finding| {
            (finding.place.line, finding.kind, finding.other.as_ref().map(|place| place.line))
        });
        findings
    }
}

/// What one instruction did over the launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counter {
    /// The instruction.
    pub place: Place,
    /// How often a warp executed it.
    pub warps: u64,
    /// How many lanes took part in all.
    pub lanes: u64,
    /// Sectors of 32 bytes of global memory touched.
    pub sectors: u64,
    /// As few sectors as could hold these bytes.
    pub ideal_sectors: u64,
    /// Passes over the banks of shared memory.
    pub wavefronts: u64,
    /// As few passes as these bytes need.
    pub ideal_wavefronts: u64,
}

/// What a launch did.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What the kernel printed.
    pub output: String,
    /// What the checks found, in order of the text.
    pub findings: Vec<Finding>,
    /// One counter for each instruction that was executed, in order of the text; empty unless asked for.
    pub counters: Vec<Counter>,
    /// Instructions executed, each counted once a lane.
    pub lane_instructions: u64,
    /// Instructions executed, each counted once a warp.
    pub warp_instructions: u64,
}

impl Report {
    /// Opcodes (up to the first dot after the mnemonic's family) and how often warps executed them, most first.
    pub fn mix(&self) -> Vec<(String, u64)> {
        let mut mix: Vec<(String, u64)> = Vec::new();
        for counter in &self.counters {
            match mix.iter_mut().find(|(name, _)| *name == counter.place.instruction) {
                Some((_, times)) => *times += counter.warps,
                None => mix.push((counter.place.instruction.clone(), counter.warps)),
            }
        }
        mix.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
        mix
    }

    /// Passes over the banks of shared memory beyond what the bytes need.
    pub fn bank_conflicts(&self) -> u64 {
        self.counters.iter().map(|counter| counter.wavefronts - counter.ideal_wavefronts).sum()
    }
}
