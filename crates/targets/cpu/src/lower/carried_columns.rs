//! Blocks that a loop carries and combines with what lies along another dimension than their last.
//!
//! Input:  a loop that adds `%x`, loaded by neighbours along dimension 0, to a carried block
//! Output: the same with that block in memory column by column
//!
//! In rows, each element of a chunk along dimension 0 would be read and written by itself.

use super::strides;
use super::types;
use ir::{Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::reduce;

/// Operations that are looked at for what a block is combined with, at most.
const MOST: usize = 64;

/// The dimension along which a block that a loop carries is to lie in memory, if that is not the last one.
pub(crate) fn along(module: &Module, of: ForOp<'_>, index: usize) -> Option<usize> {
    let (carried, yielded, result) = (of.carried()[index], of.yielded()[index], module.result(of.op, index));
    let rank = types::shape(module.ty(carried)).len();
    let is_used_in_place = |value: Value, is_inside: bool| {
        module.uses(value).iter().all(|&(user, _)| {
            let row = module.row(user);
            let is_behind = reduce::is_reduction(row) || AccessOp::store(module, user).is_some();
            row.traits.has(Traits::ELEMENTWISE) || (!is_inside && is_behind)
        })
    };
    if rank < 2 || !is_used_in_place(carried, true) || !is_used_in_place(result, false) {
        return None;
    }
    let pointers: Vec<Value> = loads_of(module, of, yielded)?;
    strides::contiguous_dim(module, &pointers, rank).filter(|&dim| dim + 1 < rank)
}

/// The addresses of the loads that a value is made of in the body of a loop, element by element.
fn loads_of(module: &Module, of: ForOp<'_>, yielded: Value) -> Option<Vec<Value>> {
    let is_inside = |op: Op| module.block_of(op) == Some(of.body());
    let mut open: Vec<Op> = module.def_op(yielded).filter(|&op| is_inside(op)).into_iter().collect();
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    while let Some(op) = open.pop() {
        if !seen.insert(op) {
            continue;
        }
        if seen.len() > MOST {
            return None;
        }
        if let Some(load) = AccessOp::load(module, op) {
            found.push(load.ptr());
        } else if module.has(op, Traits::ELEMENTWISE) {
            let makers = module.operands(op).iter().filter_map(|&operand| module.def_op(operand));
            open.extend(makers.filter(|&maker| is_inside(maker)));
        }
    }
    Some(found)
}
