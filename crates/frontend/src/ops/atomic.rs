//! Atomic operations.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::{Args, Builtin, method};
use crate::semantic::{AtomicArgs, PollArgs};

const RMW: &str = "pointer, val, mask=None, sem=None, scope=None";

pub(super) static TABLE: &[Builtin] = &[
    method("tl.atomic_add", RMW, |ctx, args| rmw(ctx, &args, "add")),
    method("tl.atomic_max", RMW, |ctx, args| rmw(ctx, &args, "max")),
    method("tl.atomic_min", RMW, |ctx, args| rmw(ctx, &args, "min")),
    method("tl.atomic_and", RMW, |ctx, args| rmw(ctx, &args, "and")),
    method("tl.atomic_or", RMW, |ctx, args| rmw(ctx, &args, "or")),
    method("tl.atomic_xor", RMW, |ctx, args| rmw(ctx, &args, "xor")),
    method("tl.atomic_xchg", RMW, |ctx, args| rmw(ctx, &args, "xchg")),
    method("tl.atomic_cas", "pointer, cmp, val, sem=None, scope=None", |ctx, args| {
        let (pointer, cmp, val) =
            (args.tensor(ctx, "pointer")?, args.tensor(ctx, "cmp")?, args.tensor(ctx, "val")?);
        let (sem, scope) = (args.text(ctx, "sem")?, args.text(ctx, "scope")?);
        Ok(ctx.atomic_cas(pointer, cmp, val, &sem, &scope)?.into())
    }),
    method("tl.atomic_load", "pointer, mask=None, sem=None, scope=None", |ctx, args| {
        let atomic = atomic_args(ctx, &args, None)?;
        Ok(ctx.atomic_load(atomic)?.into())
    }),
    method("tl.atomic_store", RMW, |ctx, args| {
        let atomic = atomic_args(ctx, &args, Some("val"))?;
        ctx.atomic_store(atomic)?;
        Ok(Val::NONE)
    }),
    method(
        "tl.atomic_poll",
        "pointer, expected_value, sem=None, scope=None, timeout_ns=None",
        |ctx, args| {
            let (pointer, expected) = (args.tensor(ctx, "pointer")?, args.num(ctx, "expected_value")?);
            let (sem, scope) = (args.text(ctx, "sem")?, args.text(ctx, "scope")?);
            let timeout = args.optional_num(ctx, "timeout_ns")?;
            Ok(ctx.atomic_poll(PollArgs { pointer, expected, sem, scope, timeout })?.into())
        },
    ),
];

fn atomic_args(ctx: &mut Ctx<'_>, args: &Args, value: Option<&str>) -> Res<AtomicArgs> {
    Ok(AtomicArgs {
        pointer: args.tensor(ctx, "pointer")?,
        value: value.map(|name| args.tensor(ctx, name)).transpose()?,
        mask: args.optional_tensor(ctx, "mask")?,
        sem: args.text(ctx, "sem")?,
        scope: args.text(ctx, "scope")?,
    })
}

fn rmw(ctx: &mut Ctx<'_>, args: &Args, function: &str) -> Res<Val> {
    let atomic = atomic_args(ctx, args, Some("val"))?;
    Ok(ctx.atomic_rmw(function, atomic)?.into())
}
