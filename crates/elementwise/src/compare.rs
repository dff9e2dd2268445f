//! Comparisons and selections.

use crate::small_float::as_wide;
use crate::{Ctx, Elems, Entry, Result};
use llir::{FloatCompare, IntCompare, Type, Value};
use ttir::ops::compare::{CMPF, CMPI, CmpFOp, CmpFPredicate, CmpIOp, CmpIPredicate, SELECT};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&CMPI, compare_int),
    (&CMPF, compare_float),
    (&SELECT, |ctx, _, x| Ok(ctx.b.select(x[0], x[1], x[2]))),
];

/// The predicate of an integer comparison.
pub fn int_predicate(elems: &Elems<'_>) -> IntCompare {
    match CmpIOp::new(elems.module, elems.op).predicate() {
        CmpIPredicate::Eq => IntCompare::Eq,
        CmpIPredicate::Ne => IntCompare::Ne,
        CmpIPredicate::Slt => IntCompare::Slt,
        CmpIPredicate::Sle => IntCompare::Sle,
        CmpIPredicate::Sgt => IntCompare::Sgt,
        CmpIPredicate::Sge => IntCompare::Sge,
        CmpIPredicate::Ult => IntCompare::Ult,
        CmpIPredicate::Ule => IntCompare::Ule,
        CmpIPredicate::Ugt => IntCompare::Ugt,
        CmpIPredicate::Uge => IntCompare::Uge,
    }
}

/// Compares integers of any width. Truth values are widened: as signed ones, true is -1.
fn compare_int(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let compare = int_predicate(elems);
    let least = ctx.target.abilities().widths.compare;
    let bits = ctx.b.ty(x[0]).lane_bits();
    // Truth values are compared as such: one of logic's instructions does it.
    if bits >= least || bits == 1 {
        return Ok(ctx.b.icmp(compare, x[0], x[1]));
    }
    let signed = [IntCompare::Slt, IntCompare::Sle, IntCompare::Sgt, IntCompare::Sge].contains(&compare);
    let wide = ctx.like(x[0], Type::int(least as u16));
    let [x, y] = [x[0], x[1]].map(|value| match signed {
        true => ctx.b.resize_signed(value, wide),
        false => ctx.b.resize_unsigned(value, wide),
    });
    Ok(ctx.b.icmp(compare, x, y))
}

fn compare_float(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let compare = match CmpFOp::new(elems.module, elems.op).predicate() {
        always @ (CmpFPredicate::False | CmpFPredicate::True) => {
            let mask = ctx.b.ty(x[0]).as_mask();
            return Ok(ctx.b.int(mask, -i64::from(always == CmpFPredicate::True)));
        }
        CmpFPredicate::Oeq => FloatCompare::Oeq,
        CmpFPredicate::Ogt => FloatCompare::Ogt,
        CmpFPredicate::Oge => FloatCompare::Oge,
        CmpFPredicate::Olt => FloatCompare::Olt,
        CmpFPredicate::Ole => FloatCompare::Ole,
        CmpFPredicate::One => FloatCompare::One,
        CmpFPredicate::Ord => FloatCompare::Ord,
        CmpFPredicate::Ueq => FloatCompare::Ueq,
        CmpFPredicate::Ugt => FloatCompare::Ugt,
        CmpFPredicate::Uge => FloatCompare::Uge,
        CmpFPredicate::Ult => FloatCompare::Ult,
        CmpFPredicate::Ule => FloatCompare::Ule,
        CmpFPredicate::Une => FloatCompare::Une,
        CmpFPredicate::Uno => FloatCompare::Uno,
    };
    let [left, right] = [0, 1].map(|index| as_wide(ctx, elems.operands[index], x[index]));
    Ok(ctx.b.fcmp(compare, left, right))
}
