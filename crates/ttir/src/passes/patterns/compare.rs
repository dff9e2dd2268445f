//! Comparisons whose outcome the bounds of their operands decide.

use super::replace;
use crate::interval::Interval;
use crate::ops::compare::CmpIOp;
use crate::ops::constant;
use ir::{Builder, Module, Op};

/// `arith.cmpi slt, %i, 1024  =>  true` where `%i` is less in all its elements.
pub(crate) fn known_comparison(module: &mut Module, op: Op) -> bool {
    let of = CmpIOp::new(module, op);
    let bounds = [of.lhs(), of.rhs()].map(|value| Interval::of(module, value));
    let [Some(one), Some(two)] = bounds else { return false };
    let Some(holds) = one.compare(of.predicate(), two) else { return false };
    let ty = module.ty(of.result());
    let value = constant::build(&mut Builder::before(module, op), ty, u64::from(holds));
    replace(module, op, value)
}
