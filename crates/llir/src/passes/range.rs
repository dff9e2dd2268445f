//! The least and the greatest number that an integer can be.

use super::reduce_strength::int;
use super::{Bound, Context};
use crate::function::{Function, InstData, Payload, Value};
use crate::rows::Op;

/// Numbers from the first to the last, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) least: i128,
    pub(super) most: i128,
}

impl Range {
    pub(super) fn one(number: i128) -> Range {
        Range { least: number, most: number }
    }

    /// The signed numbers of so many bits, of 1 to 64.
    fn of_bits(bits: u32) -> Range {
        Range { least: -(1 << (bits - 1)), most: (1 << (bits - 1)) - 1 }
    }

    pub(super) fn is_within(self, other: Range) -> bool {
        other.least <= self.least && self.most <= other.most
    }

    fn is_natural(self) -> bool {
        self.least >= 0
    }

    pub(super) fn add(self, other: Range) -> Range {
        Range { least: self.least + other.least, most: self.most + other.most }
    }

    pub(super) fn sub(self, other: Range) -> Range {
        Range { least: self.least - other.most, most: self.most - other.least }
    }

    /// All results of a function that is monotonic in either operand.
    fn corners(self, other: Range, of: impl Fn(i128, i128) -> i128) -> Range {
        let all = [
            (self.least, other.least),
            (self.least, other.most),
            (self.most, other.least),
            (self.most, other.most),
        ]
        .map(|(a, b)| of(a, b));
        let [first, ..] = all;
        all.into_iter().fold(Range::one(first), |range, number| range.join(Range::one(number)))
    }

    fn join(self, other: Range) -> Range {
        Range { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// Numbers whose bits are among those of some that are not negative.
    fn masked(most: i128) -> Range {
        Range { least: 0, most: (most as u128 + 1).next_power_of_two() as i128 - 1 }
    }
}

/// The numbers that a signed integer of at most 64 bits can be, looking `depth` instructions far; all of its type where
/// operations may wrap around. `None` for what is no such integer.
pub(super) fn range(cx: &Context<'_>, function: &Function, value: Value, depth: u32) -> Option<Range> {
    let ty = function.value(value).ty;
    let bits = ty.lane_bits();
    if !ty.is_int() || ty.is_vector() || !(1..=64).contains(&bits) {
        return None;
    }
    if let Some(number) = int(function, value) {
        return Some(Range::one(i128::from(number)));
    }
    let all = Range::of_bits(bits);
    let Some(data) = function.defining(value).filter(|_| depth > 0) else { return Some(all) };
    Some(computed(cx, function, data, depth - 1).filter(|range| range.is_within(all)).unwrap_or(all))
}

/// The numbers of a result, as if it had as many bits as it needs.
fn computed(cx: &Context<'_>, function: &Function, data: &InstData, depth: u32) -> Option<Range> {
    let of = |at: usize| range(cx, function, data.operands[at], depth);
    let constant =
        |least: i64| int(function, data.operands[1]).filter(|&number| number >= least).map(i128::from);
    let shift = || constant(0).filter(|&by| by < 64);
    match data.op {
        Op::SEXT | Op::TRUNC => of(0),
        Op::ZEXT => {
            let most = (1 << function.value(data.operands[0]).ty.lane_bits()) - 1;
            Some(of(0).filter(|range| range.is_natural()).unwrap_or(Range { least: 0, most }))
        }
        Op::ADD => Some(of(0)?.add(of(1)?)),
        Op::SUB => Some(of(0)?.sub(of(1)?)),
        Op::MUL => of(0)?.corners(of(1)?, |a, b| a.saturating_mul(b)).into(),
        Op::SHL => {
            let by = shift()?;
            of(0)?.corners(Range::one(by), |a, by| a << by).into()
        }
        Op::ASHR => {
            let by = shift()?;
            of(0)?.corners(Range::one(by), |a, by| a >> by).into()
        }
        Op::LSHR => {
            let (by, range) = (shift()?, of(0)?);
            range.is_natural().then(|| range.corners(Range::one(by), |a, by| a >> by))
        }
        Op::SDIV => {
            let by = constant(1)?;
            of(0)?.corners(Range::one(by), |a, by| a / by).into()
        }
        Op::UDIV => {
            let (by, range) = (constant(1)?, of(0)?);
            range.is_natural().then(|| range.corners(Range::one(by), |a, by| a / by))
        }
        Op::UREM => {
            let (by, range) = (constant(1)?, of(0)?);
            range.is_natural().then(|| Range { least: 0, most: range.most.min(by - 1) })
        }
        Op::AND => {
            let natural: Vec<i128> =
                [of(0)?, of(1)?].iter().filter(|one| one.is_natural()).map(|one| one.most).collect();
            natural.into_iter().min().map(|most| Range { least: 0, most })
        }
        Op::OR | Op::XOR => {
            let both = of(0)?.join(of(1)?);
            both.is_natural().then(|| Range::masked(both.most))
        }
        Op::SELECT => Some(of(1)?.join(of(2)?)),
        Op::CALL => {
            let Payload::Callee(callee) = data.payload else { return None };
            match cx.bounds.iter().find(|row| row.0 == callee)?.1 {
                Bound::Below(bound) => Some(Range { least: 0, most: i128::from(bound.max(1)) - 1 }),
                Bound::Operand(index) => of(index),
            }
        }
        _ => None,
    }
}
