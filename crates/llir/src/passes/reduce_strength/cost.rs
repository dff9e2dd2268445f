//! What instructions cost, and how many registers values take.
//!
//! Counted as on a machine with registers of 32 bits that multiplies and adds in one instruction, also with a sum of 64
//! bits (GPUs are of this kind): a product of 32 bits costs no more than a sum or a shift, so that nothing is gained by
//! making shifts of products; a sum of 64 bits costs two; a widened number scaled and added to an address costs one.

use crate::constant::signed;
use crate::function::{Function, InstData, Value};
use crate::rows::Op;
use crate::types::Type;

/// Registers of 32 bits that a value takes.
pub(super) fn registers(ty: Type) -> u32 {
    match (ty.part_count(), ty.like_parts()) {
        (0, _) => 0,
        // Truth values have registers of their own.
        (1, _) if ty.lane_bits() == 1 => 0,
        (1, _) => (ty.lane_bits() * ty.lanes()).div_ceil(32),
        (_, Some((part, count))) => count * registers(part),
        (parts, None) => (0..parts).filter_map(|index| ty.part(index)).map(registers).sum(),
    }
}

/// What moving a value by its step costs in each iteration.
pub(super) fn of_step(ty: Type) -> u32 {
    ty.lane_bits().div_ceil(32)
}

/// What an instruction that makes a moving value costs; `uses` tells how often a value is used.
pub(super) fn of(function: &Function, data: &InstData, uses: impl Fn(Value) -> u32) -> u32 {
    let words = data.ty.lane_bits().div_ceil(32);
    let alone = |value: Value, ops: &[Op]| {
        uses(value) == 1 && function.defining(value).is_some_and(|data| ops.contains(&data.op))
    };
    match data.op {
        // The product or the shift is part of the sum.
        Op::ADD | Op::SUB
            if words == 1 && data.operands.iter().any(|value| alone(*value, &[Op::MUL, Op::SHL])) =>
        {
            0
        }
        Op::ADD if data.operands.iter().any(|value| alone(*value, &[Op::MUL])) => 0,
        Op::ADD | Op::SUB | Op::SHL => words,
        Op::MUL if words == 1 || is_wide_product(function, data) => 1,
        Op::MUL => 3,
        Op::GEP => of_address(function, data),
        // Part of the address or the product that it is widened for.
        _ => 0,
    }
}

/// A constant of at most 64 bits, sign extended.
pub(in crate::passes) fn int(function: &Function, value: Value) -> Option<i64> {
    let constant = function.constant(value)?;
    let is_int = constant.ty.is_int() && !constant.ty.is_vector() && constant.ty.lane_bits() <= 64;
    let bits = constant.splat_bits().filter(|_| is_int)?;
    Some(signed(bits, constant.ty.lane_bits()) as i64)
}

/// The number of 32 bits that a value widens.
fn narrow(function: &Function, value: Value) -> bool {
    let data = function.defining(value).filter(|data| [Op::SEXT, Op::ZEXT].contains(&data.op));
    data.is_some_and(|data| function.value(data.operands[0]).ty.lane_bits() <= 32)
}

/// A product of 64 bits of numbers of 32 bits.
fn is_wide_product(function: &Function, data: &InstData) -> bool {
    data.operands.iter().all(|value| {
        narrow(function, *value) || int(function, *value).is_some_and(|number| i32::try_from(number).is_ok())
    })
}

fn of_address(function: &Function, data: &InstData) -> u32 {
    let index = data.operands[1];
    let is_wide = data.ty.lane_bits() > 32;
    let is_narrow = function.value(index).ty.lane_bits() <= 32 || narrow(function, index);
    match int(function, index) {
        // Accesses take it as it is.
        Some(_) => 0,
        None if !is_wide => 1,
        None if is_narrow && data.element_bytes().is_some_and(|bytes| bytes > 1) => 1,
        None => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::registers;
    use crate::types::Type;

    #[test]
    fn values_take_registers() {
        assert_eq!(
            [Type::I1, Type::I8, Type::F32, Type::PTR, Type::pointer(3)].map(registers),
            [0, 1, 1, 2, 1]
        );
        assert_eq!(registers(Type::F16.vector(8)), 4);
        assert_eq!(registers(Type::F32.times(128)), 128);
        assert_eq!(registers(Type::structure(&[Type::I64, Type::F32, Type::I1])), 3);
        assert_eq!(registers(Type::VOID), 0);
    }
}
