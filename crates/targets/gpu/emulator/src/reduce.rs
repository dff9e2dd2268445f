//! What atomics, reductions and bulk reductions do to a value.

use crate::arithmetic;
use crate::format::{Format, Rounding};

/// An operation on a value in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Add,
    /// The smaller; of floats a number before a NaN.
    Min,
    /// The larger, likewise.
    Max,
    /// Bits in both.
    And,
    /// Bits in either.
    Or,
    /// Bits in one of them.
    Xor,
    /// The new value.
    Exchange,
    /// One more, 0 behind the new value.
    Inc,
    /// One less, the new value behind 0.
    Dec,
}

/// The modifiers that name operations.
pub const OPERATIONS: &[(&str, Operation)] = &[
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

/// What the bits of a value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A number from 0 on, or bits, so wide.
    Unsigned(u32),
    /// A number with a sign, so wide.
    Signed(u32),
    /// A float of a small format.
    Float(Format),
    /// A double.
    Double,
}

impl Operation {
    /// The new value.
    pub fn apply(self, element: Element, old: u64, new: u64) -> u64 {
        match (self, element) {
            (Operation::Exchange, _) => new,
            (Operation::And, _) => old & new,
            (Operation::Or, _) => old | new,
            (Operation::Xor, _) => old ^ new,
            (_, Element::Float(format)) => self.float(format, old, new),
            (_, Element::Double) => self.double(f64::from_bits(old), f64::from_bits(new)).to_bits(),
            (_, Element::Unsigned(bits)) => self.integer(bits, old, new, |value| value as i128),
            (_, Element::Signed(bits)) => {
                let shift = 64 - bits;
                self.integer(bits, old, new, |value| i128::from((value << shift) as i64 >> shift))
            }
        }
    }

    fn integer(self, bits: u32, old: u64, new: u64, value: impl Fn(u64) -> i128) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        match self {
            Operation::Inc if old >= new => 0,
            Operation::Inc => old + 1,
            Operation::Dec if old == 0 || old > new => new,
            Operation::Dec => old - 1,
            Operation::Min if value(new) < value(old) => new,
            Operation::Max if value(new) > value(old) => new,
            Operation::Min | Operation::Max => old,
            _ => old.wrapping_add(new) & mask,
        }
    }

    fn float(self, format: Format, old: u64, new: u64) -> u64 {
        let rounding = Rounding::NearestEven;
        let (a, b) = (format.decode(old), format.decode(new));
        match self {
            Operation::Min => format.encode(arithmetic::minimum(a, b, false), rounding),
            Operation::Max => format.encode(arithmetic::maximum(a, b, false), rounding),
            _ => arithmetic::add(a, b, rounding).encode(format, rounding),
        }
    }

    fn double(self, old: f64, new: f64) -> f64 {
        match self {
            Operation::Min => arithmetic::minimum(old, new, false),
            Operation::Max => arithmetic::maximum(old, new, false),
            _ => old + new,
        }
    }
}
