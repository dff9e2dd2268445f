//! Who touched each byte of a program's shared memory last.

use crate::clocks::{Clocks, Fenced};
use crate::report::FindingKind;
use rustc_hash::FxHashMap;

/// The last write of a byte.
#[derive(Debug, Clone, Copy, Default)]
struct Write {
    /// 0 if there was none.
    clock: u32,
    instruction: u32,
    column: u16,
    lane: u8,
}

/// An access to be checked and recorded.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The column it belongs to.
    pub column: usize,
    /// Who does it.
    pub lane: u32,
    /// When, by the clock of its column.
    pub clock: u32,
    /// What comes before it.
    pub seen: &'a [u32],
    /// The instruction that does it.
    pub instruction: u32,
}

/// How two accesses clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// Reads what another writes.
    ReadWrite,
    /// Writes what another writes.
    WriteWrite,
    /// Writes what another reads.
    WriteRead,
    /// Reads, asynchronously, what was written with no fence between the proxies.
    Unfenced,
    /// Writes, asynchronously, what was read with no fence between the proxies.
    UnfencedRead,
}

impl Clash {
    /// What to say of it, at an address of shared memory.
    pub fn describe(self, at: u64) -> (FindingKind, String) {
        let (kind, text) = match self {
            Clash::ReadWrite => {
                (FindingKind::Race, "reads a byte that another lane writes, and nothing orders the two")
            }
            Clash::WriteWrite => (
                FindingKind::Race,
                "writes another value to a byte that another lane writes, and nothing orders the two",
            ),
            Clash::WriteRead => {
                (FindingKind::Race, "writes a byte that another lane reads, and nothing orders the two")
            }
            Clash::Unfenced => (
                FindingKind::AsyncRace,
                "reads by the asynchronous proxy what was written by ordinary stores, with no fence of the proxies between",
            ),
            Clash::UnfencedRead => (
                FindingKind::AsyncRace,
                "writes by the asynchronous proxy what ordinary loads read, whose warp has not fenced the proxies since",
            ),
        };
        (kind, format!("{text} (shared memory, address {at:#x})"))
    }
}

/// A clash and the other instruction.
pub type Clashed = Option<(Clash, u32)>;

/// The bytes of one program.
#[derive(Debug)]
pub struct Shadow {
    writes: Vec<Write>,
    /// Clock, lane (or many) of the last read, by byte and column.
    reads: Vec<u32>,
    readers: Vec<u32>,
    /// The clock of the last read, by byte and column, where the lanes had the answer before they went on.
    answered: FxHashMap<(usize, usize), u32>,
    columns: usize,
}

const LANE_BITS: u32 = 7;
/// Stands for several lanes: no warp has so many.
const MANY: u32 = 64;

impl Shadow {
    /// Of so many bytes, which nobody has touched.
    pub fn new(bytes: usize, columns: usize) -> Shadow {
        Shadow {
            writes: vec![Write::default(); bytes],
            reads: vec![0; bytes * columns],
            readers: vec![0; bytes],
            answered: FxHashMap::default(),
            columns,
        }
    }

    /// Whether what a column did at a clock comes before an access.
    fn ordered(&self, (column, clock, lane): (usize, u32, u32), access: &Access<'_>) -> bool {
        let seen = access.seen[column];
        if clock == 0 || column != access.column {
            clock <= seen
        } else if column < self.columns / 2 {
            lane == access.lane || clock < seen
        } else {
            clock == access.clock || clock <= seen
        }
    }

    fn write_ordered(&self, write: Write, access: &Access<'_>) -> bool {
        self.ordered((usize::from(write.column), write.clock, u32::from(write.lane)), access)
    }

    /// Records a read of bytes; says what it clashes with.
    pub fn read(&mut self, range: std::ops::Range<usize>, access: &Access<'_>) -> Clashed {
        let mut clash = None;
        for byte in range {
            let write = self.writes[byte];
            if !self.write_ordered(write, access) {
                clash = Some((Clash::ReadWrite, write.instruction));
            }
            let cell = &mut self.reads[byte * self.columns + access.column];
            let lane = if *cell >> LANE_BITS == access.clock && *cell % (1 << LANE_BITS) != access.lane {
                MANY
            } else {
                access.lane
            };
            *cell = access.clock << LANE_BITS | lane;
            self.readers[byte] = access.instruction;
        }
        clash
    }

    /// Records a read of bytes whose answer lanes wait for, as for a barrier's: nothing of it is under way behind it.
    pub fn read_at_once(&mut self, range: std::ops::Range<usize>, access: &Access<'_>) -> Clashed {
        self.answered.extend(range.clone().map(|byte| ((byte, access.column), access.clock)));
        self.read(range, access)
    }

    /// Says whether something asynchronous that begins now may miss what was written.
    pub fn unfenced(&self, range: std::ops::Range<usize>, issuer: usize, clocks: &Clocks) -> Clashed {
        let generic = self.columns / 2;
        self.writes[range].iter().find_map(|write| {
            let column = usize::from(write.column);
            let is_generic = column < generic && write.clock > 0;
            let missed = is_generic && !clocks.is_fenced(issuer, column, write.clock, Fenced::Shared);
            missed.then_some((Clash::Unfenced, write.instruction))
        })
    }

    /// Says whether something asynchronous that begins now may overwrite what a warp is still reading: loads that were
    /// issued in front of a barrier may be on their way behind it, until the warp fences.
    pub fn unfenced_reads(&self, range: std::ops::Range<usize>, clocks: &Clocks) -> Clashed {
        let generic = self.columns / 2;
        let missed = |byte: usize, column: usize| {
            let clock = self.reads[byte * self.columns + column] >> LANE_BITS;
            let is_over = self.answered.get(&(byte, column)) == Some(&clock);
            clock > 0 && !is_over && !clocks.is_fenced(column, column, clock, Fenced::Shared)
        };
        range
            .into_iter()
            .find(|&byte| (0..generic).any(|column| missed(byte, column)))
            .map(|byte| (Clash::UnfencedRead, self.readers[byte]))
    }

    /// Records a write of bytes; says what it clashes with. `same` says whether the byte had this value already.
    pub fn write(
        &mut self,
        range: std::ops::Range<usize>,
        access: &Access<'_>,
        same: impl Fn(usize) -> bool,
    ) -> Clashed {
        let mut clash = None;
        let start = range.start;
        for byte in range {
            let write = self.writes[byte];
            let same = same(byte - start);
            if !same && !self.write_ordered(write, access) {
                clash = Some((Clash::WriteWrite, write.instruction));
            }
            if !same && let Some(reader) = self.unordered_reader(byte, access) {
                clash = Some((Clash::WriteRead, reader));
            }
            self.writes[byte] = Write {
                clock: access.clock,
                instruction: access.instruction,
                column: access.column as u16,
                lane: access.lane as u8,
            };
        }
        clash
    }

    fn unordered_reader(&self, byte: usize, access: &Access<'_>) -> Option<u32> {
        let cells = &self.reads[byte * self.columns..][..self.columns];
        let unordered = cells.iter().enumerate().any(|(column, cell)| {
            let (clock, lane) = (*cell >> LANE_BITS, *cell % (1 << LANE_BITS));
            !self.ordered((column, clock, lane), access)
        });
        unordered.then(|| self.readers[byte])
    }

    /// Forgets what was done to bytes, for what orders its own accesses.
    pub fn forget(&mut self, range: std::ops::Range<usize>) {
        for byte in range {
            self.writes[byte] = Write::default();
            self.reads[byte * self.columns..][..self.columns].fill(0);
        }
    }
}
