//! Makes a moving value one that the loop carries: its first value and its step are made before the loop.

use super::cost::int;
use super::linear::{Increment, Moving};
use crate::constant::Constant;
use crate::function::{Block, Function, Inst, InstData, Payload, Value, ValueData, ValueDef};
use crate::location::Location;
use crate::passes::loops::Loop;
use crate::rows::Op;
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Adds a parameter to the head of a loop which has a moving value in each iteration; answers the parameter.
pub(super) fn carry(function: &mut Function, found: &Loop, moving: &Moving, value: Value) -> Value {
    let location = match function.value(value).def {
        ValueDef::Inst(inst) => function.location_of(inst),
        _ => None,
    };
    let ty = function.value(value).ty;
    let mut before = Before { function, found, moving, location, starts: FxHashMap::default() };
    let start = before.start(value, ty);
    let distance = ty.as_int();
    let step = before.step(value, distance).unwrap_or_else(|| before.number(distance, 0));
    let params = &mut function.blocks[found.head].params;
    let def = ValueDef::BlockParam(found.head, params.len() as u32);
    let param = function.values.push(ValueData { ty, def });
    params.push(param);
    hand_on(function, found, found.before, start);
    let moved = match ty.is_ptr() {
        true => InstData::new(Op::GEP, ty, &[param, step]).with(Payload::Element(Type::I8, 0)),
        false => InstData::new(Op::ADD, ty, &[param, step]),
    };
    for tail in &found.tails {
        let next = append(function, *tail, moved.clone(), location);
        hand_on(function, found, *tail, next);
    }
    param
}

/// Adds a value to what a block hands to the head.
fn hand_on(function: &mut Function, found: &Loop, from: Block, value: Value) {
    let last = *function.blocks[from].insts.last().expect("verified: a block has a terminator");
    for call in function.insts[last].targets.iter_mut().filter(|call| call.block == found.head) {
        call.args.push(value);
    }
}

/// Adds an instruction before the end of a block.
fn append(function: &mut Function, block: Block, data: InstData, location: Option<Location>) -> Value {
    let (inst, value) = function.make_value(data, location);
    let insts = &mut function.blocks[block].insts;
    insts.insert(insts.len() - 1, inst);
    value
}

/// Makes values before a loop. Nothing is promised of them, since the loop may not run.
///
/// A number that is widened is computed wide from the beginning: where flags say that it does not wrap in an iteration
/// that needs it, that is the same number, also if the first iteration does not need it and it would wrap there.
struct Before<'a> {
    function: &'a mut Function,
    found: &'a Loop,
    moving: &'a Moving,
    location: Option<Location>,
    starts: FxHashMap<(Value, u32), Value>,
}

impl Before<'_> {
    fn emit(&mut self, op: Op, ty: Type, operands: &[Value]) -> Value {
        append(self.function, self.found.before, InstData::new(op, ty, operands), self.location)
    }

    fn number(&mut self, ty: Type, number: i64) -> Value {
        self.function.intern(Constant::bits(ty, i128::from(number) as u128))
    }

    /// A signed number in another width.
    fn resize(&mut self, value: Value, ty: Type) -> Value {
        match self.function.value(value).ty.lane_bits().cmp(&ty.lane_bits()) {
            Ordering::Equal => value,
            Ordering::Less => self.emit(Op::SEXT, ty, &[value]),
            Ordering::Greater => self.emit(Op::TRUNC, ty, &[value]),
        }
    }

    /// The address that a value is in the first iteration, or the number with the width of `ty`.
    fn start(&mut self, value: Value, ty: Type) -> Value {
        let key = (value, ty.lane_bits());
        if let Some(start) = self.starts.get(&key) {
            return *start;
        }
        let start = match self.function.value(value).def {
            ValueDef::Inst(inst) if !self.moving.is_fixed(value) => self.first_result(inst, ty),
            ValueDef::BlockParam(_, index) if !self.moving.is_fixed(value) => {
                let calls = self.function.targets(self.found.before);
                let entry = calls.iter().find(|call| call.block == self.found.head);
                let init = entry.expect("the block before a loop jumps to its head").args[index as usize];
                if ty.is_ptr() { init } else { self.resize(init, ty) }
            }
            _ if ty.is_ptr() => value,
            _ => self.resize(value, ty),
        };
        self.starts.insert(key, start);
        start
    }

    /// The result of an instruction in the first iteration.
    fn first_result(&mut self, inst: Inst, ty: Type) -> Value {
        let data = self.function.inst(inst).clone();
        let a = data.operands[0];
        match (data.op, data.operands.get(1).copied()) {
            (Op::GEP, Some(index)) => {
                let base = self.start(a, ty);
                let fixed = self.moving.is_fixed(index);
                let index = if fixed { index } else { self.start(index, ty.as_int()) };
                let address = InstData::new(Op::GEP, ty, &[base, index]).with(data.payload);
                append(self.function, self.found.before, address, self.location)
            }
            (Op::SHL, Some(b)) => {
                let a = self.start(a, ty);
                self.shifted(a, b, ty)
            }
            (op, Some(b)) => {
                let (a, b) = (self.start(a, ty), self.start(b, ty));
                self.emit(op, ty, &[a, b])
            }
            (_, None) => self.start(a, ty),
        }
    }

    /// How far a value moves in each iteration, with the width of `ty`; `None` if it does not.
    fn step(&mut self, value: Value, ty: Type) -> Option<Value> {
        if self.moving.is_fixed(value) {
            return None;
        }
        if let Some(step) = self.moving.known.get(&value).and_then(|linear| linear.step) {
            return Some(self.number(ty, step));
        }
        if let Some(Increment { inst, by }) = self.moving.steps.get(&value).copied() {
            let data = self.function.inst(inst).clone();
            let by = self.resize(by, ty);
            return Some(match data.op {
                Op::SUB => self.difference(None, by, ty),
                Op::GEP => self.scaled(by, &data, ty),
                _ => by,
            });
        }
        let data = self.function.defining(value)?.clone();
        let a = *data.operands.first()?;
        let Some(b) = data.operands.get(1).copied() else { return self.step(a, ty) };
        let (x, y) = (self.step(a, ty), self.step(b, ty));
        match data.op {
            Op::GEP => {
                let y = y.map(|index| self.scaled(index, &data, ty));
                self.sum(x, y, ty)
            }
            Op::SUB => match y {
                Some(y) => Some(self.difference(x, y, ty)),
                None => x,
            },
            Op::MUL => {
                let (step, by) = x.map(|x| (x, b)).or(y.map(|y| (y, a)))?;
                let by = self.resize(by, ty);
                Some(self.emit(Op::MUL, ty, &[step, by]))
            }
            Op::SHL => x.map(|x| self.shifted(x, b, ty)),
            _ => self.sum(x, y, ty),
        }
    }

    fn sum(&mut self, a: Option<Value>, b: Option<Value>, ty: Type) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.emit(Op::ADD, ty, &[a, b])),
            (a, b) => a.or(b),
        }
    }

    fn difference(&mut self, a: Option<Value>, b: Value, ty: Type) -> Value {
        let a = a.unwrap_or_else(|| self.number(ty, 0));
        self.emit(Op::SUB, ty, &[a, b])
    }

    /// A shift by a constant, as a product: in a narrower type the shift may be by more than the width.
    fn shifted(&mut self, value: Value, by: Value, ty: Type) -> Value {
        let by = int(self.function, by).expect("the shift is by a constant");
        let factor = self.number(ty, 1i64.wrapping_shl(by as u32));
        self.emit(Op::MUL, ty, &[value, factor])
    }

    /// Bytes that an index counts for an address.
    fn scaled(&mut self, index: Value, address: &InstData, ty: Type) -> Value {
        let bytes = self.number(ty, address.element_bytes().expect("an address has elements"));
        self.emit(Op::MUL, ty, &[index, bytes])
    }
}
