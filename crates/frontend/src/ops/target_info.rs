//! Questions about the target, answered when compiling.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::ops::{Args, Builtin, op};
use crate::value::PyValue;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.target_info.is_cuda", "", |ctx, _| Ok(Val::bool(ctx.request.facts.backend == "cuda"))),
    op("tl.target_info.is_hip", "", |ctx, _| Ok(Val::bool(ctx.request.facts.backend == "hip"))),
    op("tl.target_info.is_hip_cdna3", "", |ctx, _| Ok(Val::bool(ctx.request.facts.arch == "gfx942"))),
    op("tl.target_info.is_hip_cdna4", "", |ctx, _| Ok(Val::bool(ctx.request.facts.arch == "gfx950"))),
    op("tl.target_info.is_hip_gfx1250", "", |ctx, _| {
        Ok(Val::bool(ctx.request.facts.arch.starts_with("gfx1250")))
    }),
    op("tl.target_info.cuda_capability_geq", "major, minor=0", capability),
    op("tl.target_info.current_target", "", |ctx, _| {
        let facts = &ctx.request.facts;
        let items =
            [PyValue::str(&facts.backend), PyValue::str(&facts.arch), PyValue::Int(facts.warp_size.into())];
        let fields = ["backend", "arch", "warp_size"].map(std::sync::Arc::from).to_vec();
        let tuple = crate::value::TupleValue { items: items.to_vec(), fields: Some(fields) };
        Ok(Val::from_py(PyValue::Tuple(tuple.into())))
    }),
    op("tl.extra.cuda.num_warps", "", |ctx, _| Ok(Val::int(ctx.request.options.num_warps))),
    op("tl.extra.cuda.num_threads", "", threads),
    op("tl.extra.hip.num_warps", "", |ctx, _| Ok(Val::int(ctx.request.options.num_warps))),
    op("tl.extra.hip.num_threads", "", threads),
];

fn threads(ctx: &mut Ctx<'_>, _args: Args) -> Res<Val> {
    Ok(Val::int(ctx.request.options.num_warps * ctx.request.facts.warp_size))
}

/// Whether the architecture is `10 * major + minor` or later; never on other targets.
fn capability(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (major, minor) = (args.int(ctx, "major")?, args.int(ctx, "minor")?);
    let facts = &ctx.request.facts;
    let own = facts.arch.trim_start_matches("sm_").trim_end_matches('a').parse::<i128>();
    let reached = own.is_ok_and(|own| own >= major.saturating_mul(10).saturating_add(minor));
    Ok(Val::bool(facts.backend == "cuda" && reached))
}
