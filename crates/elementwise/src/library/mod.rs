//! Functions of maths libraries, by the names that kernels know them under.
//!
//! Names of one vendor's library (`__nv_expf`, `__ocml_exp_f32`) are reduced to the function they stand for. `fast_…`
//! functions are instructions of less accuracy where the machine has them, else the accurate ones.

mod bits;
mod directed;
mod floats;

use crate::small_float::{as_wide, narrow_to};
use crate::{Ctx, Elems, Math, Result};
use llir::{Op, Value};
use ttir::ops::extern_call::plain_symbol;

/// Makes the instructions of a function.
type Make = fn(&mut Ctx<'_, '_>, &Elems<'_>, &[Value]) -> Result<Value>;

/// A function: its plain name (in C for binary64), the number of its operands, and how it is made.
type Row = (&'static str, usize, Make);

/// The function behind a library's name, without the suffix of its type, and whether it asks for speed.
fn plain_name(symbol: &str) -> (&str, bool) {
    let name = plain_symbol(symbol);
    let (name, fast) = name.strip_prefix("fast_").map_or((name, false), |name| (name, true));
    if is_known(name) {
        return (name, fast);
    }
    if let Some(plain) = directed::plain_name(name) {
        return (plain, fast);
    }
    // `fadd_rn` rounds as everything does here.
    let name = match name.strip_suffix("_rn") {
        Some(rounded) => {
            let typed = rounded.strip_prefix(['f', 'd']).filter(|plain| is_known(plain));
            typed.unwrap_or(rounded)
        }
        None => name,
    };
    match name.strip_suffix(['f', 'd']) {
        Some(shorter) if !is_known(name) => (shorter, fast),
        _ => (name, fast),
    }
}

fn find(name: &str) -> Option<&'static Row> {
    floats::TABLE.iter().chain(bits::TABLE).find(|row| row.0 == name)
}

fn is_known(name: &str) -> bool {
    find(name).is_some()
        || bits::conversion(name).is_some()
        || directed::find(name).is_some()
        || maths::find(name).is_some()
}

/// Calls a function; `None` where there is none of this name for these operands.
///
/// # Errors
/// What the instructions say.
pub fn call(ctx: &mut Ctx<'_, '_>, symbol: &str, elems: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    let (name, fast) = plain_name(symbol);
    let pairs = x.iter().zip(&elems.operands);
    let wide: Vec<Value> = pairs.map(|(value, ty)| as_wide(ctx, *ty, *value)).collect();
    let made = made(ctx, (name, fast), elems, &wide)?;
    Ok(made.map(|value| fitted(ctx, elems, value)))
}

fn made(
    ctx: &mut Ctx<'_, '_>,
    (name, fast): (&str, bool),
    elems: &Elems<'_>,
    x: &[Value],
) -> Result<Option<Value>> {
    if let Some((_, arity, make)) = find(name) {
        return if *arity == x.len() { make(ctx, elems, x).map(Some) } else { Ok(None) };
    }
    if let Some((arity, make)) = directed::find(name) {
        return if arity == x.len() { make(ctx, elems, x).map(Some) } else { Ok(None) };
    }
    if let Some(make) = bits::conversion(name).filter(|_| x.len() == 1) {
        return make(ctx, elems, x).map(Some);
    }
    if maths::find(name).is_none_or(|row| row.arity as usize != x.len()) {
        return Ok(None);
    }
    // An integer beside floats is the number it stands for: the exponent of a power.
    let Some(float) = x.iter().map(|value| ctx.b.ty(*value)).find(|ty| ty.is_float()) else {
        return Ok(None);
    };
    let number = |value: &Value| match ctx.b.ty(*value).is_float() {
        true => *value,
        false => ctx.b.cast(Op::SITOFP, *value, float),
    };
    let x: Vec<Value> = x.iter().map(number).collect();
    let found = match (fast, language_function(name)) {
        (true, _) => ctx.target.fast_math(ctx.b, name, &x),
        (false, Some(function)) => ctx.target.math(ctx.b, function, &x),
        (false, None) => None,
    };
    Ok(Some(match found {
        Some(value) => value,
        None => ctx.maths(name, &x)?,
    }))
}

/// The function of the language that means the same within the same bounds: a machine that has instructions for one has
/// them for both.
fn language_function(name: &str) -> Option<Math> {
    match name {
        "exp" => Some(Math::Exp),
        "exp2" => Some(Math::Exp2),
        "rsqrt" => Some(Math::Rsqrt),
        _ => None,
    }
}

/// The value as the result's type: predicates and counts give an `int` in C, perhaps another integer in the language;
/// roundings to integers give floats here.
fn fitted(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, value: Value) -> Value {
    let (have, want) = (ctx.b.ty(value), ctx.result_like(value, elems));
    if elems.result.as_float().is_some() && have.is_float() {
        return narrow_to(ctx, elems.result, value);
    }
    match (have.is_int(), want.is_int()) {
        (true, true) => ctx.b.resize_unsigned(value, want),
        (false, true) => ctx.target.to_int(ctx.b, true, value, want),
        _ => ctx.b.bitcast(value, want),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn names_of_libraries_lead_to_functions() {
        for (symbol, name) in [
            ("__nv_expf", "exp"),
            ("__nv_exp", "exp"),
            ("__ocml_exp2_f32", "exp2"),
            ("__nv_erff", "erf"),
            ("__nv_isnand", "isnan"),
            ("__nv_fast_logf", "log"),
            ("__nv_fadd_rn", "add"),
            ("__nv_fmaf_rn", "fma"),
            ("__nv_dsqrt_rn", "sqrt"),
            ("__nv_popcll", "popcll"),
            ("__nv_saturatef", "saturate"),
            ("__nv_float2int_rd", "float2int_rd"),
            ("__nv_fast_fdividef", "fdividef"),
        ] {
            assert_eq!(plain_name(symbol).0, name, "{symbol}");
        }
        assert!(plain_name("__nv_fast_sinf").1);
    }
}
