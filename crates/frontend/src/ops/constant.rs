//! Functions on values known at compile time: the language's own, and helpers of its library (behind a `_`).

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::constexpr;
use crate::dtype::{DType, Scalar};
use crate::extension::Extension;
use crate::ops::{Args, Builtin, op};
use std::rc::Rc;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.constexpr", "value", |ctx, args| match args.val("value") {
        // A run-time value stays one, as for a parameter that is annotated so.
        val @ (Val::Const(_) | Val::Tuple(_) | Val::Type(_) | Val::Tensor(_)) => Ok(val.clone()),
        other => {
            let message =
                format!("tl.constexpr needs a value known when compiling, found {}", other.describe());
            Err(ctx.error(message))
        }
    }),
    op("tl.tuple", "args, type=None", |ctx, args| Ok(Val::tuple(ctx.iterate(args.val("args"))?))),
    op("triton.cdiv", "x, y", |ctx, args| {
        let (x, y) = (args.constant(ctx, "x")?, args.constant(ctx, "y")?);
        Ok(Val::Const(ctx.check(constexpr::ceil_div(&x, &y))?))
    }),
    op("triton.next_power_of_2", "n", |ctx, args| {
        let n = args.constant(ctx, "n")?;
        Ok(Val::Const(ctx.check(constexpr::next_power_of_2(&n))?))
    }),
    // Generated code unwraps constants, which here are never wrapped.
    op("tl._unwrap_if_constexpr", "o", |_, args| Ok(args.val("o").clone())),
    op("tl._log2", "i", |ctx, args| {
        let i = args.int(ctx, "i")?;
        Ok(Val::int(if i > 1 { i128::from(127 - i.leading_zeros()) } else { 0 }))
    }),
    op("tl._is_power_of_two", "i", |ctx, args| {
        let i = args.int(ctx, "i")?;
        Ok(Val::bool(i > 0 && i & (i - 1) == 0))
    }),
    op("tl._rounded_up", "shape", |ctx, args| {
        let dims = args.dims(ctx, "shape")?;
        let dims = ctx.check(crate::typing::check_any_shape(&dims))?;
        Ok(Val::tuple(dims.iter().map(|dim| Val::int(i128::from(dim.next_power_of_two()))).collect()))
    }),
    op("tl._any_shape", "x", |ctx, args| {
        let x = args.tensor(ctx, "x")?;
        let any = ctx.has_extension(Extension::AnyShape);
        Ok(Val::bool(any || x.ty.shape.iter().any(|dim| !dim.is_power_of_two())))
    }),
    op("tl._wrap_axis", "axis, rank", |ctx, args| {
        let (axis, rank) = (args.int(ctx, "axis")?, args.int(ctx, "rank")?);
        Ok(Val::int(ctx.wrap_axis(axis, rank.clamp(0, 64) as usize)? as i128))
    }),
    op("tl._other_axes", "axis, rank", |ctx, args| {
        let (axis, rank) = (args.int(ctx, "axis")?, args.int(ctx, "rank")?);
        Ok(Val::tuple((0..rank.min(64)).filter(|at| *at != axis).map(Val::int).collect()))
    }),
    op("tl._int_dtype", "bits", |ctx, args| {
        let bits = args.int(ctx, "bits")?;
        match u32::try_from(bits).ok().and_then(|bits| DType::int(bits, true)) {
            Some(dtype) => Ok(Val::dtype(dtype)),
            None => Err(ctx.error(format!("there is no integer type of {bits} bits"))),
        }
    }),
    op("tl.get_int_dtype", "bitwidth, signed", |ctx, args| {
        let (bits, signed) = (args.int(ctx, "bitwidth")?, args.bool(ctx, "signed")?);
        match u32::try_from(bits).ok().and_then(|bits| DType::int(bits, signed)) {
            Some(dtype) => Ok(Val::dtype(dtype)),
            None => Err(ctx.error(format!("Unsupported bitwidth {bits} and signedness {signed}"))),
        }
    }),
    op("tl._sum_dtype", "input, dtype", |ctx, args| match args.given("dtype") {
        Some(_) => Ok(Val::dtype(args.scalar(ctx, "dtype")?)),
        None => widened(ctx, &args, sum_dtype),
    }),
    op("tl._scan_dtype", "input, dtype", |ctx, args| match args.given("dtype") {
        Some(_) => Ok(Val::dtype(args.scalar(ctx, "dtype")?)),
        None => widened(ctx, &args, scan_dtype),
    }),
    op("tl._minmax_dtype", "input", |ctx, args| {
        widened(ctx, &args, |dtype| match dtype {
            narrow if narrow.bits() < 32 => {
                if narrow.is_floating() {
                    DType::Fp32
                } else {
                    DType::Int32
                }
            }
            other => other,
        })
    }),
    op("tl.condition", "arg1, disable_licm=False", |ctx, args| {
        let disable_licm = args.truth(ctx, "disable_licm")?;
        Ok(Val::Condition { value: Rc::new(args.val("arg1").clone()), disable_licm })
    }),
    op("tl.pointer_type", "element_ty, address_space=None, const=False", |ctx, args| {
        let constant = args.bool(ctx, "const")?;
        let pointee = args.dtype(ctx, "element_ty")?;
        Ok(Val::dtype(Scalar::Pointer(crate::dtype::Pointer { pointee, constant })))
    }),
    op("tl.block_type", "element_ty, shape", |ctx, args| {
        let (scalar, dims) = (args.scalar(ctx, "element_ty")?, args.dims(ctx, "shape")?);
        let shape = ctx.block_shape(&dims)?;
        Ok(Val::type_of(&crate::typing::Ty { scalar, shape }))
    }),
    op("tl.dtype", "name", |ctx, args| {
        let name = args.text(ctx, "name")?;
        match DType::from_name(&name) {
            Some(dtype) => Ok(Val::dtype(dtype)),
            None => Err(ctx.error(format!("there is no dtype named '{name}'"))),
        }
    }),
];

/// The type in which a sum is done: narrow integers are widened.
fn sum_dtype(dtype: DType) -> DType {
    match (dtype.is_int() && dtype.bits() < 32, dtype.is_int_signed()) {
        (true, true) => DType::Int32,
        (true, false) => DType::UInt32,
        (false, _) => dtype,
    }
}

/// The type in which a running sum or product is done: as a sum, and bf16 in fp32.
fn scan_dtype(dtype: DType) -> DType {
    if dtype == DType::Bf16 { DType::Fp32 } else { sum_dtype(dtype) }
}

/// The type in which a reduction is done, by a rule on number types.
fn widened(ctx: &mut Ctx<'_>, args: &Args, rule: fn(DType) -> DType) -> Res<Val> {
    Ok(Val::dtype(match args.scalar(ctx, "input")? {
        Scalar::Number(dtype) => Scalar::Number(rule(dtype)),
        pointer => pointer,
    }))
}
