//! Rules for floats: those that change no bit of any result.

use super::{Change, Rule, Simplifier};
use crate::constant::float_bits;
use crate::function::{InstData, Value};
use crate::rows::Op;
use crate::types::Scalar;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::FADD, constants),
    (Op::FSUB, constants),
    (Op::FMUL, constants),
    (Op::FMUL, by_one),
    (Op::FDIV, by_one),
    (Op::FADD, and_minus_zero),
    (Op::FSUB, minus_zero),
    (Op::FNEG, twice_negated),
];

/// Arithmetic on constants that are no NaN and give none.
fn constants(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let (a, b) = (s.bits(data.operands[0])?, s.bits(data.operands[1])?);
    let bits = match data.ty.kind() {
        Scalar::Float => {
            let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let result = calculate(data.op, a, b);
            (!result.is_nan()).then(|| u128::from(result.to_bits()))?
        }
        Scalar::Double => {
            let (a, b) = (f64::from_bits(a as u64), f64::from_bits(b as u64));
            let result = calculate(data.op, a, b);
            (!result.is_nan()).then(|| u128::from(result.to_bits()))?
        }
        _ => return None,
    };
    Some(Change::Value(s.constant(data.ty, bits)))
}

fn calculate<T>(op: Op, a: T, b: T) -> T
where
    T: std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T>,
{
    match op {
        Op::FADD => a + b,
        Op::FSUB => a - b,
        _ => a * b,
    }
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
