//! What a group holds, and how large it is.

use super::{Group, Root};
use crate::lower::{combine, rows};
use ir::{Module, Op};

/// How many short operations an elementary function stands for.
const LONG: usize = 25;

impl Group {
    /// Roughly how many instructions a chunk is.
    pub(crate) fn size(&self, module: &Module) -> usize {
        self.members.len() + self.roots.len() + LONG * self.long_members(module)
    }

    /// How many elementary functions run in it.
    pub(crate) fn long_members(&self, module: &Module) -> usize {
        self.members.iter().filter(|op| rows::is_long(module, **op)).count()
    }

    /// Whether a scan is among its roots.
    pub(crate) fn scans(&self) -> bool {
        self.roots.iter().any(|root| matches!(root, Root::Scan(_)))
    }

    /// Whether an operation with effects on each element is among its roots.
    pub(crate) fn has_effects(&self) -> bool {
        self.roots.iter().any(|root| matches!(root, Root::Effect(_)))
    }

    /// Whether its lanes must be walked one by one.
    pub(crate) fn is_sequential(&self, module: &Module) -> bool {
        let mut reductions = self.roots.iter().filter_map(|root| match root {
            Root::Reduce(op, _) => Some(*op),
            _ => None,
        });
        reductions.any(|op| combine::is_sequential(module, op))
    }

    /// Whether a reduction among its roots combines neighbours alone.
    pub(crate) fn keeps_order(&self, module: &Module) -> bool {
        self.roots.iter().any(|root| matches!(root, Root::Reduce(op, _) if combine::keeps_order(module, *op)))
    }

    /// The roots that carry partial results from chunk to chunk, in order.
    pub(crate) fn carriers(&self) -> impl Iterator<Item = Op> + '_ {
        self.roots.iter().filter_map(|root| match root {
            Root::Reduce(op, _) | Root::Scan(op) => Some(*op),
            _ => None,
        })
    }
}
