//! Selections whose condition is one for all elements.

use crate::ops::compare::SelectOp;
use crate::ops::shape::SplatOp;
use ir::{Module, Op};

/// `arith.select (tt.splat %c), %x, %y  =>  arith.select %c, %x, %y` with a scalar condition.
pub(crate) fn select_by_scalar(module: &mut Module, op: Op) -> bool {
    let select = SelectOp::new(module, op);
    let Some(splat) = SplatOp::def(module, select.condition()) else { return false };
    let operands = [splat.src(), select.true_value(), select.false_value()];
    module.set_operands(op, &operands);
    true
}
