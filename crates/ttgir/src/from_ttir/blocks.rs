//! Blocks of indices, addresses and masks, built from vectors along one dimension.

use ir::{Attr, Builder, Type, Value};
use ttir::ops::arith_cast::EXTSI;
use ttir::ops::arith_int::{ADDI, ANDI, MULI};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant::{CONSTANT, attr_from_bits};
use ttir::ops::memory::ADDPTR;
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS, MAKE_RANGE, SPLAT};
use ttir::types::{elem, is_tensor, shape, tensor, with_elem};

/// Builds blocks at a place.
pub(super) struct Blocks<'b, 'm> {
    pub(super) builder: &'b mut Builder<'m>,
}

impl Blocks<'_, '_> {
    fn ty(&self, value: Value) -> Type {
        self.builder.module.ty(value)
    }

    /// A constant of a type with elements of these bits.
    pub(super) fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let attr = attr_from_bits(ty, bits);
        self.builder.build_as(&CONSTANT, &[], &[attr], ty)
    }

    /// `start, start + 1, …`, so many.
    pub(super) fn count_from(&mut self, start: Value, count: i64) -> Value {
        let ends = [count, 0].map(|end| Some(Attr::int(end, Type::int(32))));
        let range = self.builder.build(&MAKE_RANGE, &[], &ends);
        let start = self.builder.build_as(&SPLAT, &[start], &[], tensor(&[count], Type::int(32)));
        self.builder.build(&ADDI, &[start, range], &[])
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
        let limit = self.builder.build_as(&SPLAT, &[limit], &[], ty);
        self.builder.build(&CMPI, &[value, limit], &CmpIOp::attrs(CmpIPredicate::Ult))
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
