//! Operations on single elements.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::extension::Extension;
use crate::ops::{Args, Builtin, method, op};
use crate::semantic::{MAXIMUM, MAXIMUM_NAN, MINIMUM, MINIMUM_NAN, Overflow, Pointers};
use crate::typing::Arithmetic;
use crate::value::PyValue;
use ir::OpRow;
use ruff_python_ast::Operator;
use ttir::ops::{arith_float, arith_int, math};

/// What the mathematical functions take; narrower floats must be converted by hand.
const REAL: &[DType] = &[DType::Fp32, DType::Fp64];
const SINGLE: &[DType] = &[DType::Fp32];
const EXTREMUM: &str = "x, y, propagate_nan=tl.PropagateNan.NONE";
const CHECKED: &str = "x, y, sanitize_overflow=True";

pub(super) static TABLE: &[Builtin] = &[
    method("tl.exp", "x", |ctx, args| unary(ctx, &args, &math::EXP, REAL)),
    method("tl.exp2", "x", |ctx, args| unary(ctx, &args, &math::EXP2, REAL)),
    method("tl.log", "x", |ctx, args| unary(ctx, &args, &math::LOG, REAL)),
    method("tl.log2", "x", |ctx, args| unary(ctx, &args, &math::LOG2, REAL)),
    method("tl.cos", "x", |ctx, args| unary(ctx, &args, &math::COS, REAL)),
    method("tl.sin", "x", |ctx, args| unary(ctx, &args, &math::SIN, REAL)),
    method("tl.sqrt", "x", |ctx, args| unary(ctx, &args, &math::SQRT, REAL)),
    method("tl.sqrt_rn", "x", |ctx, args| unary(ctx, &args, &math::PRECISE_SQRT, SINGLE)),
    method("tl.rsqrt", "x", |ctx, args| unary(ctx, &args, &math::RSQRT, REAL)),
    method("tl.erf", "x", |ctx, args| unary(ctx, &args, &math::ERF, REAL)),
    method("tl.tanh", "x", |ctx, args| unary(ctx, &args, &math::TANH, REAL)),
    method("tl.floor", "x", |ctx, args| unary(ctx, &args, &math::FLOOR, REAL)),
    method("tl.ceil", "x", |ctx, args| unary(ctx, &args, &math::CEIL, REAL)),
    method("tl.abs", "x", absolute),
    op("tl.fma", "x, y, z", fma),
    op("tl.umulhi", "x, y", umulhi),
    op("tl.fdiv", "x, y, ieee_rounding=False, approx=False", fdiv),
    op("tl.div_rn", "x, y", div_rn),
    op("tl.add", CHECKED, |ctx, args| checked(ctx, &args, Operator::Add)),
    op("tl.sub", CHECKED, |ctx, args| checked(ctx, &args, Operator::Sub)),
    op("tl.mul", CHECKED, |ctx, args| checked(ctx, &args, Operator::Mult)),
    method("tl.minimum", EXTREMUM, |ctx, args| {
        let rows = if all_nan(ctx, &args)? { &MINIMUM_NAN } else { &MINIMUM };
        let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
        Ok(ctx.extremum(rows, x, y)?.into())
    }),
    method("tl.maximum", EXTREMUM, |ctx, args| {
        let rows = if all_nan(ctx, &args)? { &MAXIMUM_NAN } else { &MAXIMUM };
        let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
        Ok(ctx.extremum(rows, x, y)?.into())
    }),
    method("tl.clamp", "x, min, max, propagate_nan=tl.PropagateNan.NONE", |ctx, args| {
        let all = all_nan(ctx, &args)?;
        let operands = [args.num(ctx, "x")?, args.num(ctx, "min")?, args.num(ctx, "max")?];
        let case = if all { arith_float::PropagateNan::All } else { arith_float::PropagateNan::None };
        Ok(ctx.clamp(operands, case)?.into())
    }),
    method("tl.where", "condition, x, y", |ctx, args| {
        let condition = args.tensor(ctx, "condition")?;
        let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
        Ok(ctx.select(condition, x, y)?.into())
    }),
    method("tl.logical_and", "x, y", |ctx, args| logical(ctx, &args, &arith_int::ANDI)),
    method("tl.logical_or", "x, y", |ctx, args| logical(ctx, &args, &arith_int::ORI)),
    op("python._half_math", "function, *args", half_math),
];

/// Whether a minimum or maximum is asked to be NaN where an operand is.
fn all_nan(ctx: &mut Ctx<'_>, args: &Args) -> Res<bool> {
    match args.constant(ctx, "propagate_nan")? {
        PyValue::Builtin(name) if &*name == "tl.PropagateNan.ALL" => Ok(true),
        PyValue::Builtin(name) if &*name == "tl.PropagateNan.NONE" => Ok(false),
        other => {
            let text = crate::constexpr::text(&other);
            Err(ctx.error_help(
                format!("Unexpected propagate_nan {text}"),
                "one of `tl.PropagateNan.NONE`, `tl.PropagateNan.ALL`",
            ))
        }
    }
}

fn check_dtype(ctx: &mut Ctx<'_>, scalar: Scalar, expected: &[DType]) -> Res<()> {
    if scalar.is_number(|dtype| expected.contains(&dtype)) {
        return Ok(());
    }
    let list: Vec<String> = expected.iter().map(|dtype| format!("'{dtype}'")).collect();
    let convert = format!("convert it: `x.to(tl.{})`", expected[0].facts().public);
    let is_half = scalar.is_number(|dtype| matches!(dtype, DType::Fp16 | DType::Bf16));
    let switch = ", or switch it on: `@triton.jit(extensions=[\"half_math\"])`";
    let help = if is_half && expected == REAL { convert + switch } else { convert };
    Err(ctx.error_help(format!("Expected dtype [{}] but got {scalar}", list.join(", ")), &help))
}

fn unary(ctx: &mut Ctx<'_>, args: &Args, row: &'static OpRow, expected: &[DType]) -> Res<Val> {
    let x = args.tensor(ctx, "x")?;
    // A Python integer is converted; a tensor of integers is a mistake.
    let x = match args.val("x") {
        Val::Const(PyValue::Int(_) | PyValue::Bool(_)) => ctx.cast(x, DType::Fp32)?,
        _ => x,
    };
    let narrow = x.ty.scalar;
    let widens = narrow.is_number(|dtype| matches!(dtype, DType::Fp16 | DType::Bf16))
        && ctx.has_extension(Extension::HalfMath);
    let x = if widens { ctx.cast(x, DType::Fp32)? } else { x };
    check_dtype(ctx, x.ty.scalar, expected)?;
    let value = ctx.emit(row, &[x.value], &[])?;
    let result = Tensor { value, ty: x.ty };
    Ok(if widens { ctx.cast(result, narrow)? } else { result }.into())
}

/// A function of the language with the extension `half_math`, for bodies of kernels that Python runs.
fn half_math(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let before = ctx.granted;
    ctx.granted = before.with(Extension::HalfMath);
    let result = ctx.call_value(&args.val("function").clone(), args.rest, Vec::new());
    ctx.granted = before;
    result
}

fn absolute(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let x = args.tensor(ctx, "x")?;
    let row = match x.ty.scalar {
        Scalar::Number(DType::Fp8E4B15) => return Ok(ctx.absolute_fp8e4b15(x)?.into()),
        Scalar::Number(dtype) if dtype.is_floating() => &math::ABSF,
        Scalar::Number(dtype) if dtype.is_int_signed() => &math::ABSI,
        Scalar::Number(_) => return Ok(x.into()),
        Scalar::Pointer(_) => {
            return Err(ctx.error(Cause::Assertion.says("Unexpected dtype: a pointer has no absolute value")));
        }
    };
    let value = ctx.emit(row, &[x.value], &[])?;
    Ok(Val::Tensor(Tensor { value, ty: x.ty }))
}

fn fma(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let operands = [args.num(ctx, "x")?, args.num(ctx, "y")?, args.num(ctx, "z")?];
    let [x, y, z] = ctx.unify3(operands)?;
    if !x.ty.scalar.is_number(DType::is_floating) {
        return Err(
            ctx.error_help(format!("fma works on floats, not on {}", x.ty.scalar), "write `x * y + z`")
        );
    }
    Ok(ctx.of_three(&math::FMA, [x, y, z], &[])?.into())
}

fn umulhi(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
    let (x, y) = ctx.unify(x, y, Pointers::None, Arithmetic::Plain)?;
    check_dtype(ctx, x.ty.scalar, &[DType::Int32, DType::Int64, DType::UInt32, DType::UInt64])?;
    Ok(ctx.elementwise(&arith_int::MULHIUI, &x, &y)?.into())
}

fn fdiv(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (ieee, approx) = (args.truth(ctx, "ieee_rounding")?, args.bool(ctx, "approx")?);
    if ieee && approx {
        return Err(ctx.error("approx and ieee_rounding cannot both be True"));
    }
    let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
    let row = if ieee { &arith_float::PRECISE_DIVF } else { &arith_float::DIVF };
    let result = ctx.float_divide(x, y, row)?;
    if approx && result.ty.scalar != DType::Fp32.into() {
        return Err(ctx.error("approx division requires float32 operands"));
    }
    Ok(result.into())
}

fn div_rn(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
    let (x, y) = ctx.unify(x, y, Pointers::None, Arithmetic::Plain)?;
    check_dtype(ctx, x.ty.scalar, SINGLE)?;
    Ok(ctx.elementwise(&arith_float::PRECISE_DIVF, &x, &y)?.into())
}

fn checked(ctx: &mut Ctx<'_>, args: &Args, operator: Operator) -> Res<Val> {
    let overflow = if args.truth(ctx, "sanitize_overflow")? { Overflow::Checked } else { Overflow::Wraps };
    let (x, y) = (args.num(ctx, "x")?, args.num(ctx, "y")?);
    Ok(ctx.arithmetic(operator, x, y, overflow)?.into())
}

fn logical(ctx: &mut Ctx<'_>, args: &Args, row: &'static OpRow) -> Res<Val> {
    let (x, y) = (args.tensor(ctx, "x")?, args.tensor(ctx, "y")?);
    let (x, y) = (ctx.as_bool(x)?, ctx.as_bool(y)?);
    let (x, y) = ctx.broadcast_both(x, y)?;
    Ok(ctx.elementwise(row, &x, &y)?.into())
}
