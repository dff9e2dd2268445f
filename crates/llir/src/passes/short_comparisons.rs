//! Comparisons of 64-bit sums that differ by constants compare one difference of 32 bits with the constants.
//!
//! Input:
//! ```text
//! %a = add i64 %x, 1;  %c = icmp slt i64 %a, %n
//! %b = add i64 %x, 2;  %d = icmp slt i64 %b, %n;  …
//! ```
//! Output:
//! ```text
//! %left = sub i64 %n, %x, at least -2^30 and at most 2^30, as i32
//! %c = icmp sgt i32 %left, 1;  %d = icmp sgt i32 %left, 2;  …
//! ```
//! A machine of 32 bits takes two instructions for each sum and two for each comparison. Masks of blocks whose indices
//! have 64 bits are such comparisons. The sum must not wrap around: `%x` is made of numbers of 32 bits by what is known
//! not to grow too far. What both sides have in common, as rows and columns of one tile of a triangle have, is no part
//! of the difference, and comparisons that its range decides are constants. Left out: few comparisons, unsigned ones,
//! and constants far from zero.

use super::Context;
use super::code::Code;
use super::range::{Range, range};
use super::reduce_strength::int;
use super::rewrite::Replacements;
use super::simplify::swapped;
use crate::function::{Block, Function, Inst, InstData, IntCompare, Payload, Value};
use crate::rows::Op;
use crate::types::Type;
use rustc_hash::FxHashMap;

/// Comparisons that are worth a difference, where the other side is known to be small and where it is not: the
/// difference takes as many instructions as four of them, one behind the other.
const FEWEST: usize = 8;
const FEWEST_OF_ANY: usize = 12;
/// Constants are smaller than this, and differences are cut to it.
const LIMIT: i64 = 1 << 30;
/// Sums are smaller than this, and what they are compared with is cut to it.
const FAR: i64 = 1 << 62;
/// Instructions that are looked at behind one value.
const DEPTH: u32 = 8;

pub(super) fn short_comparisons(cx: &Context<'_>, function: &mut Function) {
    let mut replacements = Replacements::default();
    for block in function.layout.clone() {
        for (sides, compared) in groups(cx, function, block) {
            shorten(cx, function, block, sides, &compared, &mut replacements);
        }
    }
    replacements.apply(function);
}

/// `x + constant`, compared with `y`.
#[derive(Clone, Copy)]
struct Compared {
    inst: Inst,
    constant: i64,
    predicate: IntCompare,
}

/// What is compared with what: the numbers of `x`, of which the sums are made, and of `y`.
type Sides = [Value; 2];

/// The comparisons of a block that are worth a difference, by what they compare.
fn groups(cx: &Context<'_>, function: &Function, block: Block) -> Vec<(Sides, Vec<Compared>)> {
    let mut found: Vec<(Sides, Vec<Compared>)> = Vec::new();
    let mut places: FxHashMap<Sides, usize> = FxHashMap::default();
    for &inst in &function.block(block).insts {
        let Some((sides, compared)) = compared(cx, function, inst) else { continue };
        let place = *places.entry(sides).or_insert_with(|| {
            found.push((sides, Vec::new()));
            found.len() - 1
        });
        found[place].1.push(compared);
    }
    found.retain(|([_, y], all)| {
        let least = if is_small(cx, function, *y) { FEWEST } else { FEWEST_OF_ANY };
        all.len() >= least
    });
    found
}

/// A comparison that can be one of a difference.
fn compared(cx: &Context<'_>, function: &Function, inst: Inst) -> Option<(Sides, Compared)> {
    let data = function.inst(inst);
    let Payload::IntCompare(predicate) = data.payload else { return None };
    use IntCompare::{Eq, Ne, Sge, Sgt, Sle, Slt};
    let is_signed = [Eq, Ne, Slt, Sle, Sgt, Sge].contains(&predicate);
    if data.op != Op::ICMP || !is_signed || function.value(data.operands[0]).ty != Type::I64 {
        return None;
    }
    let [left, right] = [data.operands[0], data.operands[1]].map(|value| sum(function, value));
    // What is not known to be small has no constant: a sum with one might wrap around.
    let is_whole = |(value, constant): (Value, i64)| constant == 0 || is_small(cx, function, value);
    let straight = is_small(cx, function, left.0) && is_whole(right);
    let turned = is_small(cx, function, right.0) && is_whole(left);
    // Of two numbers that will do, always the same one is first.
    let (x, y, predicate) = match (straight, turned) {
        (true, true) if right.0 < left.0 => (right, left, swapped(predicate)),
        (true, _) => (left, right, predicate),
        (false, true) => (right, left, swapped(predicate)),
        (false, false) => return None,
    };
    let constant = x.1 - y.1;
    let is_known = [x.0, y.0].iter().any(|&value| function.constant(value).is_some());
    (is_near(constant) && !is_known).then_some(([x.0, y.0], Compared { inst, constant, predicate }))
}

/// A value as another one and a small constant.
fn sum(function: &Function, value: Value) -> (Value, i64) {
    let parts = || {
        let data = function.defining(value).filter(|data| data.op == Op::ADD)?;
        let constant = int(function, data.operands[1]).filter(|&constant| is_near(constant))?;
        Some((data.operands[0], constant))
    };
    parts().unwrap_or((value, 0))
}

/// The least number has no absolute value.
fn is_near(constant: i64) -> bool {
    constant.unsigned_abs() < LIMIT as u64
}

/// Whether a value is no larger than sums are, and does not wrap around.
fn is_small(cx: &Context<'_>, function: &Function, value: Value) -> bool {
    let half = i128::from(FAR / 2);
    let small = Range { least: 1 - half, most: half - 1 };
    range(cx, function, value, DEPTH).is_some_and(|range| range.is_within(small))
}

/// What is added up to a value, constants aside, as far as it stands in sums.
fn terms(function: &Function, value: Value, depth: u32, all: &mut Vec<Value>) {
    match function.defining(value).filter(|data| depth > 0 && data.op == Op::ADD) {
        Some(data) => data.operands.iter().for_each(|&operand| terms(function, operand, depth - 1, all)),
        None => all.push(value),
    }
}

/// `y - x`, without what is part of both, and the numbers that it can be.
fn difference(cx: &Context<'_>, code: &mut Code<'_>, [x, y]: Sides) -> (Value, Range) {
    let [mut less, mut more] = [x, y].map(|side| {
        let mut all = Vec::new();
        terms(code.function, side, DEPTH, &mut all);
        all
    });
    less.retain(|term| match more.iter().position(|other| other == term) {
        Some(at) => {
            more.swap_remove(at);
            false
        }
        None => true,
    });
    let zero = code.int(Type::I64, 0);
    let mut sum = |terms: Vec<Value>| {
        let mut total = (zero, Range::one(0));
        for term in terms {
            let of = range(cx, code.function, term, DEPTH).expect("terms of a sum of 64 bits have as many");
            let value = if total.0 == zero { term } else { code.binary(Op::ADD, Type::I64, total.0, term) };
            total = (value, total.1.add(of));
        }
        total
    };
    let (less, more) = (sum(less), sum(more));
    let left = if less.0 == zero { more.0 } else { code.binary(Op::SUB, Type::I64, more.0, less.0) };
    (left, more.1.sub(less.1))
}

/// Compares the difference in place of the sums.
fn shorten(
    cx: &Context<'_>,
    function: &mut Function,
    block: Block,
    [x, y]: Sides,
    compared: &[Compared],
    replacements: &mut Replacements,
) {
    let first = compared[0].inst;
    let location = function.location_of(first);
    let is_small = is_small(cx, function, y);
    let mut code = Code { function, insts: Vec::new(), location };
    let near = Range { least: -i128::from(LIMIT), most: i128::from(LIMIT) };
    let (left, range) = if is_small {
        let (left, range) = difference(cx, &mut code, [x, y]);
        (left, Some(range))
    } else {
        let y = code.within(y, FAR);
        (code.binary(Op::SUB, Type::I64, y, x), None)
    };
    let is_near = range.is_some_and(|range| range.is_within(near));
    let left = if is_near { left } else { code.within(left, LIMIT) };
    let left = code.push(InstData::new(Op::TRUNC, Type::I32, &[left]));
    let before = code.insts;
    let insts = &mut function.blocks[block].insts;
    let place = insts.iter().position(|inst| *inst == first).expect("it is one of the block");
    insts.splice(place..place, before);
    for Compared { inst, constant, predicate } in compared {
        let location = function.location_of(*inst);
        let mut code = Code { function, insts: Vec::new(), location };
        let predicate = swapped(*predicate);
        if let Some(holds) = range.and_then(|range| decided(predicate, range, i128::from(*constant))) {
            let known = code.int(Type::I1, i64::from(holds));
            if let Some(result) = function.result(*inst) {
                replacements.replace(result, known);
            }
            continue;
        }
        let constant = code.int(Type::I32, *constant);
        let short = code.compare(predicate, left, constant);
        let short_inst = code.insts[0];
        let insts = &mut function.blocks[block].insts;
        let place = insts.iter().position(|other| other == inst).expect("it is one of the block");
        insts[place] = short_inst;
        if let Some(result) = function.result(*inst) {
            replacements.replace(result, short);
        }
    }
}

/// Whether a signed comparison of any number of a range with one number holds, where it always does or never.
pub(super) fn decided(predicate: IntCompare, range: Range, number: i128) -> Option<bool> {
    let (below, above) = (range.most < number, range.least > number);
    let known = |always: bool, never: bool| (always || never).then_some(always);
    match predicate {
        IntCompare::Slt => known(below, range.least >= number),
        IntCompare::Sle => known(range.most <= number, above),
        IntCompare::Sgt => known(above, range.most <= number),
        IntCompare::Sge => known(range.least >= number, below),
        IntCompare::Eq => known(false, below || above),
        IntCompare::Ne => known(below || above, false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::range::Range;
    use super::decided;
    use crate::function::IntCompare;

    #[test]
    fn what_every_number_of_a_range_says_is_decided() {
        type Holds = fn(i128, i128) -> bool;
        let predicates: [(IntCompare, Holds); 6] = [
            (IntCompare::Slt, |a, b| a < b),
            (IntCompare::Sle, |a, b| a <= b),
            (IntCompare::Sgt, |a, b| a > b),
            (IntCompare::Sge, |a, b| a >= b),
            (IntCompare::Eq, |a, b| a == b),
            (IntCompare::Ne, |a, b| a != b),
        ];
        for (least, number) in (-3..=3).flat_map(|least| (-4..=4).map(move |number| (least, number))) {
            // A range of one number is not asked for equality: it is a constant.
            for most in least + 1..=3 {
                for (predicate, holds) in predicates {
                    let all: Vec<bool> = (least..=most).map(|one| holds(one, number)).collect();
                    let same = all.iter().all(|one| *one == all[0]).then(|| all[0]);
                    let found = decided(predicate, Range { least, most }, number);
                    assert_eq!(found, same, "{least} to {most} {predicate:?} {number}");
                }
            }
        }
    }
}
