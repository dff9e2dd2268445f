//! Elementary functions: what the machine has as an instruction of the accuracy of the language, else our own.

use crate::arith_float::{arithmetic, on_wide};
use crate::{Ctx, Elems, Entry, Math, Result};
use llir::{Intrinsic, Type, Value, intrinsics};
use ttir::ops::math;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&math::ABSF, |ctx, e, x| Ok(clear_sign(ctx, e, x[0]))),
    (&math::CEIL, |ctx, e, x| intrinsic(ctx, &intrinsics::CEIL, e, x)),
    (&math::FLOOR, |ctx, e, x| intrinsic(ctx, &intrinsics::FLOOR, e, x)),
    // In binary32 a fused product of narrower formats may round twice in rare ties: the instruction is taken where
    // there is one.
    (&math::FMA, |ctx, e, x| {
        arithmetic(ctx, e, x, |ctx, v| Ok(ctx.b.intrinsic(&intrinsics::FMA, ctx.b.ty(v[0]), v)))
    }),
    (&math::EXP, |ctx, e, x| function(ctx, (Math::Exp, "exp"), e, x)),
    (&math::EXP2, |ctx, e, x| function(ctx, (Math::Exp2, "exp2"), e, x)),
    (&math::LOG, |ctx, e, x| function(ctx, (Math::Log, "log"), e, x)),
    (&math::LOG2, |ctx, e, x| function(ctx, (Math::Log2, "log2"), e, x)),
    (&math::LOG1P, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| ctx.maths("log1p", v))),
    (&math::SIN, |ctx, e, x| function(ctx, (Math::Sin, "sin"), e, x)),
    (&math::COS, |ctx, e, x| function(ctx, (Math::Cos, "cos"), e, x)),
    (&math::SQRT, |ctx, e, x| function(ctx, (Math::Sqrt, "sqrt"), e, x)),
    (&math::PRECISE_SQRT, |ctx, e, x| function(ctx, (Math::PreciseSqrt, "sqrt"), e, x)),
    (&math::RSQRT, |ctx, e, x| function(ctx, (Math::Rsqrt, "rsqrt"), e, x)),
    (&math::TANH, |ctx, e, x| function(ctx, (Math::Tanh, "tanh"), e, x)),
    (&math::COSH, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| ctx.maths("cosh", v))),
    (&math::ERF, |ctx, e, x| on_wide(ctx, e, x, |ctx, v| ctx.maths("erf", v))),
];

fn intrinsic(
    ctx: &mut Ctx<'_, '_>,
    row: &'static Intrinsic,
    elems: &Elems<'_>,
    x: &[Value],
) -> Result<Value> {
    on_wide(ctx, elems, x, |ctx, v| Ok(ctx.b.intrinsic(row, ctx.b.ty(v[0]), v)))
}

fn function(
    ctx: &mut Ctx<'_, '_>,
    (function, name): (Math, &str),
    elems: &Elems<'_>,
    x: &[Value],
) -> Result<Value> {
    on_wide(ctx, elems, x, |ctx, v| match ctx.target.math(ctx.b, function, v) {
        Some(value) => Ok(value),
        None => ctx.maths(name, v),
    })
}

fn clear_sign(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, x: Value) -> Value {
    let ty = ctx.b.ty(x);
    if matches!(ty.lane(), Type::F32 | Type::F64) {
        return ctx.b.intrinsic(&intrinsics::FABS, ty, &[x]);
    }
    let int = ty.as_int();
    let bits = ctx.b.bitcast(x, int);
    let width = elems.result.scalar_bits().expect("a float has a width");
    let mask = ctx.b.bits(int, (1u128 << (width - 1)) - 1);
    let cleared = ctx.b.and(bits, mask);
    ctx.b.bitcast(cleared, ty)
}
