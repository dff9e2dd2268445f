//! How large groups are, and how many chunks of them run together.

use super::cx::Cx;
use super::nest::{Dim, Run};
use super::plan::{Group, Root};

/// Chunks of a loop of which no more than two run together.
const FEW_TRIPS: i64 = 8;

/// How many short operations an elementary function stands for.
const LONG: usize = 25;

impl Cx<'_> {
    /// Roughly how many instructions a chunk of a group is.
    pub(crate) fn group_size(&self, group: &Group) -> usize {
        group.members.len() + group.roots.len() + LONG * self.long_members(group)
    }

    /// How many elementary functions run in a group.
    pub(crate) fn long_members(&self, group: &Group) -> usize {
        group.members.iter().filter(|op| self.is_long(**op)).count()
    }

    /// Whether an operation is an elementary function.
    pub(crate) fn is_long(&self, op: ir::Op) -> bool {
        let row = self.module.row(op);
        elementwise::is_long(row) || row.is(&ttir::ops::extern_call::EXTERN_ELEMENTWISE)
    }

    /// Chunks of the innermost loop that run together: enough to hide latencies, few enough to stay in registers.
    pub(crate) fn unroll(&mut self, run: &Run<'_>, one: &Dim) -> i64 {
        let trips = one.end / one.step;
        let size = self.group_size(run.group);
        let has_effects = run.group.roots.iter().any(|root| matches!(root, Root::Effect(_)));
        let wanted = match size {
            _ if has_effects || run.group.scans() || self.is_sequential(run.group) => 1,
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
