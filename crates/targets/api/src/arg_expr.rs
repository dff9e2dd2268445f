//! Numbers that a launch computes of its arguments.

use std::fmt;

/// How two numbers make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Combine {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
}

impl Combine {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Combine::Add => "add",
            Combine::Sub => "sub",
            Combine::Mul => "mul",
        }
    }
}

/// An argument, a constant, or what two such numbers make. Its text has operators behind operands: `%1:i32_2_mul32`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum ArgExpr {
    /// The argument of this number, an integer of so many bits.
    Arg {
        /// Its number.
        slot: usize,
        /// Its bits.
        bits: u32,
    },
    /// A number that is known.
    Constant(i64),
    /// Made of two others, in so many bits.
    Combined {
        /// How.
        by: Combine,
        /// Bits of the result.
        bits: u32,
        /// The two.
        parts: Box<[ArgExpr; 2]>,
    },
}

/// The low bits of a number, with their sign.
fn with_sign(value: i64, bits: u32) -> i64 {
    let unused = 64 - bits;
    value << unused >> unused
}

impl ArgExpr {
    /// Its value in a launch with these slots; none where a slot is missing.
    pub fn value(&self, slots: &[u64]) -> Option<i64> {
        match self {
            // An integer of 32 bits is in the first bytes of its slot.
            ArgExpr::Arg { slot, bits } => slots.get(*slot).map(|value| with_sign(*value as i64, *bits)),
            ArgExpr::Constant(value) => Some(*value),
            ArgExpr::Combined { by, bits, parts } => {
                let [left, right] = [parts[0].value(slots)?, parts[1].value(slots)?];
                let value = match by {
                    Combine::Add => left.wrapping_add(right),
                    Combine::Sub => left.wrapping_sub(right),
                    Combine::Mul => left.wrapping_mul(right),
                };
                Some(with_sign(value, *bits))
            }
        }
    }

    /// Adds the numbers of the arguments that it is made of.
    pub fn args(&self, found: &mut Vec<usize>) {
        match self {
            ArgExpr::Arg { slot, .. } => found.push(*slot),
            ArgExpr::Constant(_) => {}
            ArgExpr::Combined { parts, .. } => parts.iter().for_each(|part| part.args(found)),
        }
    }
}

impl fmt::Display for ArgExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgExpr::Arg { slot, bits } => write!(f, "%{slot}:i{bits}"),
            ArgExpr::Constant(value) => write!(f, "{value}"),
            ArgExpr::Combined { by, bits, parts } => {
                write!(f, "{}_{}_{}{bits}", parts[0], parts[1], by.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ArgExpr, Combine};

    #[test]
    fn values_wrap_as_in_the_kernel() {
        let arg = |slot, bits| ArgExpr::Arg { slot, bits };
        let combined = |by, bits, left, right| ArgExpr::Combined { by, bits, parts: Box::new([left, right]) };
        let slots = [0x1000, 0xdead_0000_0003, 5, 40];
        // Of 32-bit numbers only the first bytes of their slots count.
        assert_eq!(combined(Combine::Mul, 32, arg(1, 32), arg(2, 32)).value(&slots), Some(15));
        assert_eq!(combined(Combine::Add, 64, arg(3, 64), ArgExpr::Constant(-8)).value(&slots), Some(32));
        assert_eq!(combined(Combine::Sub, 64, arg(2, 64), arg(3, 64)).value(&slots), Some(-35));
        let large = || ArgExpr::Constant(65_536);
        assert_eq!(combined(Combine::Mul, 32, large(), large()).value(&slots), Some(0));
        assert_eq!(arg(9, 64).value(&slots), None);
    }
}
