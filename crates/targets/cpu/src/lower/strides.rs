//! How values grow along the dimensions of a block, as far as constants tell.

use super::types;
use ir::{Def, Module, Traits, Value};
use ttir::ops::constant::{self, ConstantOp};
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::shape::ExpandDimsOp;
use ttir::ops::{arith_int, shape};

/// How deep index expressions are looked into.
pub(crate) const DEPTH: u32 = 24;

/// The dimension along which most of these addresses are neighbours.
pub(crate) fn contiguous_dim(module: &Module, pointers: &[Value], rank: usize) -> Option<usize> {
    if rank < 2 {
        return None;
    }
    let mut votes = vec![0; rank];
    for &pointer in pointers {
        let sizes = types::shape(module.ty(pointer));
        for (dim, vote) in votes.iter_mut().enumerate() {
            let is_long = sizes.get(dim).is_some_and(|&size| size > 1);
            if is_long && stride(module, pointer, dim, DEPTH) == Some(1) {
                *vote += 1;
            }
        }
    }
    let best = (0..rank).max_by_key(|&dim| (votes[dim], dim))?;
    (votes[best] > 0).then_some(best)
}

/// Whether addresses are neighbours along the last dimension.
pub(crate) fn is_contiguous(module: &Module, pointer: Value) -> bool {
    let rank = types::shape(module.ty(pointer)).len();
    rank > 0 && stride(module, pointer, rank - 1, DEPTH) == Some(1)
}

/// How much a value grows from one element to the next along a dimension, where that is a known constant.
pub(crate) fn stride(module: &Module, value: Value, dim: usize, depth: u32) -> Option<i64> {
    let sizes = types::shape(module.ty(value));
    if sizes.is_empty() || *sizes.get(dim)? == 1 {
        return Some(0);
    }
    let Def::Result(op, _) = module.def(value) else { return None };
    let depth = depth.checked_sub(1)?;
    let row = module.row(op);
    let operands = module.operands(op);
    let stride_of = |value: Value| stride(module, value, dim, depth);
    let two = || BinaryOp::new(module, op);
    let both = || Some((stride_of(two().lhs())?, stride_of(two().rhs())?));
    if row.is(&shape::SPLAT) {
        Some(0)
    } else if row.is(&shape::MAKE_RANGE) {
        Some(1)
    } else if row.is(&constant::CONSTANT) {
        constant::splat_bits(ConstantOp::new(module, op).value()).map(|_| 0)
    } else if row.is(&shape::BROADCAST) || row.traits.has(Traits::WIDENS) {
        stride_of(UnaryOp::new(module, op).src())
    } else if let Some(expand) = ExpandDimsOp::of(module, op) {
        stride(module, expand.src(), if dim > expand.axis() { dim - 1 } else { dim }, depth)
    } else if row.traits.has(Traits::ADDS) {
        both().map(|(left, right)| left + right)
    } else if row.is(&arith_int::SUBI) {
        both().map(|(left, right)| left - right)
    } else if row.is(&arith_int::MULI) {
        match both()? {
            (0, 0) => Some(0),
            (step, 0) => Some(step * arith_int::int_value(module, two().rhs())?),
            (0, step) => Some(step * arith_int::int_value(module, two().lhs())?),
            _ => None,
        }
    } else if row.is(&arith_int::REMSI) || row.is(&arith_int::REMUI) {
        // Wrapped indices are neighbours nearly everywhere.
        (stride_of(two().rhs())? == 0).then(|| stride_of(two().lhs())).flatten()
    } else {
        let all: Option<Vec<i64>> = operands.iter().map(|&operand| stride_of(operand)).collect();
        all.filter(|all| !all.is_empty() && all.iter().all(|&step| step == 0)).map(|_| 0)
    }
}
