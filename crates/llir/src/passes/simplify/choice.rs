//! Rules for comparisons and choices.

use super::{Change, Rule, Simplifier, with_operands};
use crate::builder::fold::{float_compare, int_compare};
use crate::function::{InstData, IntCompare, Payload};
use crate::passes::range::range;
use crate::passes::short_comparisons::decided;
use crate::rows::Op;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::ICMP, constants),
    (Op::FCMP, float_constants),
    (Op::ICMP, constant_last),
    (Op::ICMP, test_of_truth),
    (Op::ICMP, truths_that_differ),
    (Op::ICMP, unsigned_compare),
    (Op::ICMP, by_ranges),
    (Op::SELECT, known_choice),
    (Op::SELECT, choice_of_truths),
    (Op::XOR, twice_inverted),
];

fn compare_of(data: &InstData) -> Option<IntCompare> {
    match data.payload {
        Payload::IntCompare(compare) => Some(compare),
        _ => None,
    }
}

fn constants(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let compare = compare_of(data)?;
    let width = s.ty(data.operands[0]).lane_bits();
    let (a, b) = match (data.operands[0], data.operands[1]) {
        (a, b) if a == b => (0, 0),
        (a, b) => (s.bits(a)?, s.bits(b)?),
    };
    let holds = int_compare(compare, width, a, b);
    Some(Change::Value(s.constant(data.ty, u128::from(holds))))
}

fn float_constants(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let Payload::FloatCompare(compare) = data.payload else { return None };
    let (a, b) = (data.operands[0], data.operands[1]);
    let holds = float_compare(compare, s.ty(a).kind(), [s.bits(a)?, s.bits(b)?])?;
    Some(Change::Value(s.constant(data.ty, u128::from(holds))))
}

/// The comparison that holds when its operands are swapped.
pub(in crate::passes) fn swapped(compare: IntCompare) -> IntCompare {
    match compare {
        IntCompare::Eq | IntCompare::Ne => compare,
        IntCompare::Slt => IntCompare::Sgt,
        IntCompare::Sle => IntCompare::Sge,
        IntCompare::Sgt => IntCompare::Slt,
        IntCompare::Sge => IntCompare::Sle,
        IntCompare::Ult => IntCompare::Ugt,
        IntCompare::Ule => IntCompare::Uge,
        IntCompare::Ugt => IntCompare::Ult,
        IntCompare::Uge => IntCompare::Ule,
    }
}

/// `3 < x` is `x > 3`.
fn constant_last(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let compare = compare_of(data)?;
    let (a, b) = (data.operands[0], data.operands[1]);
    if s.bits(a).is_none() || s.bits(b).is_some() {
        return None;
    }
    Some(Change::Inst(with_operands(data, &[b, a]).with(Payload::IntCompare(swapped(compare)))))
}

/// `zext p != 0` is `p`, `zext p == 0` is `not p`, for widened truth values.
fn test_of_truth(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let compare = compare_of(data)?;
    let widened = s.function.defining(data.operands[0])?;
    let truth = *widened.operands.first()?;
    let is_widening = [Op::ZEXT, Op::SEXT].contains(&widened.op) && s.ty(truth).lane_bits() == 1;
    let is_truth = s.ty(data.operands[0]).lane_bits() == 1;
    let (truth, is_zero) = match s.bits(data.operands[1])? {
        0 if is_widening => (truth, true),
        0 if is_truth => (data.operands[0], true),
        1 if is_truth => (data.operands[0], false),
        _ => return None,
    };
    match (compare, is_zero) {
        (IntCompare::Ne, true) | (IntCompare::Eq, false) => Some(Change::Value(truth)),
        (IntCompare::Eq, true) | (IntCompare::Ne, false) => {
            let ones = s.constant(data.ty, 1);
            Some(Change::Inst(InstData::new(Op::XOR, data.ty, &[truth, ones])))
        }
        _ => None,
    }
}

/// `p != q` is `p ^ q` for truth values, which machines have a predicate for.
fn truths_that_differ(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let is_difference = compare_of(data)? == IntCompare::Ne && s.ty(data.operands[0]) == data.ty;
    is_difference.then(|| Change::Inst(InstData::new(Op::XOR, data.ty, &data.operands)))
}

/// `x < 8` is known where the bits of `x` decide it.
fn unsigned_compare(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let compare = compare_of(data)?;
    let (x, limit) = (data.operands[0], data.operands[1]);
    let width = s.ty(x).lane_bits();
    let limit =
        u64::try_from(s.bits(limit)?).ok().filter(|_| s.ty(x).is_int() && (2..=64).contains(&width))?;
    let most = s.possible_bits(x, 6);
    let both_positive = most >> (width - 1) & 1 == 0 && limit >> (width - 1) & 1 == 0;
    let holds = match compare {
        IntCompare::Ult if most < limit => true,
        IntCompare::Ule if most <= limit => true,
        IntCompare::Ugt if most <= limit => false,
        IntCompare::Uge if most < limit => false,
        IntCompare::Slt if both_positive && most < limit => true,
        IntCompare::Sle if both_positive && most <= limit => true,
        IntCompare::Sgt if both_positive && most <= limit => false,
        IntCompare::Sge if both_positive && most < limit => false,
        IntCompare::Sge if both_positive && limit == 0 => true,
        IntCompare::Slt if both_positive && limit == 0 => false,
        _ => return None,
    };
    Some(Change::Value(s.constant(data.ty, u128::from(holds))))
}

/// Instructions that are looked at behind either side of a comparison.
const DEPTH: u32 = 6;

/// `x < y` is known where it holds for all numbers that `x` and `y` can be, or for none.
fn by_ranges(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let compare = compare_of(data)?;
    if s.ty(data.operands[0]).lane_bits() == 1 {
        return None;
    }
    let [x, y] = [0, 1].map(|at| range(s.cx, s.function, data.operands[at], DEPTH));
    let (x, y) = (x?, y?);
    let natural = x.least >= 0 && y.least >= 0;
    let compare = match compare {
        IntCompare::Ult if natural => IntCompare::Slt,
        IntCompare::Ule if natural => IntCompare::Sle,
        IntCompare::Ugt if natural => IntCompare::Sgt,
        IntCompare::Uge if natural => IntCompare::Sge,
        signed => signed,
    };
    let holds = decided(compare, x.sub(y), 0)?;
    Some(Change::Value(s.constant(data.ty, u128::from(holds))))
}

fn known_choice(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let [condition, a, b] = data.operands[..] else { return None };
    if a == b {
        return Some(Change::Value(a));
    }
    s.bits(condition).map(|bits| Change::Value(if bits & 1 == 1 { a } else { b }))
}

/// `p ? true : q` is `p | q`, `p ? q : false` is `p & q`, `p ? false : true` is `not p`.
fn choice_of_truths(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let [condition, a, b] = data.operands[..] else { return None };
    if data.ty.lane_bits() != 1 || !data.ty.is_int() || s.ty(condition) != data.ty {
        return None;
    }
    match (s.bits(a), s.bits(b)) {
        (Some(1), Some(0)) => Some(Change::Value(condition)),
        (Some(0), Some(1)) => {
            let ones = s.constant(data.ty, 1);
            Some(Change::Inst(InstData::new(Op::XOR, data.ty, &[condition, ones])))
        }
        // The other operand may be poison where it is not chosen; that is of no matter here only when it is frozen.
        _ => None,
    }
}

/// `not (not p)`.
fn twice_inverted(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let ones = crate::constant::mask(u128::MAX, data.ty.lane_bits());
    let inner = s.made_by(data.operands[0], Op::XOR)?;
    let (x, inner_bits) = (inner.operands[0], inner.operands[1]);
    (s.bits(data.operands[1]) == Some(ones) && s.bits(inner_bits) == Some(ones)).then_some(Change::Value(x))
}
