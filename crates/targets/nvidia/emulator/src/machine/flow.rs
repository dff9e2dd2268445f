//! What happens after an instruction.

/// Where control goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, after other warps have had a time slice.
    Yield,
    /// To a label, for all lanes.
    Jump(u32),
    /// To labels by lane: the warp's `targets` hold them.
    Scatter,
    /// The lanes end.
    Exit,
    /// The lanes stay and execute the instruction again once the wait is over.
    Wait(Wait),
}

/// What a group of lanes waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// More lanes of this warp: those of the mask.
    Lanes(u32),
    /// The barrier of the program to complete the phase of this number.
    Barrier { id: usize, phase: u32 },
    /// The barrier of the cluster to complete the phase of this number.
    Cluster { phase: u32 },
    /// The warps of a group to have changed their registers, and registers to be left for that.
    Registers { group: usize, phase: u32 },
    /// An mbarrier, at an offset of a block's shared memory, to leave the phase of this parity.
    Mbarrier { block: usize, offset: u32, parity: bool },
}
