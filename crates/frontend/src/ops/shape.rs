//! Moving elements between shapes.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::dtype::DType;
use crate::ops::{Args, Builtin, method, op};
use crate::typing::ShapeText;
use ir::Attr;
use ttir::ops::shape;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.broadcast", "input, other", |ctx, args| {
        let (a, b) = (args.tensor(ctx, "input")?, args.tensor(ctx, "other")?);
        let (a, b) = ctx.broadcast_both(a, b)?;
        Ok(Val::tuple(vec![a.into(), b.into()]))
    }),
    method("tl.broadcast_to", "input, *shape", broadcast_to),
    method("tl.expand_dims", "input, axis", expand_dims),
    method("tl.reshape", "input, *shape, can_reorder=False", |ctx, args| {
        let reorder = args.bool(ctx, "can_reorder")?;
        reshape(ctx, &args, reorder)
    }),
    method("tl.view", "input, *shape", |ctx, args| {
        ctx.warn("view is deprecated, please use reshape with can_reorder being true.");
        reshape(ctx, &args, true)
    }),
    method("tl.permute", "input, *dims", |ctx, args| {
        let (input, dims) = (args.tensor(ctx, "input")?, args.dims(ctx, "dims")?);
        Ok(ctx.permute(input, &dims)?.into())
    }),
    method("tl.trans", "input, *dims", |ctx, args| {
        let (input, dims) = (args.tensor(ctx, "input")?, args.dims(ctx, "dims")?);
        Ok(if dims.is_empty() { ctx.transpose(input)? } else { ctx.permute(input, &dims)? }.into())
    }),
    method("tl.join", "a, b", |ctx, args| {
        let (a, b) = (args.tensor(ctx, "a")?, args.tensor(ctx, "b")?);
        Ok(ctx.join(a, b)?.into())
    }),
    method("tl.split", "a", |ctx, args| {
        let tensor = args.tensor(ctx, "a")?;
        let (left, right) = ctx.split(tensor)?;
        Ok(Val::tuple(vec![left.into(), right.into()]))
    }),
    op("tl.cat", "input, other, can_reorder=False, dim=0", |ctx, args| {
        let (a, b) = (args.tensor(ctx, "input")?, args.tensor(ctx, "other")?);
        let (reorder, dim) = (args.truth(ctx, "can_reorder")?, args.int(ctx, "dim")?);
        Ok(ctx.cat(a, b, dim, reorder)?.into())
    }),
    method("tl.item", "input", |ctx, args| {
        let input = args.tensor(ctx, "input")?;
        Ok(ctx.item(input)?.into())
    }),
    method("tl.gather", "src, index, axis", gather),
    op("tl._resized", "input, shape", |ctx, args| {
        let (input, dims) = (args.tensor(ctx, "input")?, args.dims(ctx, "shape")?);
        let dims = ctx.shape_of(&input, &dims)?;
        Ok(ctx.resized_to(input, &dims)?.into())
    }),
];

fn broadcast_to(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (input, dims) = (args.tensor(ctx, "input")?, args.dims(ctx, "shape")?);
    let dims = ctx.shape_of(&input, &dims)?;
    let own = &input.ty.shape;
    let (from, to) = (ShapeText(own).to_string(), ShapeText(&dims).to_string());
    if input.ty.is_block() && own.len() != dims.len() {
        return Err(ctx.error_help(
            format!("Cannot broadcast, rank mismatch: {from}, {to}"),
            "add dimensions first, with `x[None, :]` or `tl.expand_dims`",
        ));
    }
    if let Some(at) = own.iter().zip(&dims).position(|(own, asked)| own != asked && *own != 1) {
        return Err(ctx.error(format!(
            "Cannot broadcast, the expanded size of the tensor ({}) must match the existing size ({}) at non-singleton \
             dimension {at}: {from}, {to}",
            dims[at], own[at]
        )));
    }
    Ok(ctx.broadcast(input, &dims)?.into())
}

fn expand_dims(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (mut input, axes) = (args.tensor(ctx, "input")?, args.dims(ctx, "axis")?);
    let rank = input.ty.shape.len() + axes.len();
    let mut wrapped = Vec::new();
    for axis in axes {
        wrapped.push(ctx.wrap_axis(axis, rank)?);
    }
    wrapped.sort_unstable();
    if wrapped.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(ctx.error(format!("expand_dims received duplicate axes, normalized axes = {wrapped:?}")));
    }
    for axis in wrapped {
        input = ctx.expand_dims(input, axis)?;
    }
    Ok(input.into())
}

fn reshape(ctx: &mut Ctx<'_>, args: &Args, reorder: bool) -> Res<Val> {
    let (input, dims) = (args.tensor(ctx, "input")?, args.dims(ctx, "shape")?);
    Ok(ctx.reshape(input, &dims, reorder)?.into())
}

fn gather(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (src, index) = (args.tensor(ctx, "src")?, args.tensor(ctx, "index")?);
    if !index.ty.scalar.is_number(DType::is_int) {
        return Err(
            ctx.error(Cause::Assertion.says(format!("index must be an integer tensor, not {}", index.ty)))
        );
    }
    let rank = src.ty.shape.len();
    if index.ty.shape.len() != rank {
        return Err(ctx.error(Cause::Assertion.says("source and index tensors must have the same rank")));
    }
    let axis = args.int(ctx, "axis")?;
    let axis = ctx.wrap_axis(axis, rank)?;
    if let Some(dim) = (0..rank).find(|dim| *dim != axis && src.ty.shape[*dim] != index.ty.shape[*dim]) {
        return Err(ctx.error(
            Cause::Assertion.says(format!("index dim {dim} must match the corresponding source dim")),
        ));
    }
    let value = ctx.emit(&shape::GATHER, &[src.value, index.value], &[Some(Attr::i32(axis as i32))])?;
    Ok(Val::Tensor(Tensor { value, ty: index.ty.with(src.ty.scalar) }))
}
