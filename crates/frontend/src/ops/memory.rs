//! Loads and stores.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::block_pointer::{checked_dims, refuse_block_arguments, refuse_masks};
use crate::ops::{Args, Builtin, method};
use crate::semantic::{LoadArgs, StoreArgs};

pub(super) static TABLE: &[Builtin] = &[
    method(
        "tl.load",
        "pointer, mask=None, other=None, boundary_check=None, padding_option='', cache_modifier='', eviction_policy='', \
         volatile=False",
        load,
    ),
    method(
        "tl.store",
        "pointer, value, mask=None, boundary_check=None, cache_modifier='', eviction_policy=''",
        store,
    ),
];

fn hints(ctx: &mut Ctx<'_>, args: &Args) -> Res<[String; 2]> {
    Ok([args.text(ctx, "cache_modifier")?, args.text(ctx, "eviction_policy")?])
}

fn load(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let hints = hints(ctx, &args)?;
    let volatile = args.bool(ctx, "volatile")?;
    if let Val::BlockPointer(pointer) = args.val("pointer") {
        refuse_masks(ctx, &args, &["mask", "other"])?;
        let (checked, padding) = (checked_dims(ctx, &args, pointer)?, args.text(ctx, "padding_option")?);
        return Ok(ctx.load_block(pointer, &checked, &padding, hints, volatile)?.into());
    }
    refuse_block_arguments(ctx, &args, &["boundary_check", "padding_option"])?;
    let [cache_modifier, eviction_policy] = hints;
    let load = LoadArgs {
        pointer: args.tensor(ctx, "pointer")?,
        mask: args.optional_num(ctx, "mask")?,
        other: args.optional_num(ctx, "other")?,
        cache_modifier,
        eviction_policy,
        volatile,
    };
    Ok(Val::Tensor(ctx.load(load)?))
}

fn store(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let hints = hints(ctx, &args)?;
    let value = args.num(ctx, "value")?;
    if let Val::BlockPointer(pointer) = args.val("pointer") {
        refuse_masks(ctx, &args, &["mask"])?;
        let checked = checked_dims(ctx, &args, pointer)?;
        ctx.store_block(pointer, value, &checked, hints)?;
        return Ok(Val::NONE);
    }
    refuse_block_arguments(ctx, &args, &["boundary_check"])?;
    let [cache_modifier, eviction_policy] = hints;
    let store = StoreArgs {
        pointer: args.tensor(ctx, "pointer")?,
        value,
        mask: args.optional_num(ctx, "mask")?,
        cache_modifier,
        eviction_policy,
    };
    ctx.store(store)?;
    Ok(Val::NONE)
}
