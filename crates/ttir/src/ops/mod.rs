//! The op rows of block-level code, one file per family.

pub mod access;
pub mod arith_cast;
pub mod arith_float;
pub mod arith_int;
pub mod atomic;
pub mod compare;
pub mod constant;
pub mod control;
mod control_text;
pub mod debug;
pub mod descriptor;
pub mod dot;
pub mod extern_call;
pub mod forms;
pub mod func;
pub mod math;
pub mod memory;
pub mod memory_text;
pub mod program;
pub mod reduce;
pub mod shape;
pub mod structure_branches;

use ir::{Dialect, OpRow};

/// Every row of block-level code.
pub static DIALECT: Dialect = Dialect {
    name: "tt",
    families: ROWS,
    attrs: &[],
    types: &[&crate::types::TENSOR, &crate::types::PTR, &crate::types::TENSORDESC],
};

const ROWS: &[&[&OpRow]] = &[
    arith_int::ROWS,
    arith_float::ROWS,
    arith_cast::ROWS,
    compare::ROWS,
    constant::ROWS,
    math::ROWS,
    shape::ROWS,
    memory::ROWS,
    atomic::ROWS,
    program::ROWS,
    dot::ROWS,
    reduce::ROWS,
    debug::ROWS,
    extern_call::ROWS,
    descriptor::ROWS,
    control::ROWS,
    func::ROWS,
];

/// Verify rule: all operands have the same type.
pub(crate) fn same_type_operands(module: &ir::Module, op: ir::Op) -> Result<(), String> {
    let operands = module.operands(op);
    let types = operands.iter().map(|&value| module.ty(value));
    match types.clone().find(|&ty| Some(ty) != types.clone().next()) {
        None => Ok(()),
        Some(other) => {
            Err(format!("operands must have the same type, found {} and {other}", module.ty(operands[0])))
        }
    }
}

/// Verify rule: the shapes of operands and result are the same.
pub(crate) fn same_shape(module: &ir::Module, op: ir::Op) -> Result<(), String> {
    let all = module.operands(op).iter().chain(module.results(op));
    let mut shapes = all.map(|&value| crate::types::shape(module.ty(value)));
    let Some(first) = shapes.next() else { return Ok(()) };
    match shapes.find(|&shape| shape != first) {
        None => Ok(()),
        Some(other) => Err(format!("shapes must be the same, found {first:?} and {other:?}")),
    }
}

/// Verify rule: the shapes of the operands are the same.
pub(crate) fn same_shape_operands(module: &ir::Module, op: ir::Op) -> Result<(), String> {
    let mut shapes = module.operands(op).iter().map(|&value| crate::types::shape(module.ty(value)));
    let Some(first) = shapes.next() else { return Ok(()) };
    match shapes.find(|&shape| shape != first) {
        None => Ok(()),
        Some(other) => Err(format!("shapes must be the same, found {first:?} and {other:?}")),
    }
}
