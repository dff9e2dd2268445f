//! Reductions, scans and maps with a function of the kernel's, and counting.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::dtype::DType;
use crate::ops::{Args, Builtin, method, op};
use crate::typing::Ty;
use ttir::ops::reduce;

pub(super) static TABLE: &[Builtin] = &[
    method("tl.reduce", "input, axis, combine_fn, keep_dims=False", |ctx, args| {
        let (inputs, single) = inputs(ctx, &args)?;
        let (axis, keep_dims) = (args.optional_int(ctx, "axis")?, args.truth(ctx, "keep_dims")?);
        let results = ctx.reduce(inputs, axis, args.val("combine_fn"), keep_dims)?;
        Ok(one_or_all(results, single))
    }),
    method("tl.associative_scan", "input, axis, combine_fn, reverse=False", |ctx, args| {
        let (inputs, single) = inputs(ctx, &args)?;
        let (axis, reverse) = (args.int(ctx, "axis")?, args.bool(ctx, "reverse")?);
        let results = ctx.scan(inputs, axis, args.val("combine_fn"), reverse)?;
        Ok(one_or_all(results, single))
    }),
    op("tl.map_elementwise", "scalar_fn, *args, pack=1", |ctx, args| {
        let inputs: Res<Vec<Tensor>> = args.rest.iter().map(|val| ctx.tensor_from(val)).collect();
        let pack = args.int(ctx, "pack")?;
        let (results, is_tuple) = ctx.map_elementwise(args.val("scalar_fn"), inputs?, pack)?;
        Ok(one_or_all(results, !is_tuple))
    }),
    method("tl.histogram", "input, num_bins, mask=None", histogram),
];

fn inputs(ctx: &mut Ctx<'_>, args: &Args) -> Res<(Vec<Tensor>, bool)> {
    match args.val("input") {
        Val::Tuple(tuple) => {
            let tensors: Res<Vec<Tensor>> = tuple.items.iter().map(|item| ctx.tensor_from(item)).collect();
            Ok((tensors?, false))
        }
        single => Ok((vec![ctx.tensor_from(single)?], true)),
    }
}

fn one_or_all(mut results: Vec<Tensor>, single: bool) -> Val {
    match results.pop() {
        Some(only) if single => only.into(),
        Some(last) => {
            results.push(last);
            Val::tuple(results.into_iter().map(Val::Tensor).collect())
        }
        None => Val::tuple(Vec::new()),
    }
}

fn histogram(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let input = args.tensor(ctx, "input")?;
    if input.ty.shape.len() != 1 {
        return Err(ctx.error_help(
            Cause::Assertion.says(format!("histogram only supports 1D input, found {}", input.ty)),
            "use `tl.ravel`",
        ));
    }
    if !input.ty.scalar.is_number(|dtype| dtype.is_int() && dtype.bits() == 32) {
        return Err(
            ctx.error(format!("histogram only supports 32-bit integer input, but got {}", input.ty.scalar))
        );
    }
    let bins = args.int(ctx, "num_bins")?;
    let dims = ctx.block_shape(&[bins])?;
    let ty = Ty { scalar: DType::Int32.into(), shape: dims };
    let mut operands = vec![input.value];
    if let Some(mask) = args.optional_tensor(ctx, "mask")? {
        ctx.check_mask(Some(&mask))?;
        operands.push(ctx.broadcast(mask, &input.ty.shape)?.value);
    }
    let ir_type = ctx.ir_type(&ty)?;
    let value = ctx.emit_as(&reduce::HISTOGRAM, &operands, &[], ir_type);
    Ok(Val::Tensor(Tensor { value, ty }))
}
