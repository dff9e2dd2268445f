//! Changes of shape, products of matrices.

use super::Maker;
use crate::ops::compare::{self, CmpIOp, CmpIPredicate};
use crate::ops::{arith_float, arith_int, constant, dot, shape as ops};
use crate::types::{elem, is_tensor, numel, pointee, shape, tensor};
use ir::{Attr, FloatKind, Type, Value};

impl Maker {
    pub(super) fn random_shape_change(&mut self) {
        match self.random.below(8) {
            0 => self.splat(),
            1 => self.trans(),
            2 => self.reshape(),
            3 => self.widen(),
            4 => self.join_and_split(),
            5 => self.gather(),
            6 => self.resize(),
            _ if self.random.one_in(2) => self.dot(),
            _ => self.cat(),
        }
    }

    fn block(&mut self) -> Option<Value> {
        self.pick(|ty| is_tensor(ty) && pointee(ty).is_none())
    }

    fn splat(&mut self) {
        let Some(scalar) = self.pick(|ty| !is_tensor(ty) && pointee(ty).is_none()) else { return };
        let dims = self.random.of(&[0, 1]);
        let ty = tensor(&self.shapes[dims].clone(), self.ty(scalar));
        let value = self.build_as(&ops::SPLAT, &[scalar], &[], ty);
        self.learn(value);
    }

    fn trans(&mut self) {
        let Some(block) = self.pick(|ty| shape(ty).len() >= 2) else { return };
        let rank = shape(self.ty(block)).len();
        let mut values: Vec<i64> = (0..rank as i64).rev().collect();
        if rank > 2 {
            let (left, right) = (self.random.below(rank as u64), self.random.below(rank as u64));
            values.swap(left as usize, right as usize);
        }
        let order = Attr::DenseArray { elem: Type::int(32), values: values.into() };
        let value = self.build(&ops::TRANS, &[block], &[Some(order)]);
        self.learn(value);
    }

    fn reshape(&mut self) {
        let Some(block) = self.block() else { return };
        let count = numel(self.ty(block));
        let divisors: Vec<i64> = (1..=count).filter(|rows| count % rows == 0).collect();
        let rows = self.random.of(&divisors);
        let inner: Vec<i64> = (1..=count / rows).filter(|columns| count / rows % columns == 0).collect();
        let columns = self.random.of(&inner);
        let dims = match self.random.below(4) {
            0 | 1 => vec![count],
            2 => vec![rows, count / rows],
            _ => vec![rows, count / rows / columns, columns],
        };
        let ty = tensor(&dims, elem(self.ty(block)));
        let value = self.build_as(&ops::RESHAPE, &[block], &[], ty);
        self.learn(value);
    }

    /// A row or column repeated to the matrix shape of the program.
    fn widen(&mut self) {
        let matrix = self.shapes[1].clone();
        let axis = self.random.below(2) as usize;
        let length = matrix[1 - axis];
        let Some(line) = self.pick(|ty| shape(ty) == [length] && pointee(ty).is_none()) else { return };
        let expanded = self.build(&ops::EXPAND_DIMS, &[line], &[Some(Attr::i32(axis as i32))]);
        let ty = tensor(&matrix, elem(self.ty(line)));
        let value = self.build_as(&ops::BROADCAST, &[expanded], &[], ty);
        self.learn(value);
    }

    fn join_and_split(&mut self) {
        if self.random.one_in(2) {
            let Some(block) = self.pick(|ty| shape(ty).len() >= 2 && shape(ty).last() == Some(&2)) else {
                return;
            };
            let op = self.builder().try_build(&ops::SPLIT, &[block], &[]);
            if let Ok(op) = op {
                let (first, second) = (self.module.result(op, 0), self.module.result(op, 1));
                self.learn(first);
                self.learn(second);
            }
            return;
        }
        let Some(left) =
            self.pick(|ty| (1..3).contains(&shape(ty).len()) && numel(ty) <= 256 && pointee(ty).is_none())
        else {
            return;
        };
        let right = self.operand(self.ty(left));
        let value = self.build(&ops::JOIN, &[left, right], &[]);
        self.learn(value);
    }

    fn cat(&mut self) {
        let Some(left) = self.pick(|ty| shape(ty).len() == 1 && shape(ty)[0] <= 64 && pointee(ty).is_none())
        else {
            return;
        };
        let right = self.operand(self.ty(left));
        let value = self.build(&ops::CAT, &[left, right], &[]);
        self.learn(value);
    }

    /// Parts of a block, and a line that is extended by zeros.
    fn resize(&mut self) {
        let Some(block) = self.block() else { return };
        let ty = self.ty(block);
        let dims = shape(ty);
        if !self.any_size() {
            return;
        }
        if dims.len() > 1 || self.random.one_in(2) {
            let dims: Vec<i64> = dims.iter().map(|&size| 1 + self.random.below(size as u64) as i64).collect();
            let value = self.build_as(&ops::RESIZE, &[block], &[], tensor(&dims, elem(ty)));
            return self.learn(value);
        }
        let size = dims[0] + self.random.below(70) as i64;
        let wide = tensor(&[size], elem(ty));
        let value = self.build_as(&ops::RESIZE, &[block], &[], wide);
        let bounds = [size as i32, 0].map(|bound| Some(Attr::i32(bound)));
        let range = self.build(&ops::MAKE_RANGE, &[], &bounds);
        let limit = self.constant(self.ty(range), dims[0]);
        let is_own = self.build(&compare::CMPI, &[range, limit], &CmpIOp::attrs(CmpIPredicate::Slt));
        let zero = constant::build(&mut self.builder(), wide, 0);
        let value = self.build(&compare::SELECT, &[is_own, value, zero], &[]);
        self.learn(value);
    }

    /// Whether the program has blocks whose sizes are no powers of two.
    fn any_size(&self) -> bool {
        self.shapes.iter().flatten().any(|size| size.count_ones() != 1)
    }

    /// Indices are cut to the size of the axis.
    fn gather(&mut self) {
        let Some(block) = self.block() else { return };
        let dims = shape(self.ty(block));
        let axis = self.random.below(dims.len() as u64) as usize;
        let indices = self.operand(tensor(dims, Type::int(32)));
        let ty = self.ty(indices);
        let inside = if dims[axis].count_ones() == 1 {
            let mask = self.constant(ty, dims[axis] - 1);
            self.build(&arith_int::ANDI, &[indices, mask], &[])
        } else {
            let size = self.constant(ty, dims[axis]);
            self.build(&arith_int::REMUI, &[indices, size], &[])
        };
        let value = self.build(&ops::GATHER, &[block, inside], &[Some(Attr::i32(axis as i32)), None]);
        self.learn(value);
    }

    /// A product of a matrix with its transpose, in which every element is a sum along the rows.
    fn dot(&mut self) {
        let fits = |ty: Type| {
            let small = shape(ty).len() >= 2 && numel(ty) <= 1024 && super::is_computed(elem(ty));
            small && shape(ty).len() <= 3 && (elem(ty).as_float().is_some() || elem(ty).as_int() == Some(8))
        };
        let Some(mut a) = self.pick(fits) else { return };
        let ty = self.ty(a);
        if elem(ty).as_float().is_some() {
            a = self.small_integers(a);
        }
        let rank = shape(ty).len();
        let rows = shape(ty)[rank - 2];
        let mut values: Vec<i64> = (0..rank as i64).collect();
        values.swap(rank - 2, rank - 1);
        let order = Attr::DenseArray { elem: Type::int(32), values: values.into() };
        let b = self.build(&ops::TRANS, &[a], &[Some(order)]);
        let accumulator = match elem(ty).as_float() {
            Some(FloatKind::F64) => Type::float(FloatKind::F64),
            Some(_) => Type::float(FloatKind::F32),
            None => Type::int(32),
        };
        let mut dims = shape(ty).to_vec();
        dims[rank - 1] = rows;
        let ty = tensor(&dims, accumulator);
        let zero = self.constant(ty, 0);
        if accumulator.as_float().is_none() {
            let value = self.build(&dot::DOT, &[a, b, zero], &[]);
            self.learn(value);
            return;
        }
        // A product that is added to something starts from it, so that is an integer as well.
        let start = match self.pick_of(ty) {
            Some(block) => self.small_integers(block),
            None => constant::float(&mut self.builder(), ty, 1.0),
        };
        let value = if self.random.one_in(2) {
            let product = self.build(&dot::DOT, &[a, b, zero], &[]);
            self.build(&arith_float::ADDF, &[start, product], &[])
        } else {
            self.build(&dot::DOT, &[a, b, start], &[])
        };
        self.learn(value);
    }
}
