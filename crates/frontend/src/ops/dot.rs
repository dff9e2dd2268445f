//! Matrix products.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::dtype::DType;
use crate::ops::{Args, Builtin, op};
use crate::semantic::{DotArgs, ScaledDotArgs, ScaledOperand};

pub(super) static TABLE: &[Builtin] = &[
    op(
        "tl.dot",
        "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=None",
        dot,
    ),
    op(
        "tl.dot_scaled",
        "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, \
         rhs_k_pack=True, out_dtype=None",
        dot_scaled,
    ),
];

fn dot(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let precision = args.text(ctx, "input_precision")?;
    let dot = DotArgs {
        a: args.tensor(ctx, "input")?,
        b: args.tensor(ctx, "other")?,
        acc: args.optional_tensor(ctx, "acc")?,
        input_precision: (!precision.is_empty()).then_some(precision),
        allow_tf32: args.given("allow_tf32").is_some().then(|| args.truth(ctx, "allow_tf32")).transpose()?,
        max_num_imprecise_acc: args.optional_int(ctx, "max_num_imprecise_acc")?.map(|value| value as i64),
        out_dtype: args.given("out_dtype").is_some().then(|| args.dtype(ctx, "out_dtype")).transpose()?,
    };
    Ok(ctx.dot(dot)?.into())
}

fn dot_scaled(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let lhs = scaled_operand(ctx, &args, ["lhs", "lhs_scale", "lhs_format", "lhs_k_pack"])?;
    let rhs = scaled_operand(ctx, &args, ["rhs", "rhs_scale", "rhs_format", "rhs_k_pack"])?;
    let out_dtype = args.given("out_dtype").is_some().then(|| args.dtype(ctx, "out_dtype")).transpose()?;
    let dot = ScaledDotArgs {
        lhs,
        rhs,
        acc: args.optional_tensor(ctx, "acc")?,
        fast_math: args.bool(ctx, "fast_math")?,
        out_dtype: out_dtype.unwrap_or(DType::Fp32),
    };
    Ok(ctx.dot_scaled(dot)?.into())
}

/// An operand by the names of its parameters: itself, scale, format, packing.
fn scaled_operand(ctx: &mut Ctx<'_>, args: &Args, names: [&'static str; 4]) -> Res<ScaledOperand> {
    let [name, scale, format, k_pack] = names;
    Ok(ScaledOperand {
        name,
        tensor: args.tensor(ctx, name)?,
        scale: args.optional_tensor(ctx, scale)?,
        format: args.text(ctx, format)?,
        k_pack: args.bool(ctx, k_pack)?,
    })
}
