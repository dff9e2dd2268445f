//! Which bits of an integer are surely zero.

use super::Simplifier;
use crate::function::{FuncId, Payload, Value, ValueDef};
use crate::passes::Bound;
use crate::rows::Op;

/// All bits below the highest one of a number.
fn below(number: u64) -> u64 {
    number.checked_next_power_of_two().map_or(u64::MAX, |power| power - 1)
}

impl Simplifier<'_> {
    /// A mask that holds every bit which may be one in some lane. Looks `depth` instructions far; integers of more than
    /// 64 bits are unknown.
    pub(super) fn possible_bits(&self, value: Value, depth: u32) -> u64 {
        let ty = self.ty(value);
        let width = ty.lane_bits();
        let all = if width >= 64 { u64::MAX } else { (1u64 << width) - 1 };
        if !ty.is_int() || width > 64 {
            return u64::MAX;
        }
        if let Some(bits) = self.bits(value) {
            return bits as u64;
        }
        let ValueDef::Inst(inst) = self.function.value(value).def else { return all };
        if depth == 0 {
            return all;
        }
        let data = self.function.inst(inst);
        let of = |index: usize| self.possible_bits(data.operands[index], depth - 1);
        let by =
            || self.bits(data.operands[1]).filter(|bits| *bits < u128::from(width)).map(|bits| bits as u32);
        let bits = match data.op {
            Op::AND => of(0) & of(1),
            Op::OR | Op::XOR => of(0) | of(1),
            Op::ADD => {
                let (a, b) = (of(0), of(1));
                a.checked_add(b).map_or(u64::MAX, below_or_equal) & !low_zeros(a | b)
            }
            Op::MUL => of(0).checked_mul(of(1)).map_or(u64::MAX, below_or_equal),
            Op::SHL => by().map_or(u64::MAX, |by| of(0) << by),
            Op::LSHR => by().map_or(u64::MAX, |by| of(0) >> by),
            Op::UREM => {
                self.bits(data.operands[1]).map_or(u64::MAX, |bits| below(bits as u64))
                    & below_or_equal(of(0))
            }
            Op::UDIV => below_or_equal(of(0)),
            Op::ZEXT => of(0),
            Op::TRUNC => of(0),
            Op::SELECT => of(1) | of(2),
            Op::CALL => match data.payload {
                Payload::Callee(id) => match self.bound(id) {
                    Some(Bound::Below(bound)) => below(bound),
                    Some(Bound::Operand(index)) => of(index),
                    None => u64::MAX,
                },
                _ => u64::MAX,
            },
            _ => u64::MAX,
        };
        bits & all
    }

    /// Whether an integer is surely not negative.
    pub(super) fn is_not_negative(&self, value: Value) -> bool {
        let width = self.ty(value).lane_bits();
        (1..=64).contains(&width) && self.possible_bits(value, 6) >> (width - 1) & 1 == 0
    }

    fn bound(&self, callee: FuncId) -> Option<Bound> {
        self.cx.bounds.iter().find(|row| row.0 == callee).map(|row| row.1)
    }
}

/// All bits that a number up to this one may have.
fn below_or_equal(most: u64) -> u64 {
    most.checked_add(1).map_or(u64::MAX, below)
}

/// The bits below the lowest one of a mask: they stay zero in a sum.
fn low_zeros(mask: u64) -> u64 {
    if mask == 0 { u64::MAX } else { (1u64 << mask.trailing_zeros()) - 1 }
}

#[cfg(test)]
mod tests {
    use super::{below, below_or_equal, low_zeros};

    #[test]
    fn masks_cover_their_numbers() {
        assert_eq!((below(0), below(1), below(128), below(129)), (0, 0, 127, 255));
        assert_eq!((below_or_equal(0), below_or_equal(127), below_or_equal(128)), (0, 127, 255));
        assert_eq!((low_zeros(0b1000), low_zeros(1)), (7, 0));
        assert_eq!(below(u64::MAX), u64::MAX);
    }
}
