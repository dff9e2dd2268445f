//! Folds what needs no knowledge of memory: arithmetic on constants, and the neutral elements of integers.

use super::FunctionBuilder;
use crate::constant::{Constant, mask, signed};
use crate::function::{FloatCompare, InstData, IntCompare, Payload, Value};
use crate::rows::{Format, Op};
use crate::types::{Scalar, Type};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Sub};

impl FunctionBuilder<'_> {
    /// The value of an instruction that need not be made.
    pub(super) fn fold(&mut self, data: &InstData) -> Option<Value> {
        let args = &data.operands[..];
        match (data.op.row().format, args) {
            (Format::Binary, [a, b]) if data.ty.is_int() => {
                let known = self.fold_binary(data, *a, *b);
                let known = known.or_else(|| self.fold_neutral(data.op, data.ty, *a, *b));
                known.or_else(|| if data.op == Op::OR { self.fold_either(*a, *b) } else { None })
            }
            (Format::Binary, [a, b]) => self.map_lanes(data.ty, &[*a, *b], |bits| {
                float_binary(data.op, data.ty.kind(), [bits[0], bits[1]])
            }),
            (Format::Compare, [a, b]) => self.fold_compare(data, *a, *b),
            (Format::Select, [condition, a, b]) => self.fold_select(*condition, *a, *b),
            (Format::Cast, [a]) => self.fold_cast(data, *a),
            (Format::Gep, [base, index]) if self.is_zero(*index) && data.ty == self.ty(*base) => Some(*base),
            (Format::Extract, [vector, index]) => self.fold_extract(*vector, *index),
            _ => None,
        }
    }

    /// Applies a function to the lanes of constants; `None` where one is unknown or the function has no answer.
    fn map_lanes(&mut self, ty: Type, args: &[Value], f: impl Fn(&[u128]) -> Option<u128>) -> Option<Value> {
        let constants = args.iter().map(|arg| self.func.constant(*arg));
        let constants: SmallVec<[&Constant; 2]> = constants.collect::<Option<_>>()?;
        let lane = |lane: u32| -> Option<u128> {
            let bits = constants.iter().map(|constant| constant.lane_bits(lane));
            f(&bits.collect::<Option<SmallVec<[u128; 2]>>>()?)
        };
        let alike = constants.iter().all(|constant| constant.splat_bits().is_some());
        let lanes: Option<SmallVec<[u128; 1]>> = (0..if alike { 1 } else { ty.lanes() }).map(lane).collect();
        drop(constants);
        let constant = Constant::lanes(ty, &lanes?);
        Some(self.constant(constant))
    }

    fn fold_binary(&mut self, data: &InstData, a: Value, b: Value) -> Option<Value> {
        let (op, width) = (data.op, data.ty.lane_bits());
        self.map_lanes(data.ty, &[a, b], |bits| int_binary(op, width, bits[0], bits[1]))
    }

    /// `x + 0`, `x * 0`, `x ^ x`, ….
    fn fold_neutral(&mut self, op: Op, ty: Type, a: Value, b: Value) -> Option<Value> {
        let (zero, ones) = (self.is_zero(b), self.is_all_ones(b));
        let one = self.func.constant(b).and_then(Constant::splat_bits) == Some(1);
        let keeps_on_zero = [Op::ADD, Op::SUB, Op::OR, Op::XOR, Op::SHL, Op::LSHR, Op::ASHR];
        if zero && keeps_on_zero.contains(&op)
            || one && ty.lane_bits() > 1 && [Op::MUL, Op::SDIV, Op::UDIV].contains(&op)
            || ones && op == Op::AND
            || a == b && [Op::AND, Op::OR].contains(&op)
        {
            return Some(a);
        }
        if zero && [Op::MUL, Op::AND].contains(&op) || ones && op == Op::OR {
            return Some(b);
        }
        if a == b && [Op::SUB, Op::XOR].contains(&op) {
            return Some(self.zero(ty));
        }
        None
    }

    /// `x > y or x == y`, as one comparison; NaN is neither.
    fn fold_either(&mut self, a: Value, b: Value) -> Option<Value> {
        let [one, other] = [a, b].map(|value| self.func.defining(value));
        let (one, other) = (one?, other?);
        if one.operands != other.operands {
            return None;
        }
        let (x, y) = (*one.operands.first()?, *one.operands.get(1)?);
        match (&one.payload, &other.payload) {
            (Payload::FloatCompare(one), Payload::FloatCompare(other)) => {
                let either = match [*one, *other] {
                    [FloatCompare::Ogt, FloatCompare::Oeq] => FloatCompare::Oge,
                    [FloatCompare::Olt, FloatCompare::Oeq] => FloatCompare::Ole,
                    _ => return None,
                };
                Some(self.fcmp(either, x, y))
            }
            (Payload::IntCompare(one), Payload::IntCompare(other)) => {
                let either = match [*one, *other] {
                    [IntCompare::Sgt, IntCompare::Eq] => IntCompare::Sge,
                    [IntCompare::Slt, IntCompare::Eq] => IntCompare::Sle,
                    [IntCompare::Ugt, IntCompare::Eq] => IntCompare::Uge,
                    [IntCompare::Ult, IntCompare::Eq] => IntCompare::Ule,
                    _ => return None,
                };
                Some(self.icmp(either, x, y))
            }
            _ => None,
        }
    }

    fn fold_compare(&mut self, data: &InstData, a: Value, b: Value) -> Option<Value> {
        let ty = self.ty(a);
        let compare = match data.payload {
            Payload::IntCompare(compare) => compare,
            Payload::FloatCompare(compare) => {
                let holds =
                    |bits: &[u128]| float_compare(compare, ty.kind(), [bits[0], bits[1]]).map(u128::from);
                return self.map_lanes(data.ty, &[a, b], holds);
            }
            _ => return None,
        };
        if a == b {
            let holds = int_compare(compare, ty.lane_bits(), 0, 0);
            return Some(self.int(data.ty, -i64::from(holds)));
        }
        let width = ty.lane_bits();
        self.map_lanes(data.ty, &[a, b], |bits| Some(int_compare(compare, width, bits[0], bits[1]).into()))
    }

    fn fold_select(&mut self, condition: Value, a: Value, b: Value) -> Option<Value> {
        if a == b || self.is_all_ones(condition) {
            return Some(a);
        }
        self.is_zero(condition).then_some(b)
    }

    fn fold_cast(&mut self, data: &InstData, a: Value) -> Option<Value> {
        let (from, to) = (self.ty(a).lane_bits(), data.ty.lane_bits());
        match data.op {
            Op::TRUNC | Op::ZEXT => self.map_lanes(data.ty, &[a], |bits| Some(mask(bits[0], to))),
            Op::SEXT => self.map_lanes(data.ty, &[a], |bits| Some(signed(bits[0], from) as u128)),
            Op::BITCAST if from == to && self.ty(a).lanes() == data.ty.lanes() => {
                self.map_lanes(data.ty, &[a], |bits| Some(bits[0]))
            }
            _ => None,
        }
    }

    fn fold_extract(&mut self, vector: Value, index: Value) -> Option<Value> {
        if let Some(scalar) = self.splats.get(&vector) {
            return Some(*scalar);
        }
        let lane = self.as_int(index).and_then(|lane| u32::try_from(lane).ok())?;
        let constant = self.func.constant(vector)?;
        let (ty, bits) = (constant.ty.lane(), constant.lane_bits(lane)?);
        (lane < constant.ty.lanes()).then(|| self.bits(ty, bits))
    }
}

/// Integer arithmetic on one lane; `None` where the result is undefined.
pub(crate) fn int_binary(op: Op, width: u32, a: u128, b: u128) -> Option<u128> {
    let (signed_a, signed_b) = (signed(a, width), signed(b, width));
    let in_range = b < u128::from(width);
    let result = match op {
        Op::ADD => a.wrapping_add(b),
        Op::SUB => a.wrapping_sub(b),
        Op::MUL => a.wrapping_mul(b),
        Op::AND => a & b,
        Op::OR => a | b,
        Op::XOR => a ^ b,
        Op::SHL if in_range => a << b,
        Op::LSHR if in_range => a >> b,
        Op::ASHR if in_range => (signed_a >> b) as u128,
        Op::UDIV if b != 0 => a / b,
        Op::UREM if b != 0 => a % b,
        Op::SDIV if b != 0 && signed_b != -1 => (signed_a / signed_b) as u128,
        Op::SREM if b != 0 && signed_b != -1 => (signed_a % signed_b) as u128,
        _ => return None,
    };
    Some(mask(result, width))
}

/// An integer comparison of one lane.
pub(crate) fn int_compare(compare: IntCompare, width: u32, a: u128, b: u128) -> bool {
    let (signed_a, signed_b) = (signed(a, width), signed(b, width));
    match compare {
        IntCompare::Eq => a == b,
        IntCompare::Ne => a != b,
        IntCompare::Slt => signed_a < signed_b,
        IntCompare::Sle => signed_a <= signed_b,
        IntCompare::Sgt => signed_a > signed_b,
        IntCompare::Sge => signed_a >= signed_b,
        IntCompare::Ult => a < b,
        IntCompare::Ule => a <= b,
        IntCompare::Ugt => a > b,
        IntCompare::Uge => a >= b,
    }
}

/// The bits of a sum, difference, product or quotient of two numbers of 32 or 64 bits, rounded once; `None` where it
/// is no number, as machines differ in which they give.
pub(crate) fn float_binary(op: Op, kind: Scalar, [a, b]: [u128; 2]) -> Option<u128> {
    match kind {
        Scalar::Float => {
            let result = calculate(op, f32::from_bits(a as u32), f32::from_bits(b as u32))?;
            (!result.is_nan()).then(|| u128::from(result.to_bits()))
        }
        Scalar::Double => {
            let result = calculate(op, f64::from_bits(a as u64), f64::from_bits(b as u64))?;
            (!result.is_nan()).then(|| u128::from(result.to_bits()))
        }
        _ => None,
    }
}

fn calculate<T>(op: Op, a: T, b: T) -> Option<T>
where
    T: Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    match op {
        Op::FADD => Some(a + b),
        Op::FSUB => Some(a - b),
        Op::FMUL => Some(a * b),
        Op::FDIV => Some(a / b),
        _ => None,
    }
}

/// Whether a comparison of two numbers of 32 or 64 bits holds.
pub(crate) fn float_compare(compare: FloatCompare, kind: Scalar, [a, b]: [u128; 2]) -> Option<bool> {
    let order = match kind {
        Scalar::Float => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        Scalar::Double => f64::from_bits(a as u64).partial_cmp(&f64::from_bits(b as u64)),
        _ => return None,
    };
    Some(match compare {
        FloatCompare::Oeq => order == Some(Ordering::Equal),
        FloatCompare::Ogt => order == Some(Ordering::Greater),
        FloatCompare::Oge => order.is_some_and(Ordering::is_ge),
        FloatCompare::Olt => order == Some(Ordering::Less),
        FloatCompare::Ole => order.is_some_and(Ordering::is_le),
        FloatCompare::One => order.is_some_and(Ordering::is_ne),
        FloatCompare::Ord => order.is_some(),
        FloatCompare::Ueq => order.is_none_or(Ordering::is_eq),
        FloatCompare::Ugt => order.is_none_or(Ordering::is_gt),
        FloatCompare::Uge => order.is_none_or(Ordering::is_ge),
        FloatCompare::Ult => order.is_none_or(Ordering::is_lt),
        FloatCompare::Ule => order.is_none_or(Ordering::is_le),
        FloatCompare::Une => order != Some(Ordering::Equal),
        FloatCompare::Uno => order.is_none(),
    })
}
