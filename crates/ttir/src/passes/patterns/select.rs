//! Selections whose condition is one for all elements.

use super::def_of_kind;
use crate::ops::shape::SPLAT;
use ir::{Module, Op};

/// `arith.select (tt.splat %c), %x, %y  =>  arith.select %c, %x, %y` with a scalar condition.
pub(crate) fn select_by_scalar(module: &mut Module, op: Op) -> bool {
    let Some(splat) = def_of_kind(module, op, 0, &SPLAT) else { return false };
    let condition = module.operand(splat, 0);
    module.set_operand(op, 0, condition);
    true
}
