//! Arithmetic of truth values.

use crate::ops::arith_int::ANDI;
use crate::types::elem;
use ir::{Builder, Module, Op};

/// `arith.muli %a, %b : i1  =>  arith.andi %a, %b`: masks are known by what they are made of.
pub(crate) fn product_of_flags(module: &mut Module, op: Op) -> bool {
    if elem(module.ty(module.result(op, 0))).as_int() != Some(1) {
        return false;
    }
    let operands = module.operands(op).to_vec();
    let both = Builder::before(module, op).build(&ANDI, &operands, &[]);
    super::replace(module, op, both)
}
