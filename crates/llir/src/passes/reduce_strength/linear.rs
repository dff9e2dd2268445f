//! Values that move by the same amount in each iteration of a loop.
//!
//! `start + iteration * step`, where both are made of what does not change in the loop. Sums, differences, products
//! with something fixed and addresses of such values are of this kind whatever wraps. The widening of one is only where
//! the narrow number does not wrap, which its flags say: an iteration that breaks their promise may give any value.

use super::cost::{self, int, of_step};
use crate::flags::Flags;
use crate::function::{Block, Function, Inst, InstData, Value, ValueDef};
use crate::passes::loops::Loop;
use crate::rows::Op;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// What is known of a value that moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Linear {
    /// How far it moves in an iteration, in bytes if it is an address, cut to 64 bits and no further; `None` where that
    /// is no constant.
    pub(super) step: Option<i64>,
    /// Whether it is the same sum when read as a signed number, or else a promise was broken.
    exact: bool,
    /// Whether it is never negative then.
    not_negative: bool,
    /// The block of the instruction that makes it; `None` for a parameter of the head.
    pub(super) block: Option<Block>,
    /// What the instructions that make it of parameters cost at most.
    cost: u32,
}

impl Linear {
    fn moved_by(step: Option<i64>, exact: bool) -> Linear {
        Linear { step, exact, not_negative: false, block: None, cost: 0 }
    }
}

/// The moving values of a loop.
pub(super) struct Moving {
    /// What is known of them.
    pub(super) known: FxHashMap<Value, Linear>,
    /// Those that instructions make, in order.
    pub(super) made: Vec<Value>,
    /// For each parameter of the head that moves: what is added to it in an iteration, and whether it is taken away.
    pub(super) steps: FxHashMap<Value, Increment>,
    /// Whether there is one that may cost more than moving it.
    pub(super) may_pay: bool,
    /// Values that are made in the loop.
    inside: SecondaryMap<Value, bool>,
}

/// What moves a parameter of the head in an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Increment {
    /// The instruction that moves it.
    pub(super) inst: Inst,
    /// What it is moved by.
    pub(super) by: Value,
}

/// Whether values of this type are looked at: integers of 8 to 64 bits, and addresses.
fn is_simple(ty: Type) -> bool {
    !ty.is_vector()
        && !ty.is_structure()
        && (ty.is_ptr() || ty.is_int() && (8..=64).contains(&ty.lane_bits()))
}

impl Moving {
    /// Finds them; `None` where there are none, or the loop is not left to one block that jumps back.
    pub(super) fn of(function: &Function, found: &Loop) -> Option<Moving> {
        let [tail] = found.tails[..] else { return None };
        let mut moving = Moving {
            known: FxHashMap::default(),
            made: Vec::new(),
            steps: FxHashMap::default(),
            may_pay: false,
            inside: function.about_values(),
        };
        for block in &found.blocks {
            let data = function.block(*block);
            let made = data.insts.iter().filter_map(|inst| function.result(*inst));
            for value in data.params.iter().copied().chain(made) {
                moving.inside[value] = true;
            }
        }
        moving.find_params(function, found, tail);
        if moving.known.is_empty() {
            return None;
        }
        for block in &found.blocks {
            for inst in &function.block(*block).insts {
                let (Some(value), data) = (function.result(*inst), function.inst(*inst)) else { continue };
                if let Some(linear) = moving.derived(function, data) {
                    let cost = moving.cost(function, data);
                    moving.may_pay |= cost > of_step(data.ty);
                    moving.known.insert(value, Linear { block: Some(*block), cost, ..linear });
                    moving.made.push(value);
                }
            }
        }
        Some(moving)
    }

    /// Whether a value does not change in the loop.
    pub(super) fn is_fixed(&self, value: Value) -> bool {
        !self.inside[value]
    }

    /// Whether an instruction of the loop makes a value that moves.
    pub(super) fn is_made(&self, value: Value) -> bool {
        self.known.contains_key(&value) && !self.steps.contains_key(&value)
    }

    /// What instructions cost that make a value of parameters, if nothing else needs what is in between; an address
    /// that is moved itself goes too, perhaps.
    fn cost(&self, function: &Function, data: &InstData) -> u32 {
        let own = cost::of(function, data, |_| 1);
        let before =
            data.operands.iter().filter_map(|value| self.known.get(value).map(|linear| (value, linear)));
        before.fold(own, |sum, (value, linear)| {
            let is_address = linear.block.is_none() && function.value(*value).ty.is_ptr() && own > 0;
            sum.saturating_add(linear.cost + if is_address { of_step(data.ty) } else { 0 })
        })
    }

    fn find_params(&mut self, function: &Function, found: &Loop, tail: Block) {
        let call_of = |from: Block| function.targets(from).iter().find(|call| call.block == found.head);
        let (Some(back), Some(entry)) = (call_of(tail), call_of(found.before)) else { return };
        for (index, param) in function.block(found.head).params.iter().enumerate() {
            let (Some(next), Some(init)) = (back.args.get(index), entry.args.get(index)) else { continue };
            let ValueDef::Inst(inst) = function.value(*next).def else { continue };
            let data = function.inst(inst);
            if !is_simple(data.ty) {
                continue;
            }
            let by = match data.operands[..] {
                [a, b] if a == *param && [Op::ADD, Op::SUB, Op::GEP].contains(&data.op) => b,
                [a, b] if b == *param && data.op == Op::ADD => a,
                _ => continue,
            };
            if !self.is_fixed(by) {
                continue;
            }
            let step = int(function, by).and_then(|by| match data.op {
                Op::SUB => Some(by.wrapping_neg()),
                Op::GEP => Some(by.wrapping_mul(data.element_bytes()?)),
                _ => Some(by),
            });
            let exact = data.op != Op::GEP && data.flags.contains(Flags::NSW);
            let grows = step.is_some_and(|step| step >= 0);
            let starts = int(function, *init).is_some_and(|init| init >= 0);
            let not_negative = exact && grows && starts;
            self.known.insert(*param, Linear { not_negative, ..Linear::moved_by(step, exact) });
            self.steps.insert(*param, Increment { inst, by });
        }
    }

    /// What is known of the result of an instruction, if it moves evenly.
    fn derived(&self, function: &Function, data: &InstData) -> Option<Linear> {
        if !is_simple(data.ty) {
            return None;
        }
        let moves = |value: &Value| self.known.get(value).copied();
        let is_exact = data.flags.contains(Flags::NSW);
        let number = |value: Value| int(function, value);
        match (data.op, &data.operands[..]) {
            (Op::ADD | Op::SUB, [a, b]) => {
                let (x, y) = (self.part(a)?, self.part(b)?);
                let sign = if data.op == Op::SUB { -1 } else { 1 };
                moves(a).or(moves(b))?;
                let step = x.step.zip(y.step).map(|(x, y)| x.wrapping_add(y.wrapping_mul(sign)));
                Some(Linear::moved_by(step, is_exact && x.exact && y.exact))
            }
            (Op::MUL, [a, b]) => {
                let (x, by) = match (moves(a), moves(b)) {
                    (Some(x), None) if self.is_fixed(*b) => (x, *b),
                    (None, Some(x)) if self.is_fixed(*a) => (x, *a),
                    _ => return None,
                };
                let step = x.step.zip(number(by)).map(|(step, by)| step.wrapping_mul(by));
                Some(Linear::moved_by(step, is_exact && x.exact))
            }
            (Op::SHL, [a, b]) => {
                let by = number(*b).filter(|by| (0..i64::from(data.ty.lane_bits())).contains(by))?;
                let x = moves(a)?;
                let step = x.step.map(|step| step.wrapping_shl(by as u32));
                Some(Linear::moved_by(step, is_exact && x.exact))
            }
            (Op::SEXT, [a]) => moves(a).filter(|x| x.exact),
            (Op::ZEXT, [a]) => moves(a).filter(|x| x.exact && x.not_negative),
            (Op::TRUNC, [a]) => {
                let step = moves(a)?.step;
                Some(Linear::moved_by(step, false))
            }
            (Op::GEP, [base, index]) => self.address(function, data, *base, *index),
            _ => None,
        }
    }

    /// A part of a sum: what moves, or what does not.
    fn part(&self, value: &Value) -> Option<Linear> {
        let fixed = Linear::moved_by(Some(0), true);
        self.known.get(value).copied().or_else(|| self.is_fixed(*value).then_some(fixed))
    }

    fn address(&self, function: &Function, data: &InstData, base: Value, index: Value) -> Option<Linear> {
        let bytes = data.element_bytes()?;
        let (x, y) = (self.part(&base)?, self.part(&index)?);
        let ty = function.value(index).ty;
        let moves = self.known.contains_key(&index);
        let widens = ty.lane_bits() < data.ty.lane_bits();
        if !is_simple(ty) || (!moves && !self.known.contains_key(&base)) || (moves && widens && !y.exact) {
            return None;
        }
        let step = x.step.zip(y.step).map(|(x, y)| x.wrapping_add(y.wrapping_mul(bytes)));
        Some(Linear::moved_by(step, false))
    }
}
