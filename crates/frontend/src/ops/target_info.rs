//! Questions about the target, answered when compiling.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::dtype::DType;
use crate::ops::{Args, Builtin, op};
use crate::typing::Ty;
use crate::value::PyValue;
use ir::{Attr, OpRow, Type};
use ttir::ops::{extern_call, program};

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
    op("tl.extra.cuda.gdc_wait", "", |ctx, _| dependency(ctx, &program::GRID_DEPENDENCY_WAIT)),
    op("tl.extra.cuda.gdc_launch_dependents", "", |ctx, _| {
        dependency(ctx, &program::GRID_DEPENDENCY_LAUNCH_DEPENDENTS)
    }),
    op("tl.extra.cuda.globaltimer", "", |ctx, _| {
        register(ctx, "cuda", ("mov.u64 $0, %globaltimer;", "=l"), DType::Int64)
    }),
    op("tl.extra.cuda.smid", "", |ctx, _| register(ctx, "cuda", ("mov.u32 $0, %smid;", "=r"), DType::Int32)),
    op("tl.extra.cuda.num_warps", "", |ctx, _| Ok(Val::int(ctx.request.options.num_warps))),
    op("tl.extra.cuda.num_threads", "", threads),
    op("tl.extra.hip.memrealtime", "", |ctx, _| {
        let clock = match &ctx.request.facts.arch {
            arch if arch.starts_with("gfx9") => "s_memrealtime $0\ns_waitcnt vmcnt(0)",
            arch if arch.starts_with("gfx11") => {
                "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)"
            }
            _ => "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_wait_kmcnt 0",
        };
        register(ctx, "hip", (clock, "=r"), DType::Int64)
    }),
    op("tl.extra.hip.smid", "", |ctx, _| {
        // On CDNA compute unit, array and engine, on RDNA the pair of compute units within its array.
        let is_cdna = ctx.request.facts.arch.starts_with("gfx9");
        let unit =
            if is_cdna { "s_getreg_b32 $0, hwreg(4, 8, 8)" } else { "s_getreg_b32 $0, hwreg(23, 10, 4)" };
        register(ctx, "hip", (unit, "=r"), DType::Int32)
    }),
    op("tl.extra.hip.num_warps", "", |ctx, _| Ok(Val::int(ctx.request.options.num_warps))),
    op("tl.extra.hip.num_threads", "", threads),
];

/// What to say of a dot of fp8e4b15 on the target.
pub(crate) fn fp8e4b15_deprecation(ctx: &Ctx<'_>) -> Option<&'static str> {
    let newer = on_device(ctx) && architecture(ctx).is_some_and(|number| number >= 90);
    newer.then_some(
        "the use of fp8e4b15 is deprecated on Hopper and later architectures and can cause significant slow down",
    )
}

/// Ten times the major version of the architecture, plus the minor one.
fn architecture(ctx: &Ctx<'_>) -> Option<i128> {
    ctx.request.facts.arch.trim_start_matches("sm_").trim_end_matches('a').parse().ok()
}

/// Whether the kernel is compiled for the devices that a function is of.
fn on_device(ctx: &Ctx<'_>) -> bool {
    ctx.request.facts.backend == "cuda"
}

/// What orders overlapping launches; where launches never overlap, nothing.
fn dependency(ctx: &mut Ctx<'_>, row: &'static OpRow) -> Res<Val> {
    if on_device(ctx) {
        ctx.emit_effect(row, &[], &[]);
    }
    Ok(Val::NONE)
}

/// What an instruction reads from a register of the devices of a backend: its text and constraints.
fn register(ctx: &mut Ctx<'_>, backend: &str, (asm, constraints): (&str, &str), dtype: DType) -> Res<Val> {
    if ctx.request.facts.backend != backend {
        let message = "this function reads a register of another device than the kernel is compiled for";
        let help = format!("ask for the target first: `if tl.target_info.is_{backend}():`");
        return Err(ctx.error_help(message, &help));
    }
    let ty = ctx.ir_type(&Ty::scalar(dtype))?;
    let pure = dtype == DType::Int32;
    let attrs = [
        Some(Attr::str(asm)),
        Some(Attr::str(constraints)),
        Some(Attr::int(1, Type::int(32))),
        Some(Attr::Bool(pure)),
    ];
    let value = ctx.emit_as(&extern_call::INLINE_ASM, &[], &attrs, ty);
    Ok(Val::Tensor(Tensor { value, ty: Ty::scalar(dtype) }))
}

fn threads(ctx: &mut Ctx<'_>, _args: Args) -> Res<Val> {
    Ok(Val::int(ctx.request.options.num_warps * ctx.request.facts.warp_size))
}

/// Whether the architecture is `10 * major + minor` or later; never on other targets.
fn capability(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (major, minor) = (args.int(ctx, "major")?, args.int(ctx, "minor")?);
    let wanted = major.saturating_mul(10).saturating_add(minor);
    let reached = architecture(ctx).is_some_and(|own| own >= wanted);
    Ok(Val::bool(on_device(ctx) && reached))
}
