//! Comparisons whose outcome the bounds of their operands decide, or that fewer bits do as well.

use super::replace;
use crate::interval::Interval;
use crate::ops::arith_cast::{EXTSI, TRUNCI};
use crate::ops::compare::{CMPI, CmpIOp};
use crate::ops::constant;
use crate::ops::forms::UnaryOp;
use crate::ops::shape::SPLAT;
use crate::types::{elem, is_tensor, with_elem};
use ir::{Builder, Module, Op, OpRow, Type, Value};

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

/// Bits of the numbers that are narrowed, and of those that they become.
const WIDE: u32 = 64;
const NARROW: u32 = 32;

/// `arith.cmpi slt, %i, %j : i64  =>  arith.cmpi slt, (arith.trunci %i), (arith.trunci %j) : i32` where both are
/// blocks of numbers of 32 bits: machines of 32 bits take two instructions for each comparison of 64.
pub(crate) fn narrow_comparison(module: &mut Module, op: Op) -> bool {
    let of = CmpIOp::new(module, op);
    let (sides, predicate) = ([of.lhs(), of.rhs()], of.predicate());
    let ty = module.ty(sides[0]);
    if !is_tensor(ty) || elem(ty).as_int() != Some(WIDE) {
        return false;
    }
    let is_short = |value| {
        Interval::of(module, value)
            .is_some_and(|bounds| bounds.low >= i64::from(i32::MIN) && bounds.high <= i64::from(i32::MAX))
    };
    if !sides.into_iter().all(is_short) {
        return false;
    }
    let mut builder = Builder::before(module, op);
    let short = sides.map(|value| narrowed(&mut builder, value));
    let result = builder.build(&CMPI, &short, &CmpIOp::attrs(predicate));
    replace(module, op, result)
}

/// The low bits of a value, from where it was widened or repeated: what looks for the ends of masks finds them.
fn narrowed(builder: &mut Builder<'_>, value: Value) -> Value {
    let ty = with_elem(builder.module.ty(value), Type::int(NARROW));
    let op = builder.module.def_op(value);
    let is = |row: &'static OpRow| op.filter(|&op| builder.module.is(op, row));
    if let Some(op) = is(&EXTSI) {
        let source = UnaryOp::new(builder.module, op).src();
        let is_same = builder.module.ty(source) == ty;
        return if is_same { source } else { builder.build_as(&TRUNCI, &[value], &[], ty) };
    }
    if let Some(op) = is(&SPLAT) {
        let source = UnaryOp::new(builder.module, op).src();
        let source = narrowed(builder, source);
        return builder.build_as(&SPLAT, &[source], &[], ty);
    }
    builder.build_as(&TRUNCI, &[value], &[], ty)
}
