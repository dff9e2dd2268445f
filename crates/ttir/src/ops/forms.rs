//! Views of operations that many rows share: of those with one operand and of those with two.

use crate::types::elem;
use ir::{ANY, EvalArgs, Module, Op, Traits, Type};
use smallvec::SmallVec;

ir::op_view! {
    /// Reads an operation of one operand: a function, a cast, a change of shape.
    UnaryOp {
        operands { src: One ANY }
        results { result: One ANY }
    }
}

ir::op_view! {
    /// Reads an operation of two operands.
    BinaryOp {
        operands { lhs: One ANY, rhs: One ANY }
        results { result: One ANY }
    }
}

/// The bits of an element of an elementwise operation's result, by those of its operands.
pub fn eval(module: &Module, op: Op, bits: &[u64]) -> Option<u64> {
    let eval = module.row(op).eval.filter(|_| module.has(op, Traits::ELEMENTWISE))?;
    let types: SmallVec<[Type; 3]> =
        module.operands(op).iter().map(|&value| elem(module.ty(value))).collect();
    let result_type = elem(module.ty(module.result(op, 0)));
    eval(&EvalArgs { attrs: module.attrs(op), operand_types: &types, result_type }, bits)
}
