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
    ctx.set_hint(input.value, key.key(), Attr::Dense { ty, elements });
    Ok(input.into())
}

impl Ctx<'_> {
    /// A hint stands on the op that defines a value; a parameter carries it itself, and so does what a loop carries,
    /// until the loop is complete.
    pub(crate) fn set_hint(&mut self, value: ir::Value, key: AttrKey, attr: Attr) {
        let (block, index) = match self.module.def(value) {
            // An attribute is of all results, and those of a loop or a branch are of different kinds.
            ir::Def::Result(op, _) if self.module.results(op).len() > 1 => return,
            ir::Def::Result(op, _) => return self.module.set_extra(op, key, Some(attr)),
            ir::Def::Arg(block, index) => (block, index as usize),
        };
        let owner = self.module.region_parent(self.module.block_region(block));
        let is_param = owner.is_some_and(|op| self.module.is(op, &func::FUNC));
        match attr {
            Attr::Dense { elements: Elements::Splat(value), .. } if is_param => {
                self.module.set_arg_attr(block, index, key, Some(Attr::i32(value as i32)));
            }
            _ if is_param => {}
            attr => self.module.set_arg_attr(block, index, key, Some(attr)),
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
