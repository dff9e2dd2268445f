//! What combining functions of reductions and scans are, as far as their operations tell.

use super::types;
use ir::{Block, Module, Op, OpRow, Traits};
use ttir::ops::reduce::{CombineOp, ScanOp};
use ttir::ops::{arith_int, compare, constant, reduce};

/// Operations of combining functions that pick one of their arguments, in any order the same.
const SYMMETRIC: [&OpRow; 8] = [
    &compare::CMPI,
    &compare::CMPF,
    &compare::SELECT,
    &arith_int::ANDI,
    &arith_int::ORI,
    &arith_int::XORI,
    &reduce::REDUCE_RETURN,
    &constant::CONSTANT,
];

/// The neutral element of a reduction or scan whose combining function is one operation on its two arguments, as the
/// bits of the element type.
pub(crate) fn neutral(module: &Module, op: Op) -> Option<u64> {
    let combine = CombineOp::new(module, op);
    let block = combine.block();
    let mut inner = module.ops(block);
    let (only, _) = (inner.next()?, inner.next()?);
    if combine.srcs().len() != 1 || inner.next().is_some() {
        return None;
    }
    let mut operands = module.operands(only).to_vec();
    operands.sort();
    let mut args = module.args(block).to_vec();
    args.sort();
    if operands != args {
        return None;
    }
    (module.row(only).neutral?)(ttir::types::elem(module.ty(combine.srcs()[0])))
}

/// Whether a reduction must take its elements one by one: its combining function tells the order of its arguments, or
/// has control flow.
pub(crate) fn is_sequential(module: &Module, op: Op) -> bool {
    let block = CombineOp::new(module, op).block();
    let mut inner = module.ops(block);
    !inner.all(|op| SYMMETRIC.iter().any(|row| module.is(op, row)))
        && (neutral(module, op).is_none() || !has_plain_region(module, op))
}

/// Whether the combining function of a reduction or scan has no control flow, and only its results tell that it ran:
/// it may then run on what no element is.
pub(crate) fn has_plain_region(module: &Module, op: Op) -> bool {
    is_plain(module, CombineOp::new(module, op).block())
}

/// Whether a region that is inlined for each element has no control flow and no effects, such as assertions.
pub(crate) fn is_plain(module: &Module, block: Block) -> bool {
    let quiet = |op: Op| module.has(op, Traits::TERMINATOR) || !module.results(op).is_empty();
    module.ops(block).all(|op| module.regions(op).is_empty() && quiet(op))
}

/// Whether a scan runs in the chunks of a group, from the first element to the last.
pub(crate) fn scans_in_chunks(module: &Module, op: Op) -> bool {
    let Some(scan) = ScanOp::of(module, op) else { return false };
    let ty = module.ty(scan.srcs()[0]);
    ttir::types::is_tensor(ty)
        && types::shape(ty).len() == 1
        && !scan.reverse()
        && has_plain_region(module, op)
}
