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
//! not to grow too far. Left out: few comparisons, unsigned ones, and constants far from zero.

use super::Context;
use super::code::Code;
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

pub(super) fn short_comparisons(_: &Context<'_>, function: &mut Function) {
    let mut replacements = Replacements::default();
    for block in function.layout.clone() {
        for (sides, compared) in groups(function, block) {
            shorten(function, block, sides, &compared, &mut replacements);
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
fn groups(function: &Function, block: Block) -> Vec<(Sides, Vec<Compared>)> {
    let mut found: Vec<(Sides, Vec<Compared>)> = Vec::new();
    let mut places: FxHashMap<Sides, usize> = FxHashMap::default();
    for &inst in &function.block(block).insts {
        let Some((sides, compared)) = compared(function, inst) else { continue };
        let place = *places.entry(sides).or_insert_with(|| {
            found.push((sides, Vec::new()));
            found.len() - 1
        });
        found[place].1.push(compared);
    }
    found.retain(|([_, y], all)| {
        let least = if is_small(function, *y) { FEWEST } else { FEWEST_OF_ANY };
        all.len() >= least
    });
    found
}

/// A comparison that can be one of a difference.
fn compared(function: &Function, inst: Inst) -> Option<(Sides, Compared)> {
    let data = function.inst(inst);
    let Payload::IntCompare(predicate) = data.payload else { return None };
    use IntCompare::{Eq, Ne, Sge, Sgt, Sle, Slt};
    let is_signed = [Eq, Ne, Slt, Sle, Sgt, Sge].contains(&predicate);
    if data.op != Op::ICMP || !is_signed || function.value(data.operands[0]).ty != Type::I64 {
        return None;
    }
    let [left, right] = [data.operands[0], data.operands[1]].map(|value| sum(function, value));
    // What is not known to be small has no constant: a sum with one might wrap around.
    let is_whole = |(value, constant): (Value, i64)| constant == 0 || is_small(function, value);
    let straight = is_small(function, left.0) && is_whole(right);
    let turned = is_small(function, right.0) && is_whole(left);
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

fn is_small(function: &Function, value: Value) -> bool {
    size(function, value, DEPTH).is_some_and(|size| size < (FAR / 2) as u64)
}

/// A number that the size of an integer does not exceed, if it does not wrap around.
fn size(function: &Function, value: Value, depth: u32) -> Option<u64> {
    if let Some(number) = int(function, value) {
        return Some(number.unsigned_abs());
    }
    let (data, depth) = (function.defining(value)?, depth.checked_sub(1)?);
    let of = |at: usize| size(function, data.operands[at], depth);
    let size = match data.op {
        Op::SEXT | Op::ZEXT => 1u64.checked_shl(function.value(data.operands[0]).ty.lane_bits()),
        Op::ADD | Op::SUB => of(0)?.checked_add(of(1)?),
        Op::MUL => of(0)?.checked_mul(of(1)?),
        Op::SHL => {
            let by = int(function, data.operands[1]).filter(|by| (0..63).contains(by))?;
            of(0)?.checked_mul(1 << by)
        }
        _ => None,
    };
    size.filter(|&size| size < FAR as u64)
}

/// Compares the difference in place of the sums.
fn shorten(
    function: &mut Function,
    block: Block,
    [x, y]: Sides,
    compared: &[Compared],
    replacements: &mut Replacements,
) {
    let first = compared[0].inst;
    let location = function.location_of(first);
    let is_small = is_small(function, y);
    let mut code = Code { function, insts: Vec::new(), location };
    let y = if is_small { y } else { code.within(y, FAR) };
    let left = code.binary(Op::SUB, Type::I64, y, x);
    let left = code.within(left, LIMIT);
    let left = code.push(InstData::new(Op::TRUNC, Type::I32, &[left]));
    let before = code.insts;
    let insts = &mut function.blocks[block].insts;
    let place = insts.iter().position(|inst| *inst == first).expect("it is one of the block");
    insts.splice(place..place, before);
    for Compared { inst, constant, predicate } in compared {
        let location = function.location_of(*inst);
        let mut code = Code { function, insts: Vec::new(), location };
        let constant = code.int(Type::I32, *constant);
        let short = code.compare(swapped(*predicate), left, constant);
        let short_inst = code.insts[0];
        let insts = &mut function.blocks[block].insts;
        let place = insts.iter().position(|other| other == inst).expect("it is one of the block");
        insts[place] = short_inst;
        if let Some(result) = function.result(*inst) {
            replacements.replace(result, short);
        }
    }
}
