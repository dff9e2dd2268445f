//! Blocks of indices, addresses and masks, built from vectors along one dimension.

use crate::ops::arith_cast::{EXTSI, TRUNCI};
use crate::ops::arith_int::{ADDI, ANDI, MULI};
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use crate::ops::constant;
use crate::ops::memory::ADDPTR;
use crate::ops::shape::{BROADCAST, EXPAND_DIMS, MAKE_RANGE, SPLAT};
use crate::types::{elem, is_tensor, shape, tensor, with_elem};
use ir::{Attr, Builder, Type, Value};

/// How the test whether an index lies in a tensor is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// As one comparison, which is less work.
    Unsigned,
    /// As two comparisons of signed numbers, each of which holds for a run of neighbours.
    Runs,
}

/// Builds blocks at a place.
pub(super) struct Blocks<'b, 'm> {
    pub(super) builder: &'b mut Builder<'m>,
    pub(super) form: Inside,
}

impl Blocks<'_, '_> {
    fn ty(&self, value: Value) -> Type {
        self.builder.module.ty(value)
    }

    /// `start, start + 1, …`, so many.
    pub(super) fn count_from(&mut self, start: Value, count: i64) -> Value {
        let ends = [count, 0].map(|end| Some(Attr::int(end, Type::int(32))));
        let range = self.builder.build(&MAKE_RANGE, &[], &ends);
        let start = self.narrow(start);
        let start = self.builder.build_as(&SPLAT, &[start], &[], tensor(&[count], Type::int(32)));
        self.builder.build(&ADDI, &[start, range], &[])
    }

    /// A scalar with 32 bits.
    fn narrow(&mut self, value: Value) -> Value {
        match self.ty(value).as_int() {
            Some(bits) if bits > 32 => self.builder.build_as(&TRUNCI, &[value], &[], Type::int(32)),
            Some(bits) if bits < 32 => self.builder.build_as(&EXTSI, &[value], &[], Type::int(32)),
            _ => value,
        }
    }

    /// Indices of 32 bits.
    pub(super) fn as_index(&mut self, value: Value) -> Value {
        let ty = with_elem(self.ty(value), Type::int(32));
        if ty == self.ty(value) { value } else { self.builder.build_as(&EXTSI, &[value], &[], ty) }
    }

    /// A vector along one dimension of a block.
    pub(super) fn along(&mut self, mut vector: Value, dim: usize, rank: usize) -> Value {
        for axis in 0..rank {
            if axis != dim {
                let attr = Some(Attr::int(axis as i64, Type::int(32)));
                vector = self.builder.build(&EXPAND_DIMS, &[vector], &[attr]);
            }
        }
        vector
    }

    /// The same numbers with 64 bits.
    pub(super) fn widen(&mut self, value: Value) -> Value {
        let ty = with_elem(self.ty(value), Type::int(64));
        self.builder.build_as(&EXTSI, &[value], &[], ty)
    }

    /// Every number times a scalar.
    pub(super) fn scale(&mut self, value: Value, factor: Value) -> Value {
        let ty = self.ty(value);
        let factor = match self.ty(factor) {
            same if same == elem(ty) => factor,
            _ => self.builder.build_as(&EXTSI, &[factor], &[], elem(ty)),
        };
        let factor = self.builder.build_as(&SPLAT, &[factor], &[], ty);
        self.builder.build(&MULI, &[value, factor], &[])
    }

    /// An address plus each offset.
    pub(super) fn offset_scalar(&mut self, base: Value, offset: Value) -> Value {
        let ty = with_elem(self.ty(offset), self.ty(base));
        let base = self.builder.build_as(&SPLAT, &[base], &[], ty);
        self.builder.build(&ADDPTR, &[base, offset], &[])
    }

    /// Addresses plus offsets, each repeated where the other is larger.
    pub(super) fn offset(&mut self, address: Value, offset: Value) -> Value {
        let (address, offset) = self.spread(address, offset);
        self.builder.build(&ADDPTR, &[address, offset], &[])
    }

    /// Whether each number is from 0 up to, without, a scalar.
    pub(super) fn is_below(&mut self, value: Value, limit: Value) -> Value {
        let ty = self.ty(value);
        let limit = self.narrow(limit);
        let limit = self.builder.build_as(&SPLAT, &[limit], &[], ty);
        let mut compare =
            |limit, predicate| self.builder.build(&CMPI, &[value, limit], &CmpIOp::attrs(predicate));
        if self.form == Inside::Unsigned {
            return compare(limit, CmpIPredicate::Ult);
        }
        let below = compare(limit, CmpIPredicate::Slt);
        let zero = constant::int(self.builder, ty, 0);
        let from = self.builder.build(&CMPI, &[value, zero], &CmpIOp::attrs(CmpIPredicate::Sge));
        self.builder.build(&ANDI, &[from, below], &[])
    }

    /// Both conditions, each repeated where the other is larger.
    pub(super) fn both(&mut self, left: Value, right: Value) -> Value {
        let (left, right) = self.spread(left, right);
        self.builder.build(&ANDI, &[left, right], &[])
    }

    fn spread(&mut self, left: Value, right: Value) -> (Value, Value) {
        let (a, b) = (shape(self.ty(left)), shape(self.ty(right)));
        let dims: Vec<i64> = a.iter().zip(b).map(|(&a, &b)| a.max(b)).collect();
        (self.fill(left, &dims), self.fill(right, &dims))
    }

    /// A block repeated to a shape.
    pub(super) fn fill(&mut self, value: Value, dims: &[i64]) -> Value {
        let ty = self.ty(value);
        debug_assert!(is_tensor(ty));
        if shape(ty) == dims {
            return value;
        }
        self.builder.build_as(&BROADCAST, &[value], &[], tensor(dims, elem(ty)))
    }
}
