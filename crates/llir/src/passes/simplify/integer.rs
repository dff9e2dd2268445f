//! Rules for integer arithmetic and logic.

use super::{Change, Rule, Simplifier, with_operands};
use crate::builder::fold::int_binary;
use crate::constant::mask;
use crate::flags::Flags;
use crate::function::{InstData, Value};
use crate::rows::Op;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::ADD, constants),
    (Op::SUB, constants),
    (Op::MUL, constants),
    (Op::SDIV, constants),
    (Op::UDIV, constants),
    (Op::SREM, constants),
    (Op::UREM, constants),
    (Op::SHL, constants),
    (Op::LSHR, constants),
    (Op::ASHR, constants),
    (Op::AND, constants),
    (Op::OR, constants),
    (Op::XOR, constants),
    (Op::ADD, neutral),
    (Op::SUB, neutral),
    (Op::MUL, neutral),
    (Op::SDIV, neutral),
    (Op::UDIV, neutral),
    (Op::SHL, neutral),
    (Op::LSHR, neutral),
    (Op::ASHR, neutral),
    (Op::AND, neutral),
    (Op::OR, neutral),
    (Op::XOR, neutral),
    (Op::SUB, subtract_constant),
    (Op::ADD, chain),
    (Op::MUL, chain),
    (Op::AND, chain),
    (Op::OR, chain),
    (Op::XOR, chain),
    (Op::XOR, undone),
    (Op::SHL, chain_shift),
    (Op::LSHR, chain_shift),
    (Op::AND, mask_of_known_bits),
    (Op::LSHR, nothing_left),
    (Op::SDIV, unsigned_division),
    (Op::SREM, unsigned_division),
    (Op::ASHR, unsigned_shift),
    (Op::UDIV, divide_by_power),
    (Op::UREM, rest_of_power),
];

/// `2 + 3`.
fn constants(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let (a, b) = (s.bits(data.operands[0])?, s.bits(data.operands[1])?);
    let bits = int_binary(data.op, data.ty.lane_bits(), a, b)?;
    Some(Change::Value(s.constant(data.ty, bits)))
}

/// `x + 0`, `x * 1`, `x & 0`, `x - x`, ….
fn neutral(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let (a, b) = (data.operands[0], data.operands[1]);
    let ones = mask(u128::MAX, data.ty.lane_bits());
    let keeps_on_zero = [Op::ADD, Op::SUB, Op::OR, Op::XOR, Op::SHL, Op::LSHR, Op::ASHR].contains(&data.op);
    let value = match s.bits(b) {
        Some(0) if keeps_on_zero => a,
        Some(0) if [Op::MUL, Op::AND].contains(&data.op) => b,
        Some(1) if data.ty.lane_bits() > 1 && [Op::MUL, Op::SDIV, Op::UDIV].contains(&data.op) => a,
        Some(bits) if bits == ones && data.op == Op::AND => a,
        Some(bits) if bits == ones && data.op == Op::OR => b,
        None if a == b && [Op::AND, Op::OR].contains(&data.op) => a,
        None if a == b && [Op::SUB, Op::XOR].contains(&data.op) => s.constant(data.ty, 0),
        _ => return None,
    };
    Some(Change::Value(value))
}

/// `x - 3` is `x + -3`.
fn subtract_constant(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let bits = s.bits(data.operands[1])?;
    let negative = s.constant(data.ty, bits.wrapping_neg());
    let mut sum = with_operands(data, &[data.operands[0], negative]);
    sum.op = Op::ADD;
    Some(Change::Inst(sum))
}

/// `(x + 2) + 3` is `x + 5`; the promise that nothing overflows stays when both made it and the constants agree.
fn chain(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let outer = s.bits(data.operands[1])?;
    let inner = s.made_by(data.operands[0], data.op)?;
    let (x, flags) = (inner.operands[0], inner.flags);
    let bits = s.bits(inner.operands[1])?;
    let width = data.ty.lane_bits();
    let both = int_binary(data.op, width, bits, outer)?;
    let sign = |bits: u128| width > 0 && bits >> (width - 1) & 1 == 1;
    let agrees = data.op == Op::ADD && sign(bits) == sign(outer) && sign(both) == sign(outer);
    let constant = s.constant(data.ty, both);
    let mut joined = with_operands(data, &[x, constant]);
    if agrees {
        joined.flags = flags.and(data.flags).and(Flags::NSW);
    }
    Some(Change::Inst(joined))
}

/// `x ^ (x ^ y)` is `y`.
fn undone(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let other = |s: &Simplifier<'_>, inner: Value, outer: Value| {
        let inner = s.made_by(inner, Op::XOR)?;
        let (a, b) = (inner.operands[0], inner.operands[1]);
        [(a, b), (b, a)].into_iter().find(|(own, _)| *own == outer).map(|(_, other)| other)
    };
    let (a, b) = (data.operands[0], data.operands[1]);
    other(s, a, b).or_else(|| other(s, b, a)).map(Change::Value)
}

/// `(x << 2) << 3` is `x << 5`.
fn chain_shift(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let outer = s.bits(data.operands[1])?;
    let inner = s.made_by(data.operands[0], data.op)?;
    let x = inner.operands[0];
    let sum = s.bits(inner.operands[1])?.checked_add(outer)?;
    if sum >= u128::from(data.ty.lane_bits()) {
        return Some(Change::Value(s.constant(data.ty, 0)));
    }
    let constant = s.constant(data.ty, sum);
    Some(Change::Inst(with_operands(data, &[x, constant])))
}

/// `x & 31` is `x` where no other bit can be one.
fn mask_of_known_bits(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let wanted = u64::try_from(s.bits(data.operands[1])?).ok()?;
    let possible = s.possible_bits(data.operands[0], 6);
    if possible & wanted == 0 {
        return Some(Change::Value(s.constant(data.ty, 0)));
    }
    (possible & !wanted == 0).then_some(Change::Value(data.operands[0]))
}

/// `x >> 5` is 0 where `x` is less than 32.
fn nothing_left(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let by = u32::try_from(s.bits(data.operands[1])?).ok().filter(|by| *by < data.ty.lane_bits().min(64))?;
    let possible = s.possible_bits(data.operands[0], 6);
    (possible >> by == 0).then(|| Change::Value(s.constant(data.ty, 0)))
}

/// Division and rest of numbers that are not negative need not look at signs.
fn unsigned_division(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    if !s.is_not_negative(data.operands[0]) || !s.is_not_negative(data.operands[1]) {
        return None;
    }
    let mut unsigned = with_operands(data, &data.operands);
    unsigned.op = if data.op == Op::SDIV { Op::UDIV } else { Op::UREM };
    Some(Change::Inst(unsigned))
}

fn unsigned_shift(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    if !s.is_not_negative(data.operands[0]) {
        return None;
    }
    let mut unsigned = with_operands(data, &data.operands);
    unsigned.op = Op::LSHR;
    Some(Change::Inst(unsigned))
}

/// The exponent of a power of two.
fn exponent(s: &Simplifier<'_>, value: Value) -> Option<u32> {
    s.bits(value).filter(|bits| bits.is_power_of_two()).map(u128::trailing_zeros)
}

/// `x / 8` is `x >> 3` for unsigned numbers.
fn divide_by_power(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let by = exponent(s, data.operands[1])?;
    let by = s.constant(data.ty, u128::from(by));
    let mut shift = with_operands(data, &[data.operands[0], by]);
    shift.op = Op::LSHR;
    Some(Change::Inst(shift))
}

/// `x % 8` is `x & 7` for unsigned numbers.
fn rest_of_power(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let bits = exponent(s, data.operands[1])?;
    let rest = s.constant(data.ty, (1 << bits) - 1);
    let mut and = with_operands(data, &[data.operands[0], rest]);
    and.op = Op::AND;
    Some(Change::Inst(and))
}
