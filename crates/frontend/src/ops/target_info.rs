//! Questions about the target, answered when compiling. What one kind of target alone has is written with them in the
//! library: `stdlib/target_info.py`, `stdlib/extra_*.py`.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::{Args, Builtin, op};
use crate::value::PyValue;
use ttir::ops::program;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.target_info.current_target", "", |ctx, _| {
        let facts = &ctx.request.facts;
        let arch = facts.arch.parse().map_or_else(|_| PyValue::str(&facts.arch), PyValue::Int);
        let items = [PyValue::str(&facts.backend), arch, PyValue::Int(facts.warp_size.into())];
        let fields = ["backend", "arch", "warp_size"].map(std::sync::Arc::from).to_vec();
        let tuple = crate::value::TupleValue { items: items.to_vec(), fields: Some(fields) };
        Ok(Val::from_py(PyValue::Tuple(tuple.into())))
    }),
    op("tl._architecture_begins_with", "name", |ctx, args| {
        let name = args.text(ctx, "name")?;
        Ok(Val::bool(ctx.request.facts.arch.starts_with(&name)))
    }),
    op("tl._num_warps", "", |ctx, _| Ok(Val::int(ctx.request.options.num_warps))),
    op("tl._only_on", "backend", only_on),
    op("tl._grid_dependency_wait", "", |ctx, _| {
        ctx.emit_effect(&program::GRID_DEPENDENCY_WAIT, &[], &[]);
        Ok(Val::NONE)
    }),
    op("tl._grid_dependency_launch_dependents", "", |ctx, _| {
        ctx.emit_effect(&program::GRID_DEPENDENCY_LAUNCH_DEPENDENTS, &[], &[]);
        Ok(Val::NONE)
    }),
];

/// An error where the kernel is compiled for another backend.
fn only_on(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let backend = args.text(ctx, "backend")?;
    if ctx.request.facts.backend == backend {
        return Ok(Val::NONE);
    }
    let message = "this function reads a register of another device than the kernel is compiled for";
    let help = format!("ask for the target first: `if tl.target_info.is_{backend}():`");
    Err(ctx.error_help(message, &help))
}
