//! Masks that are true up to one place: those of the last block of a vector, or of the last columns of a matrix.

use super::AxisTable;
use crate::ops::arith_int;
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::shape::{BROADCAST, EXPAND_DIMS, ExpandDimsOp, TRANS, TransOp};
use crate::types::shape;
use ir::{Module, Op, Traits, Value};

/// How many operations of a mask are looked through, one behind the other.
const DEPTH: u32 = 16;

impl AxisTable {
    /// The size of aligned groups along a dimension of a mask in which no true element follows a false one: if the last
    /// of a group is true, all are.
    pub fn prefix_run(&self, module: &Module, mask: Value, dim: usize) -> u64 {
        self.prefix(module, mask, dim, DEPTH)
    }

    fn prefix(&self, module: &Module, mask: Value, dim: usize, depth: u32) -> u64 {
        let equal = self.info(module, mask).sure_constancy(dim);
        let Some(op) = module.def_op(mask).filter(|_| depth > 0) else { return equal };
        equal.max(self.prefix_of(module, op, dim, depth - 1).unwrap_or(1))
    }

    fn prefix_of(&self, module: &Module, op: Op, dim: usize, depth: u32) -> Option<u64> {
        let of = |value: Value, dim: usize| self.prefix(module, value, dim, depth);
        if module.is(op, &CMPI) {
            return self.counted_up_to(module, op, dim);
        }
        if module.is(op, &arith_int::ANDI) || module.is(op, &arith_int::ORI) {
            let both = BinaryOp::new(module, op);
            return Some(of(both.lhs(), dim).min(of(both.rhs(), dim)));
        }
        if module.row(op).traits.has(Traits::RELAYOUT) {
            return Some(of(UnaryOp::new(module, op).src(), dim));
        }
        if module.is(op, &TRANS) {
            let trans = TransOp::new(module, op);
            return Some(of(trans.src(), trans.order()[dim] as usize));
        }
        if module.is(op, &EXPAND_DIMS) {
            let expand = ExpandDimsOp::new(module, op);
            let axis = expand.axis();
            return (dim != axis).then(|| of(expand.src(), dim - usize::from(dim > axis)));
        }
        if module.is(op, &BROADCAST) {
            let src = UnaryOp::new(module, op).src();
            let is_spread = shape(module.ty(src))[dim] != shape(module.ty(module.result(op, 0)))[dim];
            return (!is_spread).then(|| of(src, dim));
        }
        None
    }

    /// `x < c`, where `x` counts up by one and `c` stays as it is.
    fn counted_up_to(&self, module: &Module, op: Op, dim: usize) -> Option<u64> {
        use CmpIPredicate::{Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let compare = CmpIOp::new(module, op);
        let (counted, limit, is_signed) = match compare.predicate() {
            Slt | Sle => (compare.lhs(), compare.rhs(), true),
            Sgt | Sge => (compare.rhs(), compare.lhs(), true),
            Ult | Ule => (compare.lhs(), compare.rhs(), false),
            Ugt | Uge => (compare.rhs(), compare.lhs(), false),
            _ => return None,
        };
        let (counted, limit) = (self.info(module, counted), self.info(module, limit));
        if counted.assumes_sign.union(limit.assumes_sign).contains(dim) {
            return None;
        }
        let run = counted.contiguity[dim].min(limit.constancy[dim]);
        // Behind the largest unsigned number comes zero: not inside of an aligned group, nor where signs are known.
        let is_monotone = is_signed || counted.non_negative;
        Some(if is_monotone { run } else { run.min(counted.divisibility[dim]) })
    }
}
