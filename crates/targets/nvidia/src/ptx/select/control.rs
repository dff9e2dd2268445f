//! Terminators, and what jumps hand on.

use super::call::returned_words;
use super::{Part, Selector, is_callish};
use crate::ptx::machine::{Class, Edge, End, Operand};
use crate::ptx::shape::shape;
use llir::{BlockCall, InstData, Op, Payload, Value, ValueDef};
use smallvec::{SmallVec, smallvec};

impl Selector<'_> {
    /// The end of a block; what it computes goes to `out`.
    pub(super) fn end(&mut self, data: &InstData) -> End {
        match (data.op, &data.payload) {
            (Op::JUMP, _) => End::Jump(self.edge(&data.targets[0])),
            (Op::BRANCH, _) => {
                let uniform = self.is_uniform(data.operands[0], 8);
                let (value, swapped) = match self.inverted(data.operands[0]) {
                    Some(value) => (value, true),
                    None => (data.operands[0], false),
                };
                let condition = self.reg(value, Part::Scalar);
                let mut edges = [self.edge(&data.targets[0]), self.edge(&data.targets[1])];
                if swapped {
                    edges.swap(0, 1);
                }
                End::Branch { condition, edges, uniform }
            }
            (Op::SWITCH, Payload::Cases(cases)) => self.switch(data, cases),
            (Op::RETURN, _) => {
                let results = data.operands.iter().flat_map(|value| self.returned(*value)).collect();
                End::Return(results)
            }
            _ => End::Unreachable,
        }
    }

    /// The registers of a result of a function, of 32 bits or 64.
    fn returned(&mut self, value: Value) -> SmallVec<[Operand; 1]> {
        let ty = self.ty(value);
        if let Some(words) = returned_words(ty) {
            return (0..words).map(|word| Operand::Reg(self.reg(value, Part::Word(word)))).collect();
        }
        let part = if ty.is_vector() { Part::Word(0) } else { Part::Scalar };
        let reg = Operand::Reg(self.reg(value, part));
        let only = match shape(ty).map(|shape| shape.class) {
            Some(Class::Pred) => self.temp("selp.b32", Class::B32, &[Operand::Int(1), Operand::Int(0), reg]),
            Some(Class::B16) => self.temp("cvt.u32.u16", Class::B32, &[reg]),
            _ => reg,
        };
        smallvec![only]
    }

    fn switch(&mut self, data: &InstData, cases: &[u128]) -> End {
        let ty = self.ty(data.operands[0]);
        let bits = ty.lane_bits();
        let value = self.scalar(data.operands[0]);
        let value = self.widen_byte(bits, value, false);
        let mut conditions = Vec::new();
        let mut edges = Vec::new();
        for (case, target) in cases.iter().zip(&data.targets[1..]) {
            let case = Operand::Int(*case as i64);
            let here = self.fresh(Class::Pred);
            self.push(format!("setp.eq.b{}", bits.max(16)), &[here], &[value.clone(), case]);
            conditions.push(here);
            edges.push(self.edge(target));
        }
        edges.push(self.edge(&data.targets[0]));
        End::Switch(conditions, edges)
    }

    fn edge(&mut self, call: &BlockCall) -> Edge {
        let params = &self.func.block(call.block).params;
        let mut copies = Vec::new();
        for (param, arg) in params.iter().zip(&call.args) {
            let ty = self.ty(*param);
            let vector = ty.is_vector();
            let words = shape(ty).map_or(0, |shape| shape.words);
            for word in 0..words {
                let to = self.word(*param, word);
                let from = self.part(*arg, if vector { Part::Word(word) } else { Part::Scalar });
                if from != Operand::Reg(to) {
                    copies.push((to, from));
                }
            }
        }
        Edge { block: call.block, copies }
    }

    /// Whether a value is surely the same in all lanes that run together: made of constants, parameters and the
    /// numbers of the program alone. Looks `depth` instructions far.
    fn is_uniform(&self, value: Value, depth: u32) -> bool {
        match &self.func.value(value).def {
            ValueDef::Constant(_) | ValueDef::Param(_) => true,
            ValueDef::BlockParam(..) => false,
            ValueDef::Inst(inst) => {
                let data = self.func.inst(*inst);
                let pure = data.op.row().effect == llir::Effect::Pure && !is_callish(data);
                depth > 0 && pure && data.operands.iter().all(|value| self.is_uniform(*value, depth - 1))
            }
        }
    }
}
