//! The state of an mbarrier object. Its 64 bits in memory say nothing; the machine keeps this instead.

/// An mbarrier.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mbarrier {
    /// Arrivals that each phase expects.
    pub(crate) expected: u32,
    /// Arrivals that this phase still expects.
    pub(crate) pending: u32,
    /// Bytes that this phase still expects.
    pub(crate) bytes: i64,
    /// Completed phases.
    pub(crate) phase: u32,
    /// What the arrived of this phase have seen.
    pub(crate) seen: Vec<u32>,
    /// What those of completed phases had seen.
    pub(crate) completed_seen: Vec<u32>,
}

impl Mbarrier {
    pub(crate) fn new(expected: u32) -> Mbarrier {
        Mbarrier { expected, pending: expected, ..Mbarrier::default() }
    }

    /// Whether the phase of a parity is complete.
    pub(crate) fn is_complete(&self, parity: bool) -> bool {
        (self.phase & 1 == 1) != parity
    }

    /// Completes the phase if nothing is expected any more.
    pub(crate) fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.expected;
            let seen = std::mem::take(&mut self.seen);
            if self.completed_seen.len() < seen.len() {
                self.completed_seen.resize(seen.len(), 0);
            }
            for (own, other) in self.completed_seen.iter_mut().zip(&seen) {
                *own = (*own).max(*other);
            }
        }
    }
}
