//! Rules for floats: those that change no bit of any result.

use super::{Change, Rule, Simplifier};
use crate::builder::fold::float_binary;
use crate::constant::float_bits;
use crate::function::{InstData, Value};
use crate::rows::Op;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::FADD, constants),
    (Op::FSUB, constants),
    (Op::FMUL, constants),
    (Op::FDIV, constants),
    (Op::FMUL, by_one),
    (Op::FDIV, by_one),
    (Op::FADD, and_minus_zero),
    (Op::FSUB, minus_zero),
    (Op::FNEG, twice_negated),
];

/// Arithmetic on constants that are no NaN and give none.
fn constants(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let operands = [s.bits(data.operands[0])?, s.bits(data.operands[1])?];
    let bits = float_binary(data.op, data.ty.kind(), operands)?;
    Some(Change::Value(s.constant(data.ty, bits)))
}

fn is(s: &Simplifier<'_>, value: Value, number: f64) -> bool {
    let ty = s.ty(value);
    s.bits(value) == Some(float_bits(ty.kind(), number))
}

fn by_one(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    is(s, data.operands[1], 1.0).then_some(Change::Value(data.operands[0]))
}

/// `x + -0.0`.
fn and_minus_zero(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    is(s, data.operands[1], -0.0).then_some(Change::Value(data.operands[0]))
}

/// `x - 0.0`.
fn minus_zero(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    is(s, data.operands[1], 0.0).then_some(Change::Value(data.operands[0]))
}

fn twice_negated(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    s.made_by(data.operands[0], Op::FNEG).map(|inner| Change::Value(inner.operands[0]))
}
