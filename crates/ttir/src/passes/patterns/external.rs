//! Functions of maths libraries with a constant among their arguments.

use super::replace;
use crate::ops::arith_float::MULF;
use crate::ops::arith_int::int_value;
use crate::ops::constant;
use crate::ops::extern_call::{ExternElementwiseOp, power_of};
use ir::{Builder, Module, Op};

/// `pow(x, 2)  =>  x * x`, and the first and third power: products round at most as much as the function.
pub(crate) fn power_of_constant(module: &mut Module, op: Op) -> bool {
    let call = ExternElementwiseOp::of(module, op).filter(|call| call.pure());
    let Some((x, y)) = call.and_then(|call| power_of(call)) else { return false };
    let exponent = constant::number(module, y).or_else(|| Some(int_value(module, y)? as f64));
    let factors = match exponent {
        Some(1.0) => 1,
        Some(2.0) => 2,
        Some(3.0) => 3,
        _ => return false,
    };
    let mut builder = Builder::before(module, op);
    let product = (1..factors).fold(x, |product, _| builder.build(&MULF, &[product, x], &[]));
    replace(module, op, product)
}
