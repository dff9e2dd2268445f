//! What operations do to memory, as their rows say it.

use super::{OpRow, Traits};

/// What an operation does to the memory that an operand stands for.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// The row does not say: unless the operation is pure, it may do everything.
    Unknown,
    /// Nothing: the operand is only a value, or the memory is named and not touched.
    Nothing,
    /// Makes memory: no two results are the same.
    Allocate,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes, each element at once.
    Atomic,
    /// Reads at some time before the next operation of this row.
    ReadUntil(&'static OpRow),
    /// Writes at some time before the next operation of this row.
    WriteUntil(&'static OpRow),
    /// Writes at some time; who reads has waited at a barrier in memory that counts what has been written.
    WriteGuarded,
}

impl Effect {
    /// Whether memory is read, or made.
    pub const fn reads(self) -> bool {
        matches!(self, Effect::Read | Effect::ReadUntil(_) | Effect::Atomic | Effect::Allocate)
    }

    /// Whether memory is written.
    pub const fn writes(self) -> bool {
        matches!(self, Effect::Write | Effect::WriteUntil(_) | Effect::WriteGuarded | Effect::Atomic)
    }
}

impl OpRow {
    /// Whether it reads memory. Where it does not write as well, it may be removed when unused.
    pub fn reads(&self) -> bool {
        self.has_unknown_effects() || self.effects().any(Effect::reads)
    }

    /// Whether it writes memory, or has another effect that must be kept, in order.
    pub fn writes(&self) -> bool {
        self.has_unknown_effects() || self.effects().any(Effect::writes)
    }

    fn effects(&self) -> impl Iterator<Item = Effect> {
        std::iter::once(self.effect).chain(self.operands.iter().map(|spec| spec.effect))
    }

    /// Whether the row leaves open what the operation does: it may do everything.
    pub fn has_unknown_effects(&self) -> bool {
        let quiet =
            [Traits::PURE, Traits::TERMINATOR, Traits::REGION_EFFECTS, Traits::SYMBOL, Traits::ISOLATED];
        self.effects().all(|effect| matches!(effect, Effect::Unknown))
            && !quiet.iter().any(|&quiet| self.traits.has(quiet))
    }
}
