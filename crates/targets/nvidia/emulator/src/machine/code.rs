//! Decoded code: what an entry needs, and its instructions.

use super::Execute;
use crate::syntax::Loc;

/// A register's row in a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What fills a row when a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fill {
    /// The same bits for every lane.
    Bits(u64),
    /// The address of a variable of the module, plus bytes.
    Variable(usize, i64),
    /// A special register.
    Special(Special),
}

/// The special registers that never change during a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clusterid(usize),
    Nclusterid(usize),
    ClusterCtaid(usize),
    ClusterNctaid(usize),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    DynamicSmemSize,
    TotalSmemSize,
}

/// One instruction.
pub(crate) struct Instr {
    pub(crate) execute: Box<dyn Execute>,
    /// The predicate and whether it is negated.
    pub(crate) guard: Option<(Slot, bool)>,
    /// Registers it reads, for the checks.
    pub(crate) reads: Box<[Slot]>,
    /// Registers it writes.
    pub(crate) writes: Box<[Slot]>,
    /// Registers whose value leaves the lane or steers it: they must have been written.
    pub(crate) sinks: Box<[Slot]>,
    /// It says itself which of its results are known.
    pub(crate) knows: bool,
    /// It may name accumulators that a matrix instruction in flight will write.
    pub(crate) in_flight_allowed: bool,
    pub(crate) line: u32,
    pub(crate) loc: Loc,
    pub(crate) opcode: Box<str>,
}

/// A parameter of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: usize,
    /// Where it stands in the block of parameters.
    pub offset: usize,
}

/// A decoded entry.
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: usize,
    pub(crate) reqntid: Option<[u32; 3]>,
    pub(crate) cluster: Option<[u32; 3]>,
    /// Registers that a lane begins with, if the entry says so.
    pub(crate) max_registers: Option<u32>,
    pub(crate) instructions: Vec<Instr>,
    /// Where each label stands.
    pub(crate) labels: Vec<u32>,
    pub(crate) slots: usize,
    pub(crate) fills: Vec<(Slot, Fill)>,
    pub(crate) names: Vec<(Slot, String)>,
    /// Bytes of shared memory of variables with a size.
    pub(crate) shared: usize,
    /// Where the shared memory that the launch sizes begins.
    pub(crate) dynamic: Option<usize>,
    /// Bytes of local memory of a lane.
    pub(crate) local: usize,
}

impl Code {
    /// Whether matrix instructions run by themselves.
    pub(crate) fn has_matrix_flights(&self) -> bool {
        self.instructions.iter().any(|instr| instr.opcode.starts_with("wgmma."))
    }

    /// Whether it copies in bulk from global memory, or to it.
    pub(crate) fn has_bulk_copies(&self) -> bool {
        let copies = |opcode: &str| opcode.contains("async.bulk.") && opcode.contains("global");
        self.instructions.iter().any(|instr| copies(&instr.opcode))
    }

    /// The name of a register, for messages.
    pub(crate) fn name_of(&self, slot: Slot) -> &str {
        self.names
            .binary_search_by_key(&slot, |(own, _)| *own)
            .map_or("a constant", |index| &self.names[index].1)
    }
}
