//! Comparisons and selection.

use super::{Elems, Entry, small_float};
use crate::lower::cx::Cx;
use crate::lower::error::{LowerError, Result};
use crate::lower::types;
use llir::{FloatCompare, IntCompare, Value};
use ttir::ops::compare;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] =
    &[(&compare::CMPI, compare_ints), (&compare::CMPF, compare_floats), (&compare::SELECT, select)];

/// Predicates of integers by their numbers.
const INTS: [IntCompare; 10] = [
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

/// Predicates of floats by their numbers, without the first and the last, which are constants.
const FLOATS: [FloatCompare; 14] = [
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

/// The predicate of an integer comparison.
pub(crate) fn int_predicate(elems: &Elems<'_>) -> Result<IntCompare> {
    let number = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&compare::CMPI_PREDICATE));
    let found = number.and_then(|number| INTS.get(number as usize));
    found.copied().ok_or_else(|| LowerError::new("the comparison has no predicate"))
}

fn compare_ints(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let predicate = int_predicate(elems)?;
    Ok(cx.b.icmp(predicate, x[0], x[1]))
}

fn compare_floats(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let number = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&compare::CMPF_PREDICATE));
    let number = number.ok_or_else(|| LowerError::new("the comparison has no predicate"))?;
    let mask = cx.b.ty(x[0]).as_mask();
    let Some(predicate) = number.checked_sub(1).and_then(|at| FLOATS.get(at as usize)) else {
        return Ok(cx.b.int(mask, -i64::from(number != 0)));
    };
    let [a, b] = [0, 1].map(|at| match types::small_float(elems.operands[at]) {
        Some(kind) => small_float::widen(cx, kind, x[at]),
        None => x[at],
    });
    Ok(cx.b.fcmp(*predicate, a, b))
}

fn select(cx: &mut Cx<'_>, _: &Elems<'_>, x: &[Value]) -> Result<Value> {
    Ok(cx.b.select(x[0], x[1], x[2]))
}
