//! Promises to the compiler.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::{Args, Builtin, op};
use ir::{Attr, AttrKey, DeclaredKey, Elements, Type};
use ttir::ops::{func, program};

pub(super) static TABLE: &[Builtin] = &[
    op("tl.multiple_of", "input, values", |ctx, args| hint(ctx, &args, "multiple_of", &func::DIVISIBILITY)),
    op("tl.max_contiguous", "input, values", |ctx, args| {
        hint(ctx, &args, "max_contiguous", &func::CONTIGUITY)
    }),
    op("tl.max_constancy", "input, values", |ctx, args| hint(ctx, &args, "max_constancy", &func::CONSTANCY)),
    op("tl.assume", "cond", assume),
];

fn hint(ctx: &mut Ctx<'_>, args: &Args, name: &str, key: &'static DeclaredKey) -> Res<Val> {
    let input = args.tensor(ctx, "input")?;
    let values = args.dims(ctx, "values")?;
    let rank = input.ty.shape.len().max(1);
    if values.len() != rank {
        return Err(ctx.error(format!("Shape of input to {name} does not match the length of values")));
    }
    let list: Vec<i64> = values.iter().map(|value| *value as i64).collect();
    let ty = ttir::types::tensor(&[list.len() as i64], Type::int(32));
    let elements = match list.as_slice() {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => Elements::Splat(*first as u64),
        all => Elements::List(all.iter().map(|value| *value as u64).collect()),
    };
    set_hint(ctx, input.value, key.key(), Attr::Dense { ty, elements });
    Ok(input.into())
}

/// A hint stands on the op that makes a value; a parameter carries it itself.
fn set_hint(ctx: &mut Ctx<'_>, value: ir::Value, key: AttrKey, attr: Attr) {
    match ctx.module.def(value) {
        ir::Def::Result(op, _) => ctx.module.set_extra(op, key, Some(attr)),
        ir::Def::Arg(block, index) => {
            let owner = ctx.module.region_parent(ctx.module.block_region(block));
            let param = owner.is_some_and(|op| ctx.module.is(op, &func::FUNC));
            if let (true, Attr::Dense { elements: Elements::Splat(value), .. }) = (param, attr) {
                ctx.module.set_arg_attr(block, index as usize, key, Some(Attr::i32(value as i32)));
            }
        }
    }
}

fn assume(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let cond = args.tensor(ctx, "cond")?;
    if cond.ty.is_block() {
        return Err(ctx.error_help(
            format!("tl.assume takes a scalar condition, found {}", cond.ty),
            "assume something about scalars, such as strides: `tl.assume(stride > 0)`",
        ));
    }
    let cond = ctx.as_bool(cond)?;
    ctx.emit_effect(&program::ASSUME, &[cond.value], &[]);
    Ok(Val::NONE)
}
