//! Comparisons and selections.

use super::{ElementEntry, Elems};
use crate::cx::Cx;
use crate::error::Result;
use crate::ops::small_float::as_wide;
use llir::{FloatCompare, IntCompare, Type, Value};
use ttir::ops::compare::{CMPF, CMPF_PREDICATE, CMPI, CMPI_PREDICATE, SELECT};

/// Rows of this file.
pub(crate) const TABLE: &[ElementEntry] =
    &[(&CMPI, compare_int), (&CMPF, compare_float), (&SELECT, |cx, _, x| Ok(cx.b.select(x[0], x[1], x[2])))];

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

fn compare_int(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let predicate = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&CMPI_PREDICATE)).unwrap_or(0);
    let compare = INT.get(predicate as usize).copied().unwrap_or(IntCompare::Eq);
    Ok(int(cx, compare, x[0], x[1]))
}

/// Compares integers of any width. Truth values are widened: as signed ones, true is -1.
fn int(cx: &mut Cx<'_>, compare: IntCompare, x: Value, y: Value) -> Value {
    if cx.b.ty(x).lane_bits() > 8 {
        return cx.b.icmp(compare, x, y);
    }
    let signed = [IntCompare::Slt, IntCompare::Sle, IntCompare::Sgt, IntCompare::Sge].contains(&compare);
    let [x, y] = [x, y].map(|value| match signed {
        true => cx.b.resize_signed(value, Type::I16),
        false => cx.b.resize_unsigned(value, Type::I16),
    });
    cx.b.icmp(compare, x, y)
}

fn compare_float(cx: &mut Cx<'_>, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
    let predicate = elems.attrs[0].as_ref().and_then(|attr| attr.as_enum(&CMPF_PREDICATE)).unwrap_or(0);
    let Some(compare) = (predicate as usize).checked_sub(1).and_then(|index| FLOAT.get(index)) else {
        return Ok(cx.b.bool(predicate != 0));
    };
    let [left, right] = [0, 1].map(|index| as_wide(cx, elems.operands[index], x[index]));
    Ok(cx.b.fcmp(*compare, left, right))
}
