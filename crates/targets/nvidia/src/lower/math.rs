//! Elementary functions by instructions.

use super::instruction::Instruction;
use super::{Denormals, Lanes};
use crate::intrinsics::{self, Row};
use elementwise::lane_math::{by_base_two, plainly, quotient};
use elementwise::{Approximation, Math};
use llir::{FunctionBuilder, Op, Payload, Type, Value};
use std::f64::consts::{LN_2, LOG2_E};

/// A function within two units in the last place, where instructions give that.
pub(super) fn exact(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    function: Math,
    x: &[Value],
) -> Option<Value> {
    let ty = b.ty(x[0]);
    // Without `ftz` every power is scaled there and back for results that are denormal.
    let power: &Row = match lanes.denormals {
        Denormals::Flushed => &intrinsics::EX2_FTZ,
        Denormals::Kept => &intrinsics::EX2,
    };
    match (function, ty) {
        (Math::Exp, Type::F32) if lanes.capability >= 80 => Some(plainly(b, |b| exp(b, x[0], power))),
        (Math::Exp2, Type::F32) => Some(b.intrinsic(power, ty, x)),
        (Math::Sqrt, Type::F32) => Some(b.intrinsic(&intrinsics::SQRT, ty, x)),
        (Math::Sqrt | Math::PreciseSqrt, Type::F32 | Type::F64) => {
            Some(b.intrinsic(&llir::intrinsics::SQRT, ty, x))
        }
        (Math::Rsqrt, Type::F32) => Some(b.intrinsic(&intrinsics::RSQRT, ty, x)),
        // Of what is smaller than every normal number the reciprocal is zero, as powers are.
        (Math::Divide, Type::F32)
            if lanes.denormals == Denormals::Flushed && is_one(b, x[0]) && is_one_and_power(b, x[1]) =>
        {
            Some(b.intrinsic(&intrinsics::RCP_FTZ, ty, &x[1..]))
        }
        (Math::Divide, Type::F32) => Some(b.intrinsic(&intrinsics::DIV_FULL, ty, x)),
        // What `div.full` is. Written out, two products for each dividend remain, where the assembler makes three
        // instructions, two of them with a predicate.
        (Math::DivideByShared, Type::F32) => {
            let reciprocal = |b: &mut FunctionBuilder<'_>, x| b.intrinsic(&intrinsics::RCP_FTZ, ty, &[x]);
            Some(quotient(b, x[0], x[1], &reciprocal))
        }
        _ => None,
    }
}

/// `2^p·(1 + c)` with `p` the rounded product `x·log2 e`, and `c = x - p·ln 2` what was lost by rounding it, which is
/// worth up to 60 units of the result. One of the factors is split in two (Cody and Waite, "Software Manual for the
/// Elementary Functions", 1980), so `c` is exact where it counts, and the result rounds once, beside the two units of
/// `ex2` (CUDA C++ Programming Guide, "Intrinsic Functions").
///
/// The product is rounded down, so that `c` of what overflows is above zero, and an infinite power stays so. Of
/// infinities `c` is NaN, which the minimum replaces by a small number; NaN comes through with the power. What
/// becomes of results below the normal numbers is up to `raise`, which raises two to a power. What is surely not above
/// zero is raised to a number whose power is zero, together with the change of its sign, and so is not infinite.
fn exp(b: &mut FunctionBuilder<'_>, x: Value, raise: &'static Row) -> Value {
    let ty = b.ty(x);
    let nearest = f64::from(LN_2 as f32);
    let [factor, ln2, rest, small, lowest] =
        [LOG2_E, -nearest, nearest - LN_2, 1e-3, VANISHES].map(|number| b.float(ty, number));
    let negative = is_negative(b, x);
    let x = if negative { b.intrinsic(&llir::intrinsics::MAXIMUM, ty, &[x, lowest]) } else { x };
    let product = b.intrinsic(&intrinsics::MUL_DOWN, ty, &[x, factor]);
    let lost = b.intrinsic(&llir::intrinsics::FMA, ty, &[product, ln2, x]);
    let lost = b.intrinsic(&llir::intrinsics::FMA, ty, &[product, rest, lost]);
    let lost = if negative { lost } else { b.intrinsic(&llir::intrinsics::MINNUM, ty, &[lost, small]) };
    let power = b.intrinsic(raise, ty, &[product]);
    b.intrinsic(&llir::intrinsics::FMA, ty, &[power, lost, power])
}

/// A number whose exponential is zero.
const VANISHES: f64 = -200.0;

/// Whether a number is the negative of an absolute value.
fn is_negative(b: &mut FunctionBuilder<'_>, x: Value) -> bool {
    let made_by = |b: &FunctionBuilder<'_>, x: Value| b.func().defining(x).cloned();
    let negated = made_by(b, x).filter(|data| data.op == Op::FNEG);
    let absolute = negated.and_then(|data| made_by(b, data.operands[0]));
    match absolute.map(|data| data.payload) {
        Some(Payload::Callee(callee)) => b.module().callee(callee).intrinsic == Some(&llir::intrinsics::FABS),
        _ => false,
    }
}

fn is_one(b: &FunctionBuilder<'_>, x: Value) -> bool {
    let bits = b.func().constant(x).and_then(llir::Constant::splat_bits);
    bits == Some(u128::from(1f32.to_bits()))
}

/// Whether a number is one and what [`exp`] or its instruction makes, so that it is not less than one: the divisor of
/// a sigmoid.
fn is_one_and_power(b: &mut FunctionBuilder<'_>, x: Value) -> bool {
    let Some(sum) = b.func().defining(x).filter(|data| data.op == Op::FADD) else { return false };
    let (first, second) = (sum.operands[0], sum.operands[1]);
    (is_one(b, first) && is_power(b, second)) || (is_one(b, second) && is_power(b, first))
}

fn is_power(b: &mut FunctionBuilder<'_>, x: Value) -> bool {
    if is_call(b, x, &intrinsics::EX2_FTZ) {
        return true;
    }
    let Some(data) = b.func().defining(x) else { return false };
    let (first, last) = (data.operands.first().copied(), data.operands.last().copied());
    first == last
        && is_call(b, x, &llir::intrinsics::FMA)
        && first.is_some_and(|power| is_call(b, power, &intrinsics::EX2_FTZ))
}

/// Whether a number is the result of an intrinsic.
fn is_call(b: &mut FunctionBuilder<'_>, x: Value, row: &llir::Intrinsic) -> bool {
    match b.func().defining(x).map(|data| data.payload.clone()) {
        Some(Payload::Callee(callee)) => b.module().callee(callee).intrinsic == Some(row),
        _ => false,
    }
}

/// What functions of singles are made of.
pub(super) fn approximation(what: Approximation) -> &'static Row {
    match what {
        Approximation::Exp2 => &intrinsics::EX2_FTZ,
        Approximation::Log2 => &intrinsics::LG2_FTZ,
        Approximation::Reciprocal => &intrinsics::RCP_FTZ,
        Approximation::ReciprocalRoot => &intrinsics::RSQRT_FTZ,
        Approximation::Root => &intrinsics::SQRT_FTZ,
    }
}

/// A function of a maths library whose name asks for speed.
pub(super) fn fast(b: &mut FunctionBuilder<'_>, capability: u32, name: &str, x: &[Value]) -> Option<Value> {
    let ty = b.ty(*x.first()?);
    if ty != Type::F32 {
        return None;
    }
    let unary = |b: &mut FunctionBuilder<'_>, name: &str, value: Value| {
        Instruction::new(name).results(Type::F32, 1).register(value).pure(b)
    };
    let exp2 = |b: &mut FunctionBuilder<'_>, x| b.intrinsic(&intrinsics::EX2, Type::F32, &[x]);
    let log2 = |b: &mut FunctionBuilder<'_>, x| b.intrinsic(&intrinsics::LG2, Type::F32, &[x]);
    let result = match (name, x) {
        ("sin", [x]) => unary(b, "sin.approx.f32", *x),
        ("cos", [x]) => unary(b, "cos.approx.f32", *x),
        ("tan", [x]) => {
            let (sin, cos) = (unary(b, "sin.approx.f32", *x), unary(b, "cos.approx.f32", *x));
            b.intrinsic(&intrinsics::DIV, ty, &[sin, cos])
        }
        ("tanh", [x]) if capability >= 75 => unary(b, "tanh.approx.f32", *x),
        ("pow", [x, y]) => {
            let log = log2(b, *x);
            let power = b.fmul(log, *y);
            exp2(b, power)
        }
        ("dividef" | "fdividef" | "divide" | "fdivide", [x, y]) => {
            b.intrinsic(&intrinsics::DIV, ty, &[*x, *y])
        }
        (_, [x]) => return by_base_two(b, name, *x, (&exp2, &log2)),
        _ => return None,
    };
    Some(result)
}
