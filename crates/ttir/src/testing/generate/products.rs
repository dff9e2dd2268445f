//! Dots in loops, in branches and one after the other, whose operands come partly from outside, as in attention.
//!
//! Factors are small integers, so that every sum is exact in any order. A product is narrowed and multiplied again;
//! sums go through a few regions in turn, of which some do not run.

use super::Maker;
use crate::ops::{arith_cast, arith_int, constant, control, dot, shape as ops};
use crate::types::{elem, is_tensor, numel, pointee, shape, tensor, with_elem};
use ir::{Attr, FloatKind, OpInit, Type, Value};
use smallvec::SmallVec;

/// The formats of factors.
const FACTORS: [FloatKind; 4] = [FloatKind::F16, FloatKind::F16, FloatKind::BF16, FloatKind::F32];

/// The matrices that are multiplied: of one shape and format.
#[derive(Clone, Copy)]
struct Factors {
    query: Value,
    value: Value,
    elem: Type,
}

/// A matrix that is not too large to be multiplied by itself.
fn is_matrix(ty: Type) -> bool {
    let is_number = pointee(ty).is_none() && elem(ty).as_int() != Some(1) && super::is_computed(elem(ty));
    is_tensor(ty) && shape(ty).len() == 2 && numel(ty) <= 1024 && is_number
}

impl Maker {
    /// Adds products to a matrix in one to three regions, one after the other.
    pub(super) fn random_products(&mut self) {
        let Some(source) = self.pick(is_matrix) else { return };
        let dims = shape(self.ty(source));
        let Some(other) = self.pick(|ty| is_matrix(ty) && shape(ty) == dims) else { return };
        let elem = Type::float(self.random.of(&FACTORS));
        let factors = Factors { query: self.factor(source, elem), value: self.factor(other, elem), elem };
        let mut sum = self.no_sum(dims);
        for _ in 0..self.random.below(3) + 1 {
            sum = self.product_region(factors, sum);
        }
        self.learn(sum);
    }

    fn no_sum(&mut self, dims: &[i64]) -> Value {
        let ty = tensor(dims, Type::float(FloatKind::F32));
        constant::build(&mut self.builder(), ty, 0)
    }

    /// Small integers out of any matrix, in the format of a factor.
    fn factor(&mut self, source: Value, to: Type) -> Value {
        let ty = self.ty(source);
        let wanted = with_elem(ty, to);
        if elem(ty).as_int().is_some() {
            let three = self.constant(ty, 3);
            let small = self.build(&arith_int::ANDI, &[source, three], &[]);
            return self.build_as(&arith_cast::UITOFP, &[small], &[], wanted);
        }
        let small = self.small_integers(source);
        let (from, into) = (elem(ty).scalar_bits(), to.scalar_bits());
        if ty == wanted {
            small
        } else if from > into {
            self.build_as(&arith_cast::TRUNCF, &[small], &[], wanted)
        } else {
            // Formats of one width go through binary32.
            let single = with_elem(ty, Type::float(FloatKind::F32));
            let wide = if from == Some(32) {
                small
            } else {
                self.build_as(&arith_cast::EXTF, &[small], &[], single)
            };
            if wanted == single { wide } else { self.build_as(&arith_cast::TRUNCF, &[wide], &[], wanted) }
        }
    }

    fn product_region(&mut self, factors: Factors, sum: Value) -> Value {
        match self.random.below(4) {
            0 | 1 if self.depth < 3 => self.product_loop(factors, sum),
            2 if self.depth < 3 => self.product_branches(factors, sum),
            _ => self.chained(factors, sum),
        }
    }

    /// One or two regions, or other steps among them.
    fn product_regions(&mut self, factors: Factors, mut sum: Value) -> Value {
        for _ in 0..self.random.below(2) + 1 {
            if self.random.one_in(4) {
                self.step();
            }
            sum = self.product_region(factors, sum);
        }
        sum
    }

    /// `sum + narrow(query · keyᵀ) · value`, or a part of it.
    fn chained(&mut self, factors: Factors, sum: Value) -> Value {
        let Factors { query, value, elem } = factors;
        let dims = shape(self.ty(query));
        let key = match self.random.below(3) {
            0 => query,
            1 => value,
            _ => match self.pick(|ty| is_matrix(ty) && shape(ty) == dims) {
                Some(source) => self.factor(source, elem),
                None => value,
            },
        };
        let order = Attr::DenseArray { elem: Type::int(32), values: vec![1, 0].into() };
        let key = self.build(&ops::TRANS, &[key], &[Some(order)]);
        let none = self.no_sum(&[dims[0], dims[0]]);
        let scores = self.build(&dot::DOT, &[query, key, none], &[]);
        let scores = self.factor(scores, elem);
        self.build(&dot::DOT, &[scores, value, sum], &[])
    }

    fn product_loop(&mut self, factors: Factors, sum: Value) -> Value {
        let i32 = Type::int(32);
        let (zero, one) = (self.constant(i32, 0), self.constant(i32, 1));
        let count = self.small_count();
        let ty = self.ty(sum);
        let init = OpInit {
            operands: SmallVec::from_slice(&[zero, count, one, sum]),
            results: SmallVec::from_slice(&[ty]),
            attrs: SmallVec::new(),
            regions: 1,
        };
        let op = self.builder().insert(&control::FOR, init);
        let (block, args) = self.block_with(op, 0, &[i32, ty]);
        self.inside(block, |maker| {
            maker.learn(args[0]);
            let factors = maker.loaded_value(factors);
            let next = maker.product_regions(factors, args[1]);
            maker.terminate(&control::YIELD, &[next]);
        });
        self.module.result(op, 0)
    }

    /// The factors, the last of them loaded in the loop half of the time: many programs may load the same.
    fn loaded_value(&mut self, factors: Factors) -> Factors {
        let dims = shape(self.ty(factors.value));
        if dims != self.shapes[1] || self.random.one_in(2) {
            return factors;
        }
        self.matrix_load();
        match self.known.last().map(|known| known.value).filter(|&value| is_matrix(self.ty(value))) {
            Some(loaded) => Factors { value: self.factor(loaded, factors.elem), ..factors },
            None => factors,
        }
    }

    fn product_branches(&mut self, factors: Factors, sum: Value) -> Value {
        let condition = self.operand(Type::int(1));
        let init = OpInit {
            operands: SmallVec::from_slice(&[condition]),
            results: SmallVec::from_slice(&[self.ty(sum)]),
            attrs: SmallVec::new(),
            regions: 2,
        };
        let op = self.builder().insert(&control::IF, init);
        for side in 0..2 {
            let (block, _) = self.block_with(op, side, &[]);
            self.inside(block, |maker| {
                let next = maker.product_regions(factors, sum);
                maker.terminate(&control::YIELD, &[next]);
            });
        }
        self.module.result(op, 0)
    }
}
