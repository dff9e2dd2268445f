//! What dots multiply and add to.

use crate::dot::Operands;
use ir::{FloatKind, Type as IrType, Value as IrValue};
use ttir::ops::dot::DotOp;
use ttir::ops::shape::TransOp;

/// What a dot is added to.
pub(crate) fn added_to(module: &ir::Module, op: ir::Op) -> Option<IrValue> {
    DotOp::of(module, op).map(|dot| dot.c())
}

/// The matrix that an operand is, and whether it is turned.
pub(crate) fn source(module: &ir::Module, value: IrValue) -> (IrValue, bool) {
    match TransOp::def(module, value).filter(|turn| turn.order() == [1, 0]) {
        Some(turn) => (turn.src(), true),
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
