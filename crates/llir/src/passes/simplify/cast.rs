//! Rules for casts.

use super::{Change, Rule, Simplifier, with_operands};
use crate::constant::{mask, signed};
use crate::function::InstData;
use crate::rows::Op;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::TRUNC, constant),
    (Op::ZEXT, constant),
    (Op::SEXT, constant),
    (Op::BITCAST, constant),
    (Op::TRUNC, trunc_of_cast),
    (Op::ZEXT, cast_of_same),
    (Op::SEXT, cast_of_same),
    (Op::SEXT, sext_of_unsigned),
    (Op::BITCAST, bitcast),
    (Op::FREEZE, nothing),
    (Op::PTRTOINT, round_trip),
    (Op::INTTOPTR, round_trip),
];

fn constant(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let from = s.ty(data.operands[0]);
    let bits = s.bits(data.operands[0])?;
    let bits = match data.op {
        Op::TRUNC => mask(bits, data.ty.lane_bits()),
        Op::SEXT => signed(bits, from.lane_bits()) as u128,
        Op::BITCAST if from.lane_bits() != data.ty.lane_bits() || from.lanes() != data.ty.lanes() => {
            return None;
        }
        _ => bits,
    };
    Some(Change::Value(s.constant(data.ty, bits)))
}

/// What was widened and is cut again.
fn trunc_of_cast(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let inner = s.function.defining(data.operands[0])?;
    let (op, x) = (inner.op, *inner.operands.first()?);
    if ![Op::TRUNC, Op::ZEXT, Op::SEXT].contains(&op) {
        return None;
    }
    let (from, to) = (s.ty(x).lane_bits(), data.ty.lane_bits());
    let mut joined = with_operands(data, &[x]);
    if op != Op::TRUNC {
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => return Some(Change::Value(x)),
            std::cmp::Ordering::Less => joined.op = op,
            std::cmp::Ordering::Greater => {}
        }
    }
    Some(Change::Inst(joined))
}

/// `zext (zext x)`, `sext (sext x)`, `sext (zext x)`.
fn cast_of_same(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let inner = s.function.defining(data.operands[0])?;
    let joins = inner.op == data.op || (data.op, inner.op) == (Op::SEXT, Op::ZEXT);
    let (op, x) = (inner.op, *inner.operands.first()?);
    if !joins {
        return None;
    }
    let mut joined = with_operands(data, &[x]);
    joined.op = op;
    Some(Change::Inst(joined))
}

/// A number that is not negative is widened with zeros.
fn sext_of_unsigned(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    if !s.is_not_negative(data.operands[0]) {
        return None;
    }
    let mut unsigned = with_operands(data, &data.operands);
    unsigned.op = Op::ZEXT;
    Some(Change::Inst(unsigned))
}

fn bitcast(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let x = data.operands[0];
    if s.ty(x) == data.ty {
        return Some(Change::Value(x));
    }
    let inner = s.made_by(x, Op::BITCAST)?.operands[0];
    if s.ty(inner) == data.ty {
        return Some(Change::Value(inner));
    }
    (s.ty(inner).is_ptr() == data.ty.is_ptr()).then(|| Change::Inst(with_operands(data, &[inner])))
}

/// Constants are the same at each look.
fn nothing(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    s.bits(data.operands[0]).map(|_| Change::Value(data.operands[0]))
}

/// An address as an integer and back.
fn round_trip(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let other = if data.op == Op::PTRTOINT { Op::INTTOPTR } else { Op::PTRTOINT };
    let x = data.operands[0];
    let inner = s.made_by(x, other)?.operands[0];
    let same = s.ty(inner) == data.ty && s.ty(x).lane_bits() == data.ty.lane_bits();
    same.then_some(Change::Value(inner))
}
