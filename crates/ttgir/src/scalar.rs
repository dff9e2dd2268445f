//! Programs without blocks.

use crate::roots::reachable;
use ir::{Module, Op};
use ttir::ops::extern_call::INLINE_ASM;
use ttir::ops::func::FuncOp;
use ttir::types::is_scalar;

/// Whether a kernel, with the functions that it calls, has numbers and pointers alone, and no assembly, which may ask
/// which lane it is: then one lane can run a program of it.
pub fn is_scalar_program(module: &Module, kernel: Op) -> bool {
    let params = FuncOp::new(module, kernel).params();
    let scalar = |op: Op| {
        let values = module.operands(op).iter().chain(module.results(op));
        !module.is(op, &INLINE_ASM) && values.into_iter().all(|&value| is_scalar(module.ty(value)))
    };
    params.iter().all(|&param| is_scalar(module.ty(param)))
        && reachable(module, kernel).into_iter().all(scalar)
}
