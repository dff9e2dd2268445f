//! Which elements are padding, and what those hold.

use super::{Pad, elem_of};
use crate::ops::access::AccessOp;
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use crate::ops::constant::{self, splat_bits};
use crate::ops::forms::UnaryOp;
use crate::ops::forms::eval;
use crate::ops::shape::{BROADCAST, EXPAND_DIMS, MAKE_RANGE};
use crate::types::{padded, tensor};
use ir::scalar::float_bits;
use ir::{Attr, Builder, Op, Traits, Type, Value};
use smallvec::SmallVec;

/// How deep expressions are looked into.
const DEPTH: u32 = 12;

impl Pad<'_> {
    /// Where a padded block of these sizes has elements that it had; `None` where all are.
    pub(super) fn valid(&mut self, before: Op, dims: &[i64]) -> Option<Value> {
        let all: SmallVec<[usize; 4]> = (0..dims.len()).collect();
        self.valid_along(before, dims, &all)
    }

    /// The same, where only some dimensions matter.
    pub(super) fn valid_along(&mut self, before: Op, dims: &[i64], axes: &[usize]) -> Option<Value> {
        let mut b = Builder::before(self.module, before);
        let mut valid: Option<Value> = None;
        for &axis in axes.iter().filter(|&&axis| padded(dims[axis]) != dims[axis]) {
            let one = below_size(&mut b, dims, axis);
            valid = Some(match valid {
                Some(valid) => b.build(&crate::ops::arith_int::ANDI, &[valid, one], &[]),
                None => one,
            });
        }
        valid
    }

    /// A value whose padding elements along an axis hold these bits.
    pub(super) fn with_padding(&mut self, before: Op, value: Value, axis: usize, bits: u64) -> Value {
        if self.holds(value, bits) { value } else { self.filled_along(before, value, axis, bits) }
    }

    /// The same for who sees the sign of a zero.
    pub(super) fn with_signed_padding(&mut self, before: Op, value: Value, axis: usize, bits: u64) -> Value {
        let is_there = self.padding(value, DEPTH) == Some(bits);
        if is_there { value } else { self.filled_along(before, value, axis, bits) }
    }

    fn filled_along(&mut self, before: Op, value: Value, axis: usize, bits: u64) -> Value {
        let dims = self.shape(value);
        let Some(valid) = self.valid_along(before, dims, &[axis]) else { return value };
        self.selected(before, value, valid, bits)
    }

    /// A value where a mask holds, and these bits elsewhere.
    pub(super) fn selected(&mut self, before: Op, value: Value, valid: Value, bits: u64) -> Value {
        let mut b = Builder::before(self.module, before);
        let ty = b.module.ty(value);
        let other = constant::build(&mut b, ty, bits);
        let result = b.build(&SELECT, &[valid, value, other], &[]);
        if let Some(&ty) = self.before.get(&value) {
            self.before.insert(result, ty);
        }
        result
    }

    /// Whether all padding elements of a value are known to hold these bits. The sign of a zero is free, as it is in
    /// sums.
    pub(super) fn holds(&self, value: Value, bits: u64) -> bool {
        let found = self.padding(value, DEPTH);
        let minus_zero = elem_of(self.module, value).as_float().map(|kind| float_bits(kind, -0.0));
        found.is_some() && (found == Some(bits) || found == Some(0) && minus_zero == Some(bits))
    }

    /// What all padding elements of a value hold, if that is known.
    fn padding(&self, value: Value, depth: u32) -> Option<u64> {
        if let Some(&bits) = self.filled.get(&value) {
            return Some(bits);
        }
        if let Some(bits) = self.module.constant(value).and_then(splat_bits) {
            return Some(bits);
        }
        let (op, depth) = (self.module.def_op(value)?, depth.checked_sub(1)?);
        let row = self.module.row(op);
        // Padding elements become padding elements.
        if row.traits.has(Traits::KEEPS_DIMS) {
            return self.padding(UnaryOp::new(self.module, op).src(), depth);
        }
        if let Some(load) = AccessOp::load(self.module, op) {
            return if self.was_odd(value) { self.padding(load.other()?, depth) } else { None };
        }
        let operands = self.module.operands(op);
        let bits: SmallVec<[u64; 3]> =
            operands.iter().map(|&operand| self.padding(operand, depth)).collect::<Option<_>>()?;
        eval(self.module, op, &bits)
    }
}

/// Positions from zero up along a dimension, the other dimensions of size 1.
pub(super) fn positions(b: &mut Builder<'_>, count: i64, axis: usize, rank: usize) -> Value {
    let bounds = [count as i32, 0].map(|bound| Some(Attr::i32(bound)));
    let range = b.build(&MAKE_RANGE, &[], &bounds);
    along(b, range, axis, rank)
}

/// A line along one of several dimensions, the others of size 1.
fn along(b: &mut Builder<'_>, mut line: Value, axis: usize, rank: usize) -> Value {
    for other in (0..rank).filter(|&other| other != axis) {
        line = b.build(&EXPAND_DIMS, &[line], &[Some(Attr::i32(other as i32))]);
    }
    line
}

/// A value repeated along its dimensions of size 1.
pub(super) fn broadcast(b: &mut Builder<'_>, value: Value, dims: &[i64]) -> Value {
    let ty = tensor(dims, elem_of(b.module, value));
    if b.module.ty(value) == ty { value } else { b.build_as(&BROADCAST, &[value], &[], ty) }
}

/// Where the position along a dimension is below its size.
fn below_size(b: &mut Builder<'_>, dims: &[i64], axis: usize) -> Value {
    let count = padded(dims[axis]);
    let range = positions(b, count, 0, 1);
    let size = constant::int(b, tensor(&[count], Type::int(32)), dims[axis]);
    let below = b.build(&CMPI, &[range, size], &CmpIOp::attrs(CmpIPredicate::Slt));
    let below = along(b, below, axis, dims.len());
    let sizes: SmallVec<[i64; 4]> = dims.iter().map(|&dim| padded(dim)).collect();
    broadcast(b, below, &sizes)
}
