//! Adds first what does not change in a loop.
//!
//! Input: `loop: %a = getelementptr %p, %i; %b = getelementptr %a, %n; …`. Output: `%q = getelementptr %p, %n` before
//! the loop, and `%b = getelementptr %q, %i` in it. Sums of integers go the same way, constants among them. Only where
//! nothing else needs the sum in the middle: then an iteration has an instruction less and the loop needs no more
//! registers.

use super::loops::Loop;
use super::rewrite::Replacements;
use crate::flags::Flags;
use crate::function::{Block, Function, Inst, InstData, Value, ValueDef};
use crate::rows::Op;
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// How often each value is used.
pub(super) type Uses = SecondaryMap<Value, u32>;

/// Counts the uses of all values.
fn count(function: &Function) -> Uses {
    let mut uses = Uses::new();
    for block in &function.layout {
        for inst in &function.block(*block).insts {
            let data = function.inst(*inst);
            for value in data.operands.iter().chain(data.targets.iter().flat_map(|call| &call.args)) {
                uses[*value] += 1;
            }
        }
    }
    uses
}

/// Regroups the sums of a loop, whose blocks `homes` knows. The uses are counted when they are asked for first.
/// Answers whether there was one; what it left may be regrouped once more.
pub(super) fn regroup(
    function: &mut Function,
    found: &Loop,
    homes: &mut SecondaryMap<Value, Option<Block>>,
    uses: &mut Option<Uses>,
) -> bool {
    let mut inside: SecondaryMap<Block, bool> = SecondaryMap::new();
    for block in &found.blocks {
        inside[*block] = true;
    }
    let is_fixed = |value: Value| homes[value].is_none_or(|home| !inside[home]);
    let insts = found.blocks.iter().flat_map(|block| &function.block(*block).insts);
    let mut sums: Vec<Sum> = insts.filter_map(|inst| Sum::of(function, &is_fixed, *inst)).collect();
    if sums.is_empty() {
        return false;
    }
    let uses = uses.get_or_insert_with(|| count(function));
    sums.retain(|sum| sum.middle.iter().all(|value| uses[*value] == 1));
    let mut replacements = Replacements::default();
    let mut made: FxHashMap<InstData, Value> = FxHashMap::default();
    let mut gone: FxHashSet<Inst> = FxHashSet::default();
    let mut counts: FxHashMap<InstData, u32> = FxHashMap::default();
    for sum in &sums {
        *counts.entry(sum.first.clone()).or_default() += 1;
    }
    for sum in sums {
        let is_shared = counts.get(&sum.first).is_some_and(|count| *count > 1);
        // A beginning that another sum has changed is looked at no more.
        let is_left = !gone.contains(&sum.root)
            && sum.first.operands.contains(&function.inst(sum.root).operands[sum.operand]);
        if !is_left || !(is_shared || saves(function, &sum)) {
            continue;
        }
        let first = *made.entry(sum.first.clone()).or_insert_with(|| sum.add_first(function, found.before));
        homes[first] = Some(found.before);
        uses[first] += 1;
        sum.begin_with(function, first);
        if let Some(outer) = function.result(sum.outer) {
            let inner = replacements.find(sum.middle[0]);
            uses[inner] = uses[outer];
            replacements.replace(outer, inner);
            gone.insert(sum.outer);
        }
    }
    if !gone.is_empty() {
        replacements.apply(function);
        for block in &found.blocks {
            function.blocks[*block].insts.retain(|inst| !gone.contains(inst));
        }
    }
    !gone.is_empty()
}

/// Whether a sum that no other one begins with is worth making before the loop. Where the address that it begins with
/// is a parameter it is not: that takes no register, and machines that add three numbers at once do it in the loop as
/// well.
fn saves(function: &Function, sum: &Sum) -> bool {
    let begins = sum.first.operands[0];
    sum.first.op != Op::GEP || !matches!(function.value(begins).def, ValueDef::Param(_))
}

/// A sum of something fixed and a sum that nothing else needs, which itself begins with something fixed.
struct Sum {
    /// The instruction that adds what is fixed.
    outer: Inst,
    /// The sums before it, the last first.
    middle: SmallVec<[Value; 2]>,
    /// The instruction at the beginning, and its operand that is fixed.
    root: Inst,
    operand: usize,
    /// What takes the place of that.
    first: InstData,
}

impl Sum {
    fn of(function: &Function, is_fixed: &impl Fn(Value) -> bool, outer: Inst) -> Option<Sum> {
        let data = function.inst(outer);
        let is_address = data.op == Op::GEP;
        if !(is_address || data.op == Op::ADD && data.flags == Flags::NONE) || data.ty.is_vector() {
            return None;
        }
        let [a, b] = data.operands[..] else { return None };
        let (a, b) = if !is_address && is_fixed(a) { (b, a) } else { (a, b) };
        // An access takes a constant that is added last as it is.
        if !is_fixed(b) || is_fixed(a) || is_address && function.constant(b).is_some() {
            return None;
        }
        let begin = |op: Op, with: Value| {
            let operands = SmallVec::from_slice(&[with, b]);
            InstData { op, operands, flags: Flags::NONE, ..data.clone() }
        };
        let mut middle: SmallVec<[Value; 2]> = SmallVec::from_slice(&[a]);
        // Chains are short; the bound is a belt for the braces.
        for _ in 0..8 {
            let ValueDef::Inst(root) = function.value(*middle.last()?).def else { return None };
            let summand = function.inst(root);
            let goes_on = match is_address {
                true => summand.op == Op::GEP,
                false => [Op::ADD, Op::SUB].contains(&summand.op) && summand.flags == Flags::NONE,
            };
            let [x, y] = summand.operands[..] else { return None };
            if !goes_on {
                return None;
            }
            if is_fixed(x) {
                return Some(Sum { outer, middle, root, operand: 0, first: begin(data.op, x) });
            }
            if !is_address && is_fixed(y) {
                return Some(Sum { outer, middle, root, operand: 1, first: begin(summand.op, y) });
            }
            middle.push(x);
        }
        None
    }

    /// Makes the first sum at the end of a block.
    fn add_first(&self, function: &mut Function, before: Block) -> Value {
        let (inst, value) = function.make_value(self.first.clone(), function.locations[self.outer]);
        let insts = &mut function.blocks[before].insts;
        let end = insts.len().saturating_sub(1);
        insts.insert(end, inst);
        value
    }

    /// Lets the beginning begin with it.
    fn begin_with(&self, function: &mut Function, first: Value) {
        let root = &mut function.insts[self.root];
        root.operands[self.operand] = first;
        if root.op == Op::GEP {
            root.flags = Flags::NONE;
        }
    }
}
