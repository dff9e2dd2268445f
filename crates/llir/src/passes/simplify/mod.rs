//! Makes instructions simpler, and equal ones once.
//!
//! Blocks are visited so that a block comes after those that dominate it. Each instruction is changed by the rules of
//! its row until none applies, then looked up among the equal ones that dominate it. Input:
//! `%1 = and %x, 255; %2 = and %1, 15; %3 = and %x, 15`. Output: `%2 = and %x, 15`, used for `%3` too.

mod address;
mod bits;
mod cast;
mod choice;
mod compare;
mod division;
mod float;
mod integer;

pub(super) use choice::swapped;

use super::Context;
use super::rewrite::Replacements;
use crate::constant::Constant;
use crate::dominators::Dominators;
use crate::flags::Flags;
use crate::function::{Block, Function, Inst, InstData, Value, ValueDef};
use crate::known::{Key, Known};
use crate::location::Location;
use crate::rows::Op;
use crate::types::Type;
use smallvec::SmallVec;
use std::sync::LazyLock;

/// What a rule does with an instruction.
enum Change {
    /// Its result is another value.
    Value(Value),
    /// It becomes another instruction of the same type.
    Inst(InstData),
}

/// A rule: `None` where it does not apply.
type Rule = fn(&mut Simplifier<'_>, &InstData) -> Option<Change>;

/// The rules by the number of the row of an instruction.
static RULES: LazyLock<Vec<Vec<Rule>>> = LazyLock::new(|| {
    let mut rules = vec![Vec::new(); Op::all().count()];
    let families = [
        integer::RULES,
        division::RULES,
        cast::RULES,
        choice::RULES,
        compare::RULES,
        float::RULES,
        address::RULES,
    ];
    for (op, rule) in families.into_iter().flatten() {
        rules[op.index()].push(*rule);
    }
    rules
});

pub(super) fn simplify(cx: &Context<'_>, function: &mut Function) {
    let dominators = Dominators::new(function);
    let mut simplifier = Simplifier {
        cx,
        function,
        dominators: &dominators,
        replacements: Replacements::default(),
        known: Known::new(),
        block: Block::from_u32(0),
        out: Vec::new(),
        location: None,
    };
    for block in dominators.order() {
        simplifier.visit(*block);
    }
    // Whoever uses a value was visited behind it, and uses what stands for it; those that cannot be reached were not
    // visited.
    let replacements = simplifier.replacements;
    if dominators.order().len() < function.layout.len() {
        replacements.apply(function);
    }
}

struct Simplifier<'a> {
    cx: &'a Context<'a>,
    function: &'a mut Function,
    dominators: &'a Dominators,
    replacements: Replacements,
    /// Instructions without effects made so far, with the blocks they are in.
    known: Known,
    block: Block,
    /// The instructions of the block so far.
    out: Vec<Inst>,
    location: Option<Location>,
}

impl Simplifier<'_> {
    fn visit(&mut self, block: Block) {
        self.block = block;
        let insts = std::mem::take(&mut self.function.blocks[block].insts);
        self.out = Vec::with_capacity(insts.len());
        for inst in insts {
            self.location = self.function.location_of(inst);
            self.inst(inst);
        }
        self.function.blocks[block].insts = std::mem::take(&mut self.out);
    }

    fn inst(&mut self, inst: Inst) {
        self.resolve_operands(inst);
        let result = self.function.result(inst);
        let Some(value) = result else { return self.out.push(inst) };
        let op = self.function.insts[inst].op;
        if op.row().commutes || !RULES[op.index()].is_empty() {
            // No rule asks for the instruction that it is about by its result.
            let nothing = InstData::new(Op::UNREACHABLE, Type::VOID, &[]);
            let mut data = std::mem::replace(&mut self.function.insts[inst], nothing);
            // Rules shorten what they are given; the bound is a belt for the braces.
            for _ in 0..16 {
                match self.change(&data) {
                    Some(Change::Value(by)) => return self.replacements.replace(value, by),
                    Some(Change::Inst(changed)) => data = changed,
                    None => break,
                }
            }
            self.function.insts[inst] = data;
        }
        let data = &self.function.insts[inst];
        if self.cx.module.is_pure(data) {
            let key = Key::of(data);
            if let Some(same) = self.find(key, data).or_else(|| self.promise_less(inst, key)) {
                return self.replacements.replace(value, same);
            }
            self.known.add(key, self.block, value);
        }
        self.out.push(inst);
    }

    fn resolve_operands(&mut self, inst: Inst) {
        if !self.replacements.any() {
            return;
        }
        let data = &mut self.function.insts[inst];
        let passed = data.targets.iter_mut().flat_map(|call| &mut call.args);
        for value in data.operands.iter_mut().chain(passed) {
            *value = self.replacements.find(*value);
        }
    }

    fn change(&mut self, data: &InstData) -> Option<Change> {
        if let Some(ordered) = self.ordered(data) {
            return Some(Change::Inst(ordered));
        }
        RULES[data.op.index()].iter().find_map(|rule| rule(self, data))
    }

    /// Operands of a commuting instruction in one order, constants last.
    fn ordered(&self, data: &InstData) -> Option<InstData> {
        let [a, b] = data.operands[..] else { return None };
        let rank = |value: Value| (self.function.constant(value).is_some(), value);
        if !data.op.row().commutes || rank(a) <= rank(b) {
            return None;
        }
        let mut data = data.clone();
        data.operands.swap(0, 1);
        Some(data)
    }

    /// The result of an equal instruction that dominates the current one.
    fn find(&self, key: Key, data: &InstData) -> Option<Value> {
        self.known.find(self.function, (key, data), |block| self.dominators.dominates(block, self.block))
    }

    /// The result of an instruction of 64 bits that differs in what it promises about overflow: it promises from then
    /// on what both do. Narrower ones keep their promises, by which they are widened.
    fn promise_less(&mut self, inst: Inst, key: Key) -> Option<Value> {
        let data = &self.function.insts[inst];
        if data.ty != Type::I64 || data.op.row().flags != Flags::WRAP {
            return None;
        }
        let is_alike =
            |other: &InstData| other.op == data.op && other.ty == data.ty && other.operands == data.operands;
        let dominates = |block| self.dominators.dominates(block, self.block);
        let same = self.known.find_as(self.function, key, is_alike, dominates)?;
        let flags = data.flags;
        if let ValueDef::Inst(other) = self.function.value(same).def {
            let other = &mut self.function.insts[other];
            other.flags = other.flags.and(flags);
        }
        Some(same)
    }

    /// Adds an instruction before the current one, or finds an equal one. It is not simplified itself.
    fn emit(&mut self, data: InstData) -> Value {
        let key = Key::of(&data);
        if let Some(value) = self.find(key, &data) {
            return value;
        }
        let (inst, value) = self.function.make_value(data, self.location);
        self.known.add(key, self.block, value);
        self.out.push(inst);
        value
    }

    fn ty(&self, value: Value) -> Type {
        self.function.value(value).ty
    }

    /// The instruction of this kind that makes a value.
    fn made_by(&self, value: Value, op: Op) -> Option<&InstData> {
        self.function.defining(value).filter(|data| data.op == op)
    }

    /// The bits of a constant that is alike in all lanes.
    fn bits(&self, value: Value) -> Option<u128> {
        self.function.constant(value).and_then(Constant::splat_bits)
    }

    /// A constant that is alike in all lanes, of a type of at most 64 bits, sign extended.
    fn int(&self, value: Value) -> Option<i64> {
        let ty = self.ty(value);
        let bits = self.bits(value).filter(|_| ty.is_int() && ty.lane_bits() <= 64)?;
        Some(crate::constant::signed(bits, ty.lane_bits()) as i64)
    }

    fn constant(&mut self, ty: Type, bits: u128) -> Value {
        self.function.intern(Constant::bits(ty, bits))
    }

    fn constant_int(&mut self, ty: Type, value: i64) -> Value {
        self.constant(ty, i128::from(value) as u128)
    }
}

/// The same instruction with other operands and no promises about overflow.
fn with_operands(data: &InstData, operands: &[Value]) -> InstData {
    let mut data = data.clone();
    data.operands = SmallVec::from_slice(operands);
    if data.ty.is_int() || data.ty.is_ptr() {
        data.flags = Flags::NONE;
    }
    data
}
