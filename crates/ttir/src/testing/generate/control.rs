//! Loops and conditions around random operations.

use super::{Known, Maker};
use crate::ops::{arith_cast, arith_int, compare, control, program};
use crate::types::pointee;
use ir::{Attr, Block, OpInit, OpRow, Type, Value};
use smallvec::SmallVec;

impl Maker {
    pub(super) fn random_control(&mut self) {
        match self.random.below(8) {
            7 => self.random_call(),
            2 if self.random.one_in(4) => self.scaled_dot(),
            0 | 1 => self.random_for(),
            2 => self.random_while(),
            3 | 4 => self.random_products(),
            _ => self.random_if(),
        }
    }

    /// Runs `fill` with a block open; what is learned inside is forgotten behind it.
    pub(super) fn inside(&mut self, block: Block, fill: impl FnOnce(&mut Maker)) -> Vec<Known> {
        let (outer, known) = (self.block, self.known.clone());
        self.block = block;
        self.depth += 1;
        fill(self);
        self.depth -= 1;
        self.block = outer;
        std::mem::replace(&mut self.known, known)
    }

    fn random_steps(&mut self) {
        for _ in 0..self.random.below(4) + 1 {
            self.step();
        }
    }

    /// Up to three values to carry.
    pub(super) fn carried(&mut self) -> Vec<Value> {
        let count = self.random.below(3) + 1;
        (0..count).filter_map(|_| self.pick(|ty| pointee(ty).is_none())).collect()
    }

    pub(super) fn terminate(&mut self, row: &'static OpRow, values: &[Value]) {
        self.builder().build_effect(row, values, &[]);
    }

    pub(super) fn block_with(&mut self, op: ir::Op, region: usize, params: &[Type]) -> (Block, Vec<Value>) {
        let region = self.module.region(op, region);
        let block = self.module.add_block(region);
        let args = params.iter().map(|&ty| self.module.add_arg(block, ty)).collect();
        (block, args)
    }

    /// A number of iterations from 0 to 3, known only at run time half of the time, and another in each program now and
    /// then.
    pub(super) fn small_count(&mut self) -> Value {
        let i32 = Type::int(32);
        let three = self.constant(i32, 3);
        if self.random.one_in(4) {
            let axis = Attr::Enum { row: &program::AXIS, value: 0 };
            let pid = self.build(&program::GET_PROGRAM_ID, &[], &[Some(axis)]);
            let more = self.random.below(4) as i64;
            let more = self.constant(i32, more);
            let row = self.random.of(&[&arith_int::ADDI, &arith_int::SUBI]);
            let mixed = self.build(row, &[more, pid], &[]);
            return self.build(&arith_int::ANDI, &[mixed, three], &[]);
        }
        match self.pick_of(i32).filter(|_| self.random.one_in(2)) {
            Some(value) => self.build(&arith_int::ANDI, &[value, three], &[]),
            None => {
                let count = self.random.below(4) as i64;
                self.constant(i32, count)
            }
        }
    }

    fn random_for(&mut self) {
        let inits = self.carried();
        let types: Vec<Type> = inits.iter().map(|&value| self.ty(value)).collect();
        let start = self.random.below(5) as i64 - 2;
        let mut count = self.small_count();
        let bound = Type::int(self.random.of(&[32, 32, 32, 64]));
        if self.ty(count) != bound {
            count = self.build_as(&arith_cast::EXTSI, &[count], &[], bound);
        }
        let lower = self.constant(bound, start);
        let step = self.random.of(&[1, 1, 2, 5]);
        let step = self.constant(bound, step);
        let mut operands = vec![lower, count, step];
        operands.extend(&inits);
        let init = OpInit {
            operands: operands.into(),
            results: types.iter().copied().collect(),
            attrs: SmallVec::new(),
            regions: 1,
        };
        let op = self.builder().insert(&control::FOR, init);
        self.random_hints(op);
        let mut params = vec![bound];
        params.extend(&types);
        let (block, args) = self.block_with(op, 0, &params);
        self.inside(block, |maker| {
            args.iter().for_each(|&arg| maker.learn(arg));
            maker.random_steps();
            let yielded: Vec<Value> = types.iter().map(|&ty| maker.operand(ty)).collect();
            maker.terminate(&control::YIELD, &yielded);
        });
        self.learn_results(op);
    }

    /// What may be said of a loop, none of which changes what it computes.
    fn random_hints(&mut self, op: ir::Op) {
        if self.random.one_in(2) {
            return;
        }
        let (stages, unroll) = (self.random.below(4) as i32 + 1, self.random.below(4) as i32 + 1);
        let hints = [
            (&control::NUM_STAGES, Attr::i32(stages)),
            (&control::UNROLL, Attr::i32(unroll)),
            (&control::FLATTEN, Attr::Unit),
            (&control::DISABLE_LICM, Attr::Unit),
        ];
        for (key, hint) in hints {
            if self.random.one_in(2) {
                self.module.set_extra(op, key.key(), Some(hint));
            }
        }
    }

    pub(super) fn learn_results(&mut self, op: ir::Op) {
        for result in self.module.results(op).to_vec() {
            self.learn(result);
        }
    }

    fn random_if(&mut self) {
        let types: Vec<Type> = self.carried().iter().map(|&value| self.ty(value)).collect();
        let condition = self.operand(Type::int(1));
        let init = OpInit {
            operands: SmallVec::from_slice(&[condition]),
            results: types.iter().copied().collect(),
            attrs: SmallVec::new(),
            regions: 2,
        };
        let op = self.builder().insert(&control::IF, init);
        for side in 0..2 {
            let (block, _) = self.block_with(op, side, &[]);
            self.inside(block, |maker| {
                maker.random_steps();
                let yielded: Vec<Value> = types.iter().map(|&ty| maker.operand(ty)).collect();
                maker.terminate(&control::YIELD, &yielded);
            });
        }
        self.learn_results(op);
    }

    /// Counts a number down to zero while it carries other values.
    fn random_while(&mut self) {
        let i32 = Type::int(32);
        let mut inits = vec![self.small_count()];
        inits.extend(self.carried());
        let types: Vec<Type> = inits.iter().map(|&value| self.ty(value)).collect();
        let init = OpInit {
            operands: inits.into(),
            results: types.iter().copied().collect(),
            attrs: SmallVec::new(),
            regions: 2,
        };
        let op = self.builder().insert(&control::WHILE, init);
        let (before, args) = self.block_with(op, 0, &types);
        self.inside(before, |maker| {
            let zero = maker.constant(i32, 0);
            let predicate = Attr::Enum { row: &compare::CMPI_PREDICATE, value: 4 };
            let more = maker.build(&compare::CMPI, &[args[0], zero], &[Some(predicate)]);
            let mut passed = vec![more];
            passed.extend(&args);
            maker.terminate(&control::CONDITION, &passed);
        });
        let (after, args) = self.block_with(op, 1, &types);
        self.inside(after, |maker| {
            args.iter().for_each(|&arg| maker.learn(arg));
            maker.random_steps();
            let one = maker.constant(i32, 1);
            let less = maker.build(&arith_int::SUBI, &[args[0], one], &[]);
            let mut yielded = vec![less];
            yielded.extend(types[1..].iter().map(|&ty| maker.operand(ty)));
            maker.terminate(&control::YIELD, &yielded);
        });
        self.learn_results(op);
    }
}
