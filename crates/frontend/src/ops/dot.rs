//! Matrix products.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::{Args, Builtin, op};
use crate::semantic::DotArgs;

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
        |ctx, _| {
            Err(ctx.error_help(
                "dot_scaled is not supported on this target",
                "multiply the operands by their scales and use `tl.dot`",
            ))
        },
    ),
];

fn dot(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let precision = args.text(ctx, "input_precision")?;
    let dot = DotArgs {
        a: args.tensor(ctx, "input")?,
        b: args.tensor(ctx, "other")?,
        acc: args.optional_tensor(ctx, "acc")?,
        input_precision: (!precision.is_empty()).then_some(precision),
        allow_tf32: args.given("allow_tf32").is_some().then(|| args.bool(ctx, "allow_tf32")).transpose()?,
        max_num_imprecise_acc: args.optional_int(ctx, "max_num_imprecise_acc")?.map(|value| value as i64),
        out_dtype: args.given("out_dtype").is_some().then(|| args.dtype(ctx, "out_dtype")).transpose()?,
    };
    Ok(ctx.dot(dot)?.into())
}
