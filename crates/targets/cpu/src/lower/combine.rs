//! What combining functions of reductions and scans are, as far as their operations tell.

use super::types;
use ir::{Module, Op, Traits};
use ttir::ops::reduce::{CombineOp, ScanOp, is_plain};

/// What combining functions that pick one of their arguments, in any order the same, are made of.
const SYMMETRIC: Traits = Traits::LOGIC.and(Traits::CONSTANT).and(Traits::TERMINATOR);

/// Whether a reduction must take its elements one by one: its combining function has control flow, or effects.
pub(crate) fn is_sequential(module: &Module, op: Op) -> bool {
    !is_symmetric(module, op) && !has_plain_region(module, op)
}

/// Whether a reduction combines neighbours alone, the earlier one first: its combining function may tell the order of
/// its arguments.
pub(crate) fn keeps_order(module: &Module, op: Op) -> bool {
    !is_symmetric(module, op) && CombineOp::new(module, op).neutral().is_none()
}

/// Whether a combining function picks one of its arguments, in any order the same.
fn is_symmetric(module: &Module, op: Op) -> bool {
    module.ops(CombineOp::new(module, op).block()).all(|op| module.row(op).traits.has_any(SYMMETRIC))
}

/// Whether the combining function of a reduction or scan has no control flow, and only its results tell that it ran:
/// it may then run on what no element is.
pub(crate) fn has_plain_region(module: &Module, op: Op) -> bool {
    is_plain(module, CombineOp::new(module, op).block())
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
