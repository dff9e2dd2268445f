//! A product that is added to something becomes a product that starts from it.
//!
//! ```text
//! %d = tt.dot %a, %b, dense<0.0>           =>   %r = tt.dot %a, %b, %x
//! %r = arith.addf %x, %d
//! ```
//!
//! Sums change in their order, and so in their last bits; a dot leaves the order open. Only where nobody else uses the
//! product, which would otherwise be computed twice.

use crate::ops::arith_float::ADDF;
use crate::ops::arith_int::ADDI;
use crate::ops::constant::splat_bits;
use crate::ops::dot::DOT;
use ir::pass::PassRow;
use ir::{Diagnostic, Module, Op};

/// Lets products start from what they are added to.
pub static ACCUMULATE_DOTS: PassRow = PassRow {
    name: "accumulate-dots",
    doc: "Lets a dot start from the value that its result is added to.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        if module.is(op, &ADDF) || module.is(op, &ADDI) {
            let _ = accumulate(module, op, 0) || accumulate(module, op, 1);
        }
    }
    Ok(())
}

fn accumulate(module: &mut Module, add: Op, side: usize) -> bool {
    let product = module.operand(add, side);
    let start = module.operand(add, 1 - side);
    let Some(dot) = module.def_op(product).filter(|&def| module.is(def, &DOT)) else { return false };
    let from_zero = module.constant(module.operand(dot, 2)).and_then(splat_bits) == Some(0);
    if !from_zero || module.uses(product).len() != 1 || module.block_of(dot) != module.block_of(add) {
        return false;
    }
    // The start may be computed only after the product.
    module.move_before(add, dot);
    module.set_operand(dot, 2, start);
    let result = module.result(add, 0);
    module.replace_uses(result, product);
    module.erase(add);
    true
}
