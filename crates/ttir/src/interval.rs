//! Between which bounds an integer lies, all elements of a block: as far as constants, ranges and the bounds of counted
//! loops tell.
//!
//! ```text
//! for %i = 0 to 4096 step 1024                %i in [0, 3072]
//!   %j = arith.addi (tt.splat %i), range      [0, 4095]
//!   %m = arith.cmpi slt, %j, 4096             always true
//! ```

use crate::ops::arith_cast::{EXTSI, EXTUI};
use crate::ops::arith_int::{ADDI, ANDI, DIVSI, MAXSI, MINSI, MULI, REMSI, SHRSI, SHRUI, SUBI, int_value};
use crate::ops::compare::{CmpIPredicate, SelectOp};
use crate::ops::control::{FOR, ForOp};
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::shape::MakeRangeOp;
use crate::types::elem;
use ir::{Def, Module, Op, OpRow, Traits, Value};

/// Operations that are followed from one value, at most.
const DEPTH: u32 = 16;

/// Bounds, both included, of signed integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The least.
    pub low: i64,
    /// The greatest.
    pub high: i64,
}

impl Interval {
    /// The bounds of a value; `None` where nothing is known.
    pub fn of(module: &Module, value: Value) -> Option<Interval> {
        within(module, value, DEPTH)
    }

    /// Whether a comparison holds for all that lie between these bounds and those, or for none.
    pub fn compare(self, predicate: CmpIPredicate, other: Interval) -> Option<bool> {
        use CmpIPredicate as P;
        let is_signed = self.low < 0 || other.low < 0;
        let below = |one: Interval, two: Interval| decided(one.high < two.low, one.low >= two.high);
        let at_most = |one: Interval, two: Interval| decided(one.high <= two.low, one.low > two.high);
        match predicate {
            P::Ult | P::Ule | P::Ugt | P::Uge if is_signed => None,
            P::Slt | P::Ult => below(self, other),
            P::Sgt | P::Ugt => below(other, self),
            P::Sle | P::Ule => at_most(self, other),
            P::Sge | P::Uge => at_most(other, self),
            P::Eq => self.equals(other),
            P::Ne => self.equals(other).map(|equal| !equal),
        }
    }

    fn equals(self, other: Interval) -> Option<bool> {
        let is_one = self.low == self.high && self == other;
        decided(is_one, self.high < other.low || other.high < self.low)
    }

    /// All numbers of the type of a value.
    fn all(module: &Module, value: Value) -> Option<Interval> {
        let most = i64::MAX >> (64 - elem(module.ty(value)).as_int()?);
        Some(Interval { low: -most - 1, high: most })
    }

    fn one(value: i64) -> Interval {
        Interval { low: value, high: value }
    }

    /// The bounds of a function that is monotonic in each of two operands.
    fn corners(self, other: Interval, of: impl Fn(i64, i64) -> Option<i64>) -> Option<Interval> {
        let ends =
            [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let ends: Option<Vec<i64>> = ends.into_iter().map(|(one, two)| of(one, two)).collect();
        let ends = ends?;
        Some(Interval { low: *ends.iter().min()?, high: *ends.iter().max()? })
    }
}

fn decided(yes: bool, no: bool) -> Option<bool> {
    if yes || no { Some(yes) } else { None }
}

fn within(module: &Module, value: Value, depth: u32) -> Option<Interval> {
    if let Some(constant) = int_value(module, value) {
        return Some(Interval::one(constant));
    }
    let bits = elem(module.ty(value)).as_int()?;
    let depth = depth.checked_sub(1)?;
    let found = match module.def(value) {
        Def::Arg(..) => counted(module, value, depth),
        Def::Result(op, _) => computed(module, op, depth),
    }?;
    // What may wrap around is not known.
    let most = i64::MAX >> (64 - bits);
    (found.low >= -most - 1 && found.high <= most).then_some(found)
}

/// The counter of a loop.
fn counted(module: &Module, value: Value, depth: u32) -> Option<Interval> {
    let Def::Arg(block, 0) = module.def(value) else { return None };
    let around = module.region_parent(module.block_region(block)).filter(|&op| module.is(op, &FOR))?;
    let of = ForOp::new(module, around);
    let low = within(module, of.lower(), depth)?;
    // The counter is below a number of its own type, whatever that is.
    let bits = elem(module.ty(value)).as_int()?;
    let end = within(module, of.upper(), depth).map_or(i64::MAX >> (64 - bits), |end| end.high);
    let step = within(module, of.step(), depth).filter(|step| step.low > 0)?;
    let last = end.checked_sub(1)?.max(low.low);
    let is_exact = low.low == low.high && step.low == step.high;
    let high = match is_exact {
        true => low.low + last.checked_sub(low.low)? / step.low * step.low,
        false => last,
    };
    Some(Interval { low: low.low, high })
}

fn computed(module: &Module, op: Op, depth: u32) -> Option<Interval> {
    let is = |row: &'static OpRow| module.is(op, row);
    if let Some(range) = MakeRangeOp::of(module, op) {
        return Some(Interval { low: i64::from(range.start()), high: i64::from(range.end()) - 1 });
    }
    if let Some(select) = SelectOp::of(module, op) {
        let [yes, no] = [select.true_value(), select.false_value()].map(|value| within(module, value, depth));
        let (yes, no) = (yes?, no?);
        return Some(Interval { low: yes.low.min(no.low), high: yes.high.max(no.high) });
    }
    if module.row(op).traits.has(Traits::MOVES) {
        return within(module, UnaryOp::new(module, op).src(), depth);
    }
    if is(&EXTSI) {
        let source = UnaryOp::new(module, op).src();
        return within(module, source, depth).or_else(|| Interval::all(module, source));
    }
    if is(&EXTUI) {
        return within(module, UnaryOp::new(module, op).src(), depth).filter(|source| source.low >= 0);
    }
    combined(module, op, depth)
}

type Corners = fn(i64, i64) -> Option<i64>;

/// What is monotonic in each of two operands.
static MONOTONIC: [(&OpRow, Corners); 6] = [
    (&ADDI, i64::checked_add),
    (&SUBI, i64::checked_sub),
    (&MULI, i64::checked_mul),
    (&MINSI, |one, two| Some(one.min(two))),
    (&MAXSI, |one, two| Some(one.max(two))),
    (&DIVSI, |one, two| if two > 0 { Some(one / two) } else { None }),
];

fn combined(module: &Module, op: Op, depth: u32) -> Option<Interval> {
    if module.is(op, &SHRSI) || module.is(op, &SHRUI) {
        return shifted(module, op, depth);
    }
    let corners = MONOTONIC.iter().find(|(row, _)| module.is(op, row)).map(|(_, corners)| corners);
    let divides = module.is(op, &REMSI);
    if corners.is_none() && !divides && !module.is(op, &ANDI) {
        return None;
    }
    let of = BinaryOp::new(module, op);
    let [one, two] = [of.lhs(), of.rhs()].map(|value| within(module, value, depth));
    // Of a smaller or larger number one bound is known where one of the two is not.
    if module.is(op, &MINSI) || module.is(op, &MAXSI) {
        let any = Interval::all(module, of.lhs())?;
        let (one, two) = (one.unwrap_or(any), two.unwrap_or(any));
        return one.corners(two, corners?);
    }
    match corners {
        Some(corners) => one?.corners(two?, corners),
        None => remainder(one, two?, divides),
    }
}

/// What a shift to the right by a constant leaves of a number, or of all bits of one that is not known.
fn shifted(module: &Module, op: Op, depth: u32) -> Option<Interval> {
    let of = BinaryOp::new(module, op);
    let bits = elem(module.ty(of.lhs())).as_int()?;
    let by = int_value(module, of.rhs()).filter(|by| (1..i64::from(bits)).contains(by))?;
    let most = i64::MAX >> (64 - bits);
    let number = within(module, of.lhs(), depth).unwrap_or(Interval { low: -most - 1, high: most });
    if module.is(op, &SHRSI) || number.low >= 0 {
        return Some(Interval { low: number.low >> by, high: number.high >> by });
    }
    Some(Interval { low: 0, high: most >> (by - 1) })
}

/// What is left of a division by a positive number, or of a mask that is not negative.
fn remainder(of: Option<Interval>, by: Interval, divides: bool) -> Option<Interval> {
    if by.low < i64::from(divides) {
        return None;
    }
    let most = by.high - i64::from(divides);
    match of {
        Some(of) if of.low >= 0 => Some(Interval { low: 0, high: most.min(of.high) }),
        _ if divides => Some(Interval { low: -most, high: most }),
        _ => Some(Interval { low: 0, high: most }),
    }
}
