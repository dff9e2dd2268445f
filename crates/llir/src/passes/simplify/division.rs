//! Quotients and rests by constants become products and shifts.
//!
//! Input: `%q = udiv i32 %x, 10`. Output: the upper half of `%x * 3435973837`, shifted by 3 (Granlund and Montgomery,
//! "Division by invariant integers using multiplication"). An assembler for GPUs makes some twenty instructions of
//! every division, also of one by a constant, even by a power of two where it is signed.
//!
//! Left out: products whose upper half has 64 bits, so that numbers of 64 bits are divided this way only where they fit
//! into 32, or by a power of two. Some targets make products of the others.

use super::{Change, Rule, Simplifier, with_operands};
use crate::function::{InstData, Value};
use crate::rows::Op;
use crate::types::Type;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::SREM, rest_by_quotient),
    (Op::UREM, rest_by_quotient),
    (Op::UDIV, narrow),
    (Op::UREM, narrow),
    (Op::SDIV, signed_power),
    (Op::SREM, signed_rest),
    (Op::UDIV, unsigned_quotient),
    (Op::SDIV, signed_quotient),
    (Op::UREM, unsigned_rest),
];

impl Simplifier<'_> {
    fn binary(&mut self, op: Op, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.emit(InstData::new(op, ty, &[a, b]))
    }

    fn by_number(&mut self, op: Op, a: Value, number: i64) -> Value {
        let ty = self.ty(a);
        let number = self.constant_int(ty, number);
        self.binary(op, a, number)
    }

    /// The number `a - b * c`.
    fn rest(&mut self, a: Value, b: Value, c: Value) -> InstData {
        let product = self.binary(Op::MUL, b, c);
        InstData::new(Op::SUB, self.ty(a), &[a, product])
    }

    /// The upper half of the product of a number of 32 bits and a constant, shifted to the right. `widen` and `shift`
    /// are those of signed or unsigned numbers.
    fn upper(&mut self, x: Value, by: i64, (widen, shift): (Op, Op), amount: u32) -> Value {
        let wide = self.emit(InstData::new(widen, Type::I64, &[x]));
        let product = self.by_number(Op::MUL, wide, by);
        let upper = self.by_number(shift, product, i64::from(32 + amount));
        self.emit(InstData::new(Op::TRUNC, Type::I32, &[upper]))
    }
}

/// The quotient by these operands, if it is known here, gives the rest.
fn rest_by_quotient(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let op = if data.op == Op::SREM { Op::SDIV } else { Op::UDIV };
    let quotient = InstData::new(op, data.ty, &data.operands);
    let found = s.find(super::Key::of(&quotient), &quotient)?;
    Some(Change::Inst(s.rest(data.operands[0], found, data.operands[1])))
}

/// Numbers of 64 bits that fit into 32.
fn narrow(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let fits = |value: &Value| s.possible_bits(*value, 6) <= u64::from(u32::MAX);
    if data.ty != Type::I64 || !data.operands.iter().all(fits) {
        return None;
    }
    let operands = [data.operands[0], data.operands[1]];
    let narrow = operands.map(|value| s.emit(InstData::new(Op::TRUNC, Type::I32, &[value])));
    let quotient = s.binary(data.op, narrow[0], narrow[1]);
    let mut widened = with_operands(data, &[quotient]);
    widened.op = Op::ZEXT;
    Some(Change::Inst(widened))
}

/// The constant that a number is divided by, as a signed number; neither 0 nor 1 nor -1.
fn divisor(s: &Simplifier<'_>, data: &InstData) -> Option<i64> {
    let width = data.ty.lane_bits();
    let number = s.int(data.operands[1]).filter(|_| !data.ty.is_vector() && width >= 8)?;
    (number.unsigned_abs() > 1).then_some(number)
}

/// What is added to a number before it is shifted, so that negative ones are rounded to zero.
fn rounding(s: &mut Simplifier<'_>, x: Value, exponent: u32) -> Value {
    let width = s.ty(x).lane_bits();
    let sign = s.by_number(Op::ASHR, x, i64::from(width - 1));
    let bias = s.by_number(Op::LSHR, sign, i64::from(width - exponent));
    s.binary(Op::ADD, x, bias)
}

/// The exponent of a power of two, as a signed number greater than one.
fn exponent(s: &Simplifier<'_>, data: &InstData) -> Option<u32> {
    divisor(s, data)
        .filter(|number| *number > 0 && number.unsigned_abs().is_power_of_two())
        .map(i64::trailing_zeros)
}

fn signed_power(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let exponent = exponent(s, data)?;
    let rounded = rounding(s, data.operands[0], exponent);
    let by = s.constant_int(data.ty, i64::from(exponent));
    Some(Change::Inst(InstData::new(Op::ASHR, data.ty, &[rounded, by])))
}

fn signed_rest(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let x = data.operands[0];
    if let Some(exponent) = exponent(s, data) {
        let rounded = rounding(s, x, exponent);
        let multiple = s.by_number(Op::AND, rounded, -1i64 << exponent);
        return Some(Change::Inst(InstData::new(Op::SUB, data.ty, &[x, multiple])));
    }
    let quotient = signed_by_product(s, data)?;
    let quotient = s.emit(quotient);
    Some(Change::Inst(s.rest(x, quotient, data.operands[1])))
}

/// A product with `factor`, shifted by `32 + shift`, is the quotient.
struct Magic {
    factor: u64,
    shift: u32,
}

/// The factor for a divisor, right for numbers of so many bits.
fn magic(divisor: u32, bits: u32) -> Magic {
    let log = 32 - (divisor - 1).leading_zeros();
    let power = 1u128 << (32 + log);
    let mut low = power / u128::from(divisor);
    let mut high = (power + (1u128 << (32 + log - bits))) / u128::from(divisor);
    let mut shift = log;
    while low / 2 < high / 2 && shift > 0 {
        (low, high, shift) = (low / 2, high / 2, shift - 1);
    }
    Magic { factor: high as u64, shift }
}

fn signed_quotient(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    signed_by_product(s, data).map(Change::Inst)
}

fn signed_by_product(s: &mut Simplifier<'_>, data: &InstData) -> Option<InstData> {
    let number = divisor(s, data).filter(|_| data.ty == Type::I32)?;
    if number == i64::from(i32::MIN) {
        return None;
    }
    let x = data.operands[0];
    let Magic { factor, shift } = magic(number.unsigned_abs() as u32, 31);
    let how = (Op::SEXT, Op::ASHR);
    let quotient = match i64::from(factor as i32) {
        // A factor of 32 bits is negative as a signed one: the number itself is missing in the upper half.
        negative if negative < 0 => {
            let upper = s.upper(x, negative, how, 0);
            let sum = s.binary(Op::ADD, upper, x);
            s.by_number(Op::ASHR, sum, i64::from(shift))
        }
        factor => s.upper(x, factor, how, shift),
    };
    // Rounded down so far.
    let one = s.by_number(Op::LSHR, x, 31);
    if number > 0 {
        return Some(InstData::new(Op::ADD, data.ty, &[quotient, one]));
    }
    let rounded = s.binary(Op::ADD, quotient, one);
    let zero = s.constant_int(data.ty, 0);
    Some(InstData::new(Op::SUB, data.ty, &[zero, rounded]))
}

fn unsigned_quotient(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    unsigned_by_product(s, data).map(Change::Value)
}

fn unsigned_by_product(s: &mut Simplifier<'_>, data: &InstData) -> Option<Value> {
    let number = divisor(s, data).filter(|_| data.ty == Type::I32)? as u32;
    if number.is_power_of_two() {
        return None;
    }
    let x = data.operands[0];
    let bits = 64 - s.possible_bits(x, 6).leading_zeros();
    let how = (Op::ZEXT, Op::LSHR);
    let Magic { factor, shift } = magic(number, bits.clamp(1, 32));
    if let Ok(factor) = u32::try_from(factor) {
        return Some(s.upper(x, i64::from(factor), how, shift));
    }
    // The factor has 33 bits: `(x + upper) / 2` without overflow.
    let upper = s.upper(x, i64::from(factor as u32), how, 0);
    let difference = s.binary(Op::SUB, x, upper);
    let half = s.by_number(Op::LSHR, difference, 1);
    let sum = s.binary(Op::ADD, half, upper);
    Some(s.by_number(Op::LSHR, sum, i64::from(shift) - 1))
}

fn unsigned_rest(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let quotient = unsigned_by_product(s, data)?;
    Some(Change::Inst(s.rest(data.operands[0], quotient, data.operands[1])))
}

#[cfg(test)]
mod tests {
    use super::{Magic, magic};

    /// The quotient as the instructions compute it.
    fn quotient(x: u32, divisor: u32, bits: u32) -> u32 {
        let Magic { factor, shift } = magic(divisor, bits);
        ((u128::from(x) * u128::from(factor)) >> (32 + shift)) as u32
    }

    #[test]
    fn products_are_quotients() {
        let divisors =
            (2..2000).chain([641, 65537, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX - 1, u32::MAX]);
        for divisor in divisors {
            for bits in [1, 8, 16, 31, 32] {
                let most = u32::MAX >> (32 - bits);
                let near = (0..40).map(|index| (most / divisor / 39 * index).wrapping_mul(divisor));
                for x in
                    near.flat_map(|x| [x.wrapping_sub(1), x, x.wrapping_add(1)]).chain([0, 1, most, most / 2])
                {
                    let x = x & most;
                    assert_eq!(quotient(x, divisor, bits), x / divisor, "{x} / {divisor}, {bits} bits");
                }
                assert!(
                    bits == 32 || magic(divisor, bits).factor <= u64::from(u32::MAX),
                    "{divisor}, {bits} bits"
                );
            }
        }
    }
}
