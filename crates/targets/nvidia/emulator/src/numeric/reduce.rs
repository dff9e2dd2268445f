//! What atomics, reductions and bulk reductions do to a value.

use crate::numeric::arithmetic;
use crate::numeric::format::{Format, Rounding};
use crate::syntax::types::{Kind, Type};

/// An operation on a value in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    Inc,
    Dec,
}

/// The modifiers that name operations.
pub(crate) const OPERATIONS: &[(&str, Operation)] = &[
    ("add", Operation::Add),
    ("min", Operation::Min),
    ("max", Operation::Max),
    ("and", Operation::And),
    ("or", Operation::Or),
    ("xor", Operation::Xor),
    ("exch", Operation::Exchange),
    ("inc", Operation::Inc),
    ("dec", Operation::Dec),
];

/// An operation and the type of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reduce {
    pub(crate) operation: Operation,
    pub(crate) ty: Type,
}

impl Reduce {
    /// The new value, of the whole type.
    pub(crate) fn apply(self, old: u64, new: u64) -> u64 {
        let ty = self.ty;
        let mut out = 0;
        for lane in 0..ty.lanes {
            let shift = lane * ty.bits;
            let part = |bits: u64| bits >> shift & crate::syntax::types::mask(ty.bits);
            out |= self.element(part(old), part(new)) << shift;
        }
        out
    }

    fn element(self, old: u64, new: u64) -> u64 {
        let mask = crate::syntax::types::mask(self.ty.bits);
        let signed = |bits: u64| (bits << (64 - self.ty.bits)) as i64;
        match (self.operation, self.ty.kind) {
            (Operation::Exchange, _) => new,
            (Operation::And, _) => old & new,
            (Operation::Or, _) => old | new,
            (Operation::Xor, _) => old ^ new,
            (_, Kind::Float | Kind::Brain) => self.float(old, new),
            (Operation::Add, _) => old.wrapping_add(new) & mask,
            (Operation::Inc, _) => {
                if old >= new {
                    0
                } else {
                    old + 1
                }
            }
            (Operation::Dec, _) => {
                if old == 0 || old > new {
                    new
                } else {
                    old - 1
                }
            }
            (Operation::Min, Kind::Signed) => {
                if signed(new) < signed(old) {
                    new
                } else {
                    old
                }
            }
            (Operation::Max, Kind::Signed) => {
                if signed(new) > signed(old) {
                    new
                } else {
                    old
                }
            }
            (Operation::Min, _) => old.min(new),
            (Operation::Max, _) => old.max(new),
        }
    }

    fn float(self, old: u64, new: u64) -> u64 {
        let rounding = Rounding::NearestEven;
        match Format::of(self.ty) {
            Some(format) => {
                let (a, b) = (format.decode(old), format.decode(new));
                match self.operation {
                    Operation::Min => format.encode(arithmetic::minimum(a, b, false), rounding),
                    Operation::Max => format.encode(arithmetic::maximum(a, b, false), rounding),
                    _ => arithmetic::add(a, b, rounding).encode(format, rounding),
                }
            }
            None => (f64::from_bits(old) + f64::from_bits(new)).to_bits(),
        }
    }
}
