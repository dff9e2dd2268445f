//! A barrier at which threads of a program meet, phase after phase.

/// A barrier of a program.
#[derive(Debug, Default)]
pub struct Barrier {
    /// Threads that have arrived in this phase.
    pub arrived: u32,
    /// Threads that the phase needs, once somebody said so.
    pub expected: Option<u32>,
    /// Completed phases.
    pub phase: u32,
    /// Threads whose predicate was true, of this phase.
    pub votes: u32,
    /// Votes and arrivals of the last completed phase.
    pub result: (u32, u32),
    /// Whether somebody waits in this phase.
    pub is_waited: bool,
    /// What the arrived have seen.
    pub seen: Vec<u32>,
    /// What those of the last completed phase had seen.
    pub completed_seen: Vec<u32>,
}

impl Barrier {
    /// Completes the phase if all have arrived.
    pub fn settle(&mut self, live: u32) -> bool {
        let needed = self.expected.unwrap_or(live);
        if self.arrived == 0 || self.arrived < needed {
            return false;
        }
        self.result = (self.votes, self.arrived);
        (self.arrived, self.votes, self.expected, self.is_waited) = (0, 0, None, false);
        self.phase += 1;
        self.completed_seen = std::mem::take(&mut self.seen);
        true
    }
}
