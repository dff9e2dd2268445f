//! Loads and stores.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::{Args, Builtin, op};
use crate::semantic::{LoadArgs, StoreArgs};

pub(super) static TABLE: &[Builtin] = &[
    op(
        "tl.load",
        "pointer, mask=None, other=None, *, cache_modifier='', eviction_policy='', volatile=False",
        load,
    ),
    op("tl.store", "pointer, value, mask=None, *, cache_modifier='', eviction_policy=''", store),
    op("tl.make_block_ptr", "base, shape, strides, offsets, block_shape, order", |ctx, _| {
        Err(ctx.error_help(
            "Block pointers have been removed in favor of the tensor descriptor API",
            "use `tl.make_tensor_descriptor`, or pointers with `tl.arange`",
        ))
    }),
];

fn load(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let load = LoadArgs {
        pointer: args.tensor(ctx, "pointer")?,
        mask: args.optional_num(ctx, "mask")?,
        other: args.optional_num(ctx, "other")?,
        cache_modifier: args.text(ctx, "cache_modifier")?,
        eviction_policy: args.text(ctx, "eviction_policy")?,
        volatile: args.bool(ctx, "volatile")?,
    };
    Ok(Val::Tensor(ctx.load(load)?))
}

fn store(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let store = StoreArgs {
        pointer: args.tensor(ctx, "pointer")?,
        value: args.num(ctx, "value")?,
        mask: args.optional_num(ctx, "mask")?,
        cache_modifier: args.text(ctx, "cache_modifier")?,
        eviction_policy: args.text(ctx, "eviction_policy")?,
    };
    ctx.store(store)?;
    Ok(Val::NONE)
}
