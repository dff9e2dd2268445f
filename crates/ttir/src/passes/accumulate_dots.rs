//! A dot whose result is added to something starts from it: that becomes its accumulator.
//!
//! ```text
//! %d = tt.dot %a, %b, dense<0.0>           =>   %r = tt.dot %a, %b, %x
//! %r = arith.addf %x, %d
//! ```
//!
//! Sums change in their order, and so in their last bits; a dot leaves the order open. Only where nobody else uses the
//! dot, which would otherwise be computed twice.

use crate::ops::arith_float::ADDF;
use crate::ops::arith_int::ADDI;
use crate::ops::constant::splat_bits;
use crate::ops::dot::MatmulOp;
use crate::ops::forms::BinaryOp;
use ir::pass::PassRow;
use ir::{Diagnostic, Module, Op, Value};

/// Lets dots start from what their results are added to.
pub static ACCUMULATE_DOTS: PassRow = PassRow {
    name: "accumulate-dots",
    doc: "Lets a dot start from the value that its result is added to.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        if module.is(op, &ADDF) || module.is(op, &ADDI) {
            let add = BinaryOp::new(module, op);
            let (lhs, rhs) = (add.lhs(), add.rhs());
            let _ = accumulate(module, op, lhs, rhs) || accumulate(module, op, rhs, lhs);
        }
    }
    Ok(())
}

fn accumulate(module: &mut Module, add: Op, result: Value, start: Value) -> bool {
    let Some(of) = MatmulOp::def(module, result) else { return false };
    let (dot, a, b, c) = (of.op, of.a(), of.b(), of.c());
    let from_zero = module.constant(c).and_then(splat_bits) == Some(0);
    if !from_zero || module.uses(result).len() != 1 || module.block_of(dot) != module.block_of(add) {
        return false;
    }
    // The start may be computed only after the dot.
    module.move_before(add, dot);
    module.set_operands(dot, &[a, b, start]);
    let sum = module.result(add, 0);
    module.replace_uses(sum, result);
    module.erase(add);
    true
}
