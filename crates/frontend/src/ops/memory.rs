//! Loads and stores.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::block_pointer::{checked_dims, refuse_block_arguments, refuse_masks};
use crate::ops::{Args, Builtin, method};
use crate::semantic::{LoadArgs, StoreArgs};
use crate::value::PyValue;

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

/// The parameters behind the first three in the order of releases without block pointers.
const WITHOUT_BLOCK_POINTERS: [&str; 3] = ["cache_modifier", "eviction_policy", "volatile"];

/// Arguments of a load or a store, those behind the third by name where the fourth is a text: releases without block
/// pointers have no `boundary_check`, and a cache modifier in its place.
pub(crate) fn by_name(
    path: &str,
    mut args: Vec<Val>,
    mut keywords: Vec<(String, Val)>,
) -> (Vec<Val>, Vec<(String, Val)>) {
    let most = match path {
        "tl.load" => 6,
        "tl.store" => 5,
        _ => return (args, keywords),
    };
    if matches!(args.get(3), Some(Val::Const(PyValue::Str(_)))) && args.len() <= most {
        let names = WITHOUT_BLOCK_POINTERS.iter().map(|name| (*name).to_owned());
        keywords.extend(names.zip(args.split_off(3)));
    }
    (args, keywords)
}

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
