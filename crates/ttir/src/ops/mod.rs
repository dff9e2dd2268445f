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
mod func_text;
pub mod math;
pub mod memory;
pub mod memory_text;
pub mod program;
pub mod reduce;
pub mod shape;

use ir::{Dialect, OpRow};

/// Every row of block-level code.
pub static DIALECT: Dialect = Dialect {
    name: "tt",
    ops: ROWS,
    attrs: &[],
    types: &[&crate::types::TENSOR, &crate::types::PTR, &crate::types::TENSORDESC],
};

const ROWS: &[&OpRow] = &[
    &arith_int::ADDI,
    &arith_int::SUBI,
    &arith_int::MULI,
    &arith_int::DIVSI,
    &arith_int::DIVUI,
    &arith_int::REMSI,
    &arith_int::REMUI,
    &arith_int::ANDI,
    &arith_int::ORI,
    &arith_int::XORI,
    &arith_int::SHLI,
    &arith_int::SHRSI,
    &arith_int::SHRUI,
    &arith_int::MAXSI,
    &arith_int::MAXUI,
    &arith_int::MINSI,
    &arith_int::MINUI,
    &arith_int::MULHIUI,
    &arith_float::ADDF,
    &arith_float::SUBF,
    &arith_float::MULF,
    &arith_float::DIVF,
    &arith_float::REMF,
    &arith_float::NEGF,
    &arith_float::MAXIMUMF,
    &arith_float::MINIMUMF,
    &arith_float::MAXNUMF,
    &arith_float::MINNUMF,
    &arith_float::PRECISE_DIVF,
    &arith_float::CLAMPF,
    &arith_cast::EXTSI,
    &arith_cast::EXTUI,
    &arith_cast::TRUNCI,
    &arith_cast::SITOFP,
    &arith_cast::UITOFP,
    &arith_cast::FPTOSI,
    &arith_cast::FPTOUI,
    &arith_cast::EXTF,
    &arith_cast::TRUNCF,
    &arith_cast::BITCAST,
    &arith_cast::TT_BITCAST,
    &arith_cast::FP_TO_FP,
    &arith_cast::INT_TO_PTR,
    &arith_cast::PTR_TO_INT,
    &compare::CMPI,
    &compare::CMPF,
    &compare::SELECT,
    &constant::CONSTANT,
    &constant::POISON,
    &math::ABSF,
    &math::ABSI,
    &math::CEIL,
    &math::FLOOR,
    &math::EXP,
    &math::EXP2,
    &math::LOG,
    &math::LOG2,
    &math::SIN,
    &math::COS,
    &math::SQRT,
    &math::PRECISE_SQRT,
    &math::RSQRT,
    &math::ERF,
    &math::TANH,
    &math::FMA,
    &shape::MAKE_RANGE,
    &shape::SPLAT,
    &shape::UNSPLAT,
    &shape::EXPAND_DIMS,
    &shape::BROADCAST,
    &shape::RESHAPE,
    &shape::TRANS,
    &shape::JOIN,
    &shape::SPLIT,
    &shape::CAT,
    &shape::GATHER,
    &memory::ADDPTR,
    &memory::LOAD,
    &memory::STORE,
    &memory::BARRIER,
    &atomic::ATOMIC_RMW,
    &atomic::ATOMIC_CAS,
    &atomic::ATOMIC_LOAD,
    &atomic::ATOMIC_STORE,
    &program::GET_PROGRAM_ID,
    &program::GET_NUM_PROGRAMS,
    &program::ASSUME,
    &program::GRID_DEPENDENCY_WAIT,
    &program::GRID_DEPENDENCY_LAUNCH_DEPENDENTS,
    &dot::DOT,
    &dot::DOT_SCALED,
    &reduce::REDUCE,
    &reduce::REDUCE_RETURN,
    &reduce::SCAN,
    &reduce::SCAN_RETURN,
    &reduce::MAP_ELEMENTWISE,
    &reduce::MAP_ELEMENTWISE_RETURN,
    &reduce::HISTOGRAM,
    &debug::PRINT,
    &debug::ASSERT,
    &extern_call::EXTERN_ELEMENTWISE,
    &extern_call::INLINE_ASM,
    &descriptor::MAKE,
    &descriptor::LOAD,
    &descriptor::STORE,
    &descriptor::GATHER,
    &descriptor::SCATTER,
    &descriptor::REDUCE,
    &control::FOR,
    &control::IF,
    &control::WHILE,
    &control::CONDITION,
    &control::YIELD,
    &func::MODULE,
    &func::FUNC,
    &func::RETURN,
    &func::CALL,
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
