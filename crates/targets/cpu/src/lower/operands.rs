//! What dots multiply and add to.

use super::subtarget::Subtarget;
use super::types;
use crate::dot::Operands;
use ir::{FloatKind, Type as IrType, Value as IrValue};
use ttir::ops::dot::{self, DotOp, MatmulOp};
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::TransOp;
use ttir::ops::{arith_cast, constant};

/// What a dot is added to.
pub(crate) fn added_to(module: &ir::Module, op: ir::Op) -> Option<IrValue> {
    DotOp::of(module, op).map(|dot| dot.c())
}

/// Makes a dot that multiplies binary32 as such.
pub(crate) fn build_dot(builder: &mut ir::Builder<'_>, operands: [IrValue; 3]) -> IrValue {
    builder.build(&dot::DOT, &operands, &[])
}

/// The matrix that an operand is, and whether it is turned.
pub(crate) fn source(module: &ir::Module, value: IrValue) -> (IrValue, bool) {
    match TransOp::def(module, value).filter(|trans| trans.order() == [1, 0]) {
        Some(trans) => (trans.src(), true),
        None => (value, false),
    }
}

/// The types that a dot of this accumulator multiplies in.
pub(crate) fn operands_of(elem: IrType) -> Option<Operands> {
    match (elem.as_float(), elem.as_int()) {
        (Some(FloatKind::F32), _) => Some(Operands::F32),
        (Some(FloatKind::F64), _) => Some(Operands::F64),
        (None, Some(32)) => Some(Operands::I32),
        _ => None,
    }
}

/// What a dot multiplies its operands as, and the type of their elements in memory: fours of bytes or pairs of 16-bit
/// numbers where the processor has instructions for them and all elements are such numbers exactly. `None` where the
/// types do not go together.
pub(crate) fn multiplied(module: &ir::Module, machine: &Subtarget, op: ir::Op) -> Option<(Operands, IrType)> {
    let dot = MatmulOp::new(module, op);
    let [a, b, sum] = [dot.a(), dot.b(), dot.d()].map(|value| ttir::types::elem(module.ty(value)));
    let wide = types::dot_operand(sum);
    if [a, b].map(types::dot_operand) != [wide; 2] {
        return None;
    }
    let half = IrType::float(FloatKind::F16);
    let is_byte = |elem: &IrType| elem.as_int() == Some(8);
    let is_short = |elem: &IrType| elem.as_int().is_some_and(|bits| bits <= 8);
    let groups = [
        ([a, b].into_iter().all(is_bf16), Operands::Bf16Pairs, IrType::float(FloatKind::BF16)),
        ([a, b] == [half; 2], Operands::F16Pairs, half),
        ([a, b].iter().all(is_byte), Operands::I8Quads, IrType::int(8)),
        ([a, b].iter().all(is_short), Operands::I16Pairs, IrType::int(16)),
    ];
    let is_supported = |operands: Operands| {
        sizes(module, op).is_some_and(|sizes| operands.is_supported(&machine.dot(), sizes))
    };
    let found = groups.into_iter().find(|&(fits, operands, _)| fits && is_supported(operands));
    found.map(|(_, operands, elem)| (operands, elem)).or_else(|| Some((operands_of(wide)?, wide)))
}

/// Rows, columns and depth of a dot of two matrices.
fn sizes(module: &ir::Module, op: ir::Op) -> Option<[u32; 3]> {
    let dot = MatmulOp::new(module, op);
    let (&[m, k], &[_, n]) = (types::shape(module.ty(dot.a())), types::shape(module.ty(dot.b()))) else {
        return None;
    };
    Some([m, n, k].map(|size| u32::try_from(size).unwrap_or(u32::MAX)))
}

/// Whether a dot is multiplied by AMX.
pub(crate) fn takes_amx(module: &ir::Module, machine: &Subtarget, op: ir::Op) -> bool {
    let Some((operands, _)) = multiplied(module, machine, op) else { return false };
    sizes(module, op).is_some_and(|sizes| operands.takes_amx(&machine.dot(), sizes))
}

/// Rows, columns and depth of a dot that have a meaning.
pub(crate) fn used(module: &ir::Module, op: ir::Op) -> [u32; 3] {
    let dot = MatmulOp::new(module, op);
    let (a, b) = (types::shape(module.ty(dot.a())), types::shape(module.ty(dot.b())));
    let all = [a[a.len() - 2], b[b.len() - 1], a[a.len() - 1]];
    dot.used().unwrap_or(all).map(|size| u32::try_from(size).unwrap_or(u32::MAX))
}

/// Whether an operation rounds binary32 to bf16 for nothing but dots of pairs, to which denormal numbers are zero
/// anyway.
pub(crate) fn is_narrowed_for_pairs(module: &ir::Module, machine: &Subtarget, op: ir::Op) -> bool {
    if !machine.rounds_to_bf16 || !module.is(op, &arith_cast::TRUNCF) {
        return false;
    }
    let value = module.result(op, 0);
    let of = |value: IrValue| ttir::types::elem(module.ty(value)).as_float();
    of(value) == Some(FloatKind::BF16)
        && of(UnaryOp::new(module, op).src()) == Some(FloatKind::F32)
        && module.uses(value).iter().all(|&(user, index)| {
            let is_operand = index < 2 && MatmulOp::of(module, user).is_some();
            is_operand && matches!(multiplied(module, machine, user), Some((Operands::Bf16Pairs, _)))
        })
}

/// Whether a block is known to be nothing but zeros, without a sign.
pub(crate) fn is_zero(module: &ir::Module, value: IrValue) -> bool {
    module.constant(value).and_then(constant::splat_bits) == Some(0)
}

/// Whether all numbers of a type are numbers of bf16.
fn is_bf16(elem: IrType) -> bool {
    elem.as_float().is_some_and(|kind| kind == FloatKind::BF16 || kind.bits() == 8)
}
