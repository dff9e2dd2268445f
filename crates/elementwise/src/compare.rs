//! Comparisons and selections.

use crate::small_float::as_wide;
use crate::{Ctx, Elems, Entry, Error, Result};
use llir::{FloatCompare, IntCompare, Type, Value};
use ttir::ops::compare::{CMPF, CMPF_PREDICATE, CMPI, CMPI_PREDICATE, SELECT};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&CMPI, compare_int),
    (&CMPF, compare_float),
    (&SELECT, |ctx, _, x| Ok(ctx.b.select(x[0], x[1], x[2]))),
];

/// By the numbers of [`CMPI_PREDICATE`].
const INT: [IntCompare; 10] = [
    IntCompare::Eq,
    IntCompare::Ne,
    IntCompare::Slt,
    IntCompare::Sle,
    IntCompare::Sgt,
    IntCompare::Sge,
    IntCompare::Ult,
    IntCompare::Ule,
    IntCompare::Ugt,
    IntCompare::Uge,
];

/// By the numbers of [`CMPF_PREDICATE`], without the first and the last, which hold never and always.
const FLOAT: [FloatCompare; 14] = [
    FloatCompare::Oeq,
    FloatCompare::Ogt,
    FloatCompare::Oge,
    FloatCompare::Olt,
    FloatCompare::Ole,
    FloatCompare::One,
    FloatCompare::Ord,
    FloatCompare::Ueq,
    FloatCompare::Ugt,
    FloatCompare::Uge,
    FloatCompare::Ult,
    FloatCompare::Ule,
    FloatCompare::Une,
    FloatCompare::Uno,
];

fn none() -> Error {
    Error("the comparison has no predicate".into())
}

/// The predicate of an integer comparison.
///
/// # Errors
/// When there is none, which verified code has.
pub fn int_predicate(elems: &Elems<'_>) -> Result<IntCompare> {
    let number = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&CMPI_PREDICATE));
    number.and_then(|number| INT.get(number as usize)).copied().ok_or_else(none)
}

/// Compares integers of any width. Truth values are widened: as signed ones, true is -1.
fn compare_int(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let compare = int_predicate(elems)?;
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
    let number = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&CMPF_PREDICATE)).ok_or_else(none)?;
    let Some(compare) = (number as usize).checked_sub(1).and_then(|index| FLOAT.get(index)) else {
        let mask = ctx.b.ty(x[0]).as_mask();
        return Ok(ctx.b.int(mask, -i64::from(number != 0)));
    };
    let [left, right] = [0, 1].map(|index| as_wide(ctx, elems.operands[index], x[index]));
    Ok(ctx.b.fcmp(*compare, left, right))
}
