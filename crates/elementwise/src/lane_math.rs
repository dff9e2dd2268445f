//! Functions of 32 bits made of the few instructions that lanes of GPUs have: powers of two, logarithms of base 2,
//! reciprocals. Each instruction is handed in as what builds it.

use llir::{Flags, FloatCompare, FunctionBuilder, Type, Value, intrinsics};
use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

/// An instruction with one operand.
pub type Unary<'a> = &'a dyn Fn(&mut FunctionBuilder<'_>, Value) -> Value;

/// Builds something of which nothing may be fused or reordered.
pub fn plainly(b: &mut FunctionBuilder<'_>, build: impl FnOnce(&mut FunctionBuilder<'_>) -> Value) -> Value {
    let flags = b.set_float_flags(Flags::NONE);
    let result = build(b);
    b.set_float_flags(flags);
    result
}

/// The dividend times the reciprocal of the divisor; both are scaled where the divisor or its reciprocal would be
/// denormal, which the instruction takes for zero. Where many dividends share a divisor, two products remain for each.
pub fn quotient(
    b: &mut FunctionBuilder<'_>,
    dividend: Value,
    divisor: Value,
    reciprocal: Unary<'_>,
) -> Value {
    let ty = b.ty(divisor);
    plainly(b, |b| {
        let [small, large, up, down, one] =
            [-126, 126, 24, -2, 0].map(|exponent| b.float(ty, 2f64.powi(exponent)));
        let size = b.intrinsic(&intrinsics::FABS, ty, &[divisor]);
        let (is_small, is_large) =
            (b.fcmp(FloatCompare::Olt, size, small), b.fcmp(FloatCompare::Ogt, size, large));
        let scale = b.select(is_large, down, one);
        let scale = b.select(is_small, up, scale);
        let scaled = b.fmul(divisor, scale);
        let reciprocal = reciprocal(b, scaled);
        let dividend = b.fmul(dividend, scale);
        b.fmul(dividend, reciprocal)
    })
}

/// An exponential or a logarithm of a maths library whose name asks for speed: the instruction of base 2, and a
/// product.
pub fn by_base_two(
    b: &mut FunctionBuilder<'_>,
    name: &str,
    x: Value,
    (exp2, log2): (Unary<'_>, Unary<'_>),
) -> Option<Value> {
    let scaled = |b: &mut FunctionBuilder<'_>, value: Value, by: f64| {
        let by = b.float(Type::F32, by);
        b.fmul(value, by)
    };
    let mut power = |by: f64| {
        let power = scaled(b, x, by);
        exp2(b, power)
    };
    match name {
        "exp" => return Some(power(LOG2_E)),
        "exp10" => return Some(power(LOG2_10)),
        "log" | "log2" | "log10" => {}
        _ => return None,
    }
    let log = log2(b, x);
    Some(match name {
        "log" => scaled(b, log, LN_2),
        "log10" => scaled(b, log, LOG10_2),
        _ => log,
    })
}
