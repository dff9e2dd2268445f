//! Addresses and offsets that each iteration of a loop moves by one amount.
//!
//! ```text
//! %q = tt.addptr %p, %stride             in each of `copies` iterations, if there are several: else once
//! scf.yield %q                    =>     %by = arith.select %several, copies * %stride, %stride
//!                                        %q = tt.addptr %p, %by
//! ```

use super::copies::integer;
use ir::{Builder, Module, Op, OpRow, Traits, Type, Value, scalar};
use ttir::ops::arith_cast::EXTSI;
use ttir::ops::arith_int::MULI;
use ttir::ops::compare::SELECT;
use ttir::ops::constant::splat_bits;
use ttir::ops::control::ForOp;
use ttir::ops::memory::ADDPTR;
use ttir::ops::shape::{SPLAT, SplatOp};
use ttir::types::{elem, is_tensor, with_elem};

/// How a carried value moves in an iteration of an unrolled loop.
pub(super) struct Motion {
    row: &'static OpRow,
    /// The amount for a whole iteration, a scalar.
    by: Value,
    /// The type of the amount that is added.
    ty: Type,
}

impl Motion {
    /// How a loop moves the carried value of a number, if by one amount, and if nothing behind the loop asks where it
    /// ended.
    pub(super) fn of(
        builder: &mut Builder<'_>,
        op: Op,
        number: usize,
        several: Value,
        copies: u64,
    ) -> Option<Motion> {
        let (row, amount) = added(builder.module, op, number)?;
        let (ty, once) = (builder.module.ty(amount), one_amount(builder, op, amount)?);
        // Offsets of addresses are widened before they are added, so their multiples must not wrap.
        let widen = row.is(&ADDPTR) && builder.module.ty(once).as_int() != Some(64);
        let once = if widen { builder.build_as(&EXTSI, &[once], &[], Type::int(64)) } else { once };
        let element = builder.module.ty(once);
        let times = integer(builder, element, copies as i64);
        let all = builder.build(&MULI, &[once, times], &[]);
        let by = builder.build(&SELECT, &[several, all, once], &[]);
        Some(Motion { row, by, ty: if is_tensor(ty) { with_elem(ty, element) } else { element } })
    }

    /// The value behind an iteration.
    pub(super) fn on(&self, builder: &mut Builder<'_>, from: Value) -> Value {
        let by =
            if is_tensor(self.ty) { builder.build_as(&SPLAT, &[self.by], &[], self.ty) } else { self.by };
        let ty = builder.module.ty(from);
        builder.build_as(self.row, &[from, by], &[], ty)
    }
}

/// The operation that moves a carried value, and what it adds.
fn added(module: &Module, op: Op, number: usize) -> Option<(&'static OpRow, Value)> {
    let of = ForOp::new(module, op);
    let (arg, next) = (*of.carried().get(number)?, *of.yielded().get(number)?);
    let def = module.def_op(next)?;
    let row = module.has(def, Traits::ADDS).then(|| module.row(def))?;
    let amount = match module.operands(def) {
        [from, by] if *from == arg && *by != arg => *by,
        [by, from] if *from == arg && *by != arg && row.traits.has(Traits::COMMUTATIVE) => *by,
        _ => return None,
    };
    module.is_unused(module.result(op, number)).then_some((row, amount))
}

/// The scalar that every element of an amount is, if it is known before the loop.
fn one_amount(builder: &mut Builder<'_>, op: Op, amount: Value) -> Option<Value> {
    let ty = elem(builder.module.ty(amount));
    if let Some(bits) = builder.module.constant(amount).and_then(splat_bits) {
        return Some(integer(builder, ty, scalar::sign_extend(ty.as_int()?, bits)));
    }
    let single = match SplatOp::def(builder.module, amount) {
        Some(splat) => splat.src(),
        None if is_tensor(builder.module.ty(amount)) => return None,
        None => amount,
    };
    let inside = builder.module.def_op(single).is_some_and(|def| builder.module.is_inside(def, op));
    let is_arg = builder.module.args(ForOp::new(builder.module, op).body()).contains(&single);
    (!inside && !is_arg && ty.as_int().is_some()).then_some(single)
}
