//! How many chunks of a group run together.

use super::cx::Cx;
use super::nest::{Dim, Run};

/// Chunks of a loop of which no more than two run together.
const FEW_TRIPS: i64 = 8;

impl Cx<'_> {
    /// Chunks of the innermost loop that run together: enough to hide latencies, few enough to stay in registers.
    pub(crate) fn unroll(&self, run: &Run<'_>, one: &Dim) -> i64 {
        let trips = one.end / one.step;
        let size = run.group.size(self.module);
        let wanted = match size {
            _ if run.group.has_effects() || run.group.scans() || run.group.is_sequential(self.module) => 1,
            0..=24 => 4,
            25..=60 => 2,
            _ => 1,
        };
        // A loop of a few rounds is over before more code pays.
        let most = if trips <= FEW_TRIPS { 2 } else { run.nest.most_unroll };
        // Wide chunks are several at once already.
        let width = i64::from((run.nest.lanes / self.machine.lanes()).max(1));
        (wanted / width).min(most).min(run.nest.most_unroll).min(trips).max(1)
    }
}
