//! Functions of maths libraries, by the names that kernels know them under.
//!
//! Names of one vendor's library (`__nv_expf`, `__ocml_exp_f32`) are reduced to the function they stand for; what there is
//! no function for is an error that names it. `fast_…` functions are instructions of less accuracy where the machine has
//! them, else the accurate ones.

mod bits;

use super::small_float::{as_wide, narrow_to};
use super::{Elems, elems, per_register};
use crate::cx::Cx;
use crate::error::Result;
use crate::table::Entry;
use crate::types;
use ir::{Attr, Op};
use llir::{FloatCompare, Value};
use ttir::ops::extern_call::EXTERN_ELEMENTWISE;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&EXTERN_ELEMENTWISE, extern_call)];

/// Makes the instructions of a function; `None` where it has no meaning for the operands.
pub(super) type Make = fn(&mut Cx<'_>, &Elems<'_>, &[Value]) -> Result<Option<Value>>;

/// How a function is made.
enum Way {
    /// An intrinsic on operands of one type.
    Intrinsic(&'static str),
    /// A function of the maths under another name.
    Maths(&'static str),
    /// Instructions.
    Inline(Make),
}

use Way::{Inline, Intrinsic, Maths};

/// Functions on floats, by the name they have in C for binary64. Those of the project's own maths are not listed.
const FLOATS: &[(&str, Way)] = &[
    ("fabs", Intrinsic("llvm.fabs")),
    ("floor", Intrinsic("llvm.floor")),
    ("ceil", Intrinsic("llvm.ceil")),
    ("trunc", Intrinsic("llvm.trunc")),
    ("rint", Intrinsic("llvm.rint")),
    ("nearbyint", Intrinsic("llvm.rint")),
    ("sqrt", Intrinsic("llvm.sqrt")),
    ("copysign", Intrinsic("llvm.copysign")),
    ("fmax", Intrinsic("llvm.maxnum")),
    ("fmin", Intrinsic("llvm.minnum")),
    ("fma", Intrinsic("llvm.fma")),
    ("round", Inline(|cx, _, x| Ok(Some(round(cx, x[0]))))),
    ("llrint", Intrinsic("llvm.rint")),
    ("llround", Inline(|cx, _, x| Ok(Some(round(cx, x[0]))))),
    ("remainder", Inline(|cx, _, x| remainder(cx, x).map(Some))),
    ("powi", Inline(|cx, _, x| power_of_integer(cx, x).map(Some))),
    ("dividef", Maths("div")),
    ("fdividef", Maths("div")),
    ("add", Inline(|cx, _, x| Ok(Some(cx.b.fadd(x[0], x[1]))))),
    ("sub", Inline(|cx, _, x| Ok(Some(cx.b.fsub(x[0], x[1]))))),
    ("mul", Inline(|cx, _, x| Ok(Some(cx.b.fmul(x[0], x[1]))))),
    ("div", Inline(|cx, _, x| Ok(Some(cx.b.fdiv(x[0], x[1]))))),
    ("rcp", Inline(|cx, _, x| Ok(Some(reciprocal(cx, x[0]))))),
    ("saturate", Inline(|cx, _, x| Ok(Some(saturate(cx, x[0]))))),
    ("isnan", Inline(|cx, _, x| Ok(Some(cx.b.fcmp(FloatCompare::Uno, x[0], x[0]))))),
    ("isinf", Inline(|cx, _, x| Ok(Some(beside_infinity(cx, x[0], FloatCompare::Oeq))))),
    ("finite", Inline(|cx, _, x| Ok(Some(beside_infinity(cx, x[0], FloatCompare::Olt))))),
    ("isfinite", Inline(|cx, _, x| Ok(Some(beside_infinity(cx, x[0], FloatCompare::Olt))))),
    ("ldexp", Inline(bits::scale)),
    ("scalbn", Inline(bits::scale)),
    ("ilogb", Inline(bits::exponent)),
    ("logb", Inline(bits::exponent_as_float)),
    ("norm3d", Inline(|cx, _, x| norm(cx, x).map(Some))),
    ("norm4d", Inline(|cx, _, x| norm(cx, x).map(Some))),
    ("rnorm3d", Inline(|cx, _, x| Ok(Some(norm(cx, x)?)).and_then(|one| inverted(cx, one)))),
    ("rnorm4d", Inline(|cx, _, x| Ok(Some(norm(cx, x)?)).and_then(|one| inverted(cx, one)))),
    ("normcdf", Inline(|cx, _, x| normal_distribution(cx, x[0]).map(Some))),
];

/// The function behind a library's name, without the suffix of its type, and whether it asks for speed.
fn plain_name(symbol: &str) -> (&str, bool) {
    let name = symbol.strip_prefix("__nv_").or_else(|| symbol.strip_prefix("__ocml_")).unwrap_or(symbol);
    let name = ["_f16", "_f32", "_f64"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let (name, fast) = name.strip_prefix("fast_").map_or((name, false), |name| (name, true));
    if is_known(name) {
        return (name, fast);
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

fn is_known(name: &str) -> bool {
    FLOATS.iter().any(|(own, _)| *own == name) || bits::find(name).is_some() || maths::find(name).is_some()
}

fn extern_call(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let symbol = cx.module.attr_named(op, "symbol").and_then(Attr::as_str).unwrap_or_default();
    let (name, fast) = plain_name(symbol);
    let elems = elems(cx.module, op);
    per_register(cx, op, |cx, x| match make(cx, name, fast, &elems, x)? {
        Some(value) => Ok(fitted(cx, &elems, value)),
        None => Err(
            cx.error(op, format!("there is no function `{symbol}`; write it with the functions of tl.math"))
        ),
    })
}

fn make(cx: &mut Cx<'_>, name: &str, fast: bool, elems: &Elems<'_>, x: &[Value]) -> Result<Option<Value>> {
    if let Some(make) = bits::find(name) {
        return make(cx, elems, x);
    }
    let pairs = x.iter().zip(&elems.operands);
    let wide: Vec<Value> = pairs.map(|(value, ty)| as_wide(cx, *ty, *value)).collect();
    let found = if fast { cx.target.fast_math(&mut cx.b, name, &wide) } else { None };
    if found.is_some() {
        return Ok(found);
    }
    let is_float = wide.first().is_some_and(|value| cx.b.ty(*value).is_float());
    match FLOATS.iter().find(|(own, _)| *own == name).map(|(_, way)| way) {
        _ if !is_float => Ok(None),
        Some(Intrinsic(intrinsic)) => {
            let ty = cx.b.ty(wide[0]);
            Ok(Some(cx.b.intrinsic(intrinsic, ty, &wide)))
        }
        Some(Maths("div")) => Ok(Some(cx.b.fdiv(wide[0], wide[1]))),
        Some(Maths(other)) => crate::maths::call(cx, other, &wide).map(Some),
        Some(Inline(make)) => make(cx, elems, &wide),
        None if maths::find(name).is_some_and(|row| row.arity as usize == wide.len()) => {
            crate::maths::call(cx, name, &wide).map(Some)
        }
        None => Ok(None),
    }
}

/// The value as the result's type: predicates and counts give an `int` in C, perhaps another integer in the language;
/// roundings to integers give floats here.
fn fitted(cx: &mut Cx<'_>, elems: &Elems<'_>, value: Value) -> Value {
    let (have, want) = (cx.b.ty(value), types::register(elems.result));
    match (have.is_int(), want.is_int()) {
        _ if have == want => value,
        (true, true) => cx.b.resize_unsigned(value, want),
        (false, true) => cx.b.cast(llir::Op::FPTOSI, value, want),
        (true, false) => cx.b.bitcast(value, want),
        (false, false) => narrow_to(cx, elems.result, value),
    }
}

/// To the nearest integer, halves away from zero.
fn round(cx: &mut Cx<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let half = cx.b.float(ty, 0.5);
    let size = cx.b.intrinsic("llvm.fabs", ty, &[x]);
    let whole = cx.b.intrinsic("llvm.trunc", ty, &[size]);
    let rest = cx.b.fsub(size, whole);
    let up = cx.b.fcmp(FloatCompare::Oge, rest, half);
    let (one, zero) = (cx.b.float(ty, 1.0), cx.b.float(ty, 0.0));
    let more = cx.b.select(up, one, zero);
    let rounded = cx.b.fadd(whole, more);
    // Numbers without a fraction stay: infinity less itself is no number.
    let fractional = cx.b.fcmp(FloatCompare::One, size, whole);
    let rounded = cx.b.select(fractional, rounded, whole);
    cx.b.intrinsic("llvm.copysign", ty, &[rounded, x])
}

fn reciprocal(cx: &mut Cx<'_>, x: Value) -> Value {
    let one = cx.b.float(cx.b.ty(x), 1.0);
    cx.b.fdiv(one, x)
}

fn inverted(cx: &mut Cx<'_>, x: Option<Value>) -> Result<Option<Value>> {
    Ok(x.map(|x| reciprocal(cx, x)))
}

/// Between zero and one; NaN gives zero.
fn saturate(cx: &mut Cx<'_>, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let (zero, one) = (cx.b.float(ty, 0.0), cx.b.float(ty, 1.0));
    let low = cx.b.intrinsic("llvm.maxnum", ty, &[x, zero]);
    cx.b.intrinsic("llvm.minnum", ty, &[low, one])
}

fn beside_infinity(cx: &mut Cx<'_>, x: Value, compare: FloatCompare) -> Value {
    let ty = cx.b.ty(x);
    let size = cx.b.intrinsic("llvm.fabs", ty, &[x]);
    let infinity = cx.b.float(ty, f64::INFINITY);
    cx.b.fcmp(compare, size, infinity)
}

/// The remainder of the division whose quotient is rounded to nearest even.
fn remainder(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let ty = cx.b.ty(x[0]);
    let [size, divisor] = [x[0], x[1]].map(|value| cx.b.intrinsic("llvm.fabs", ty, &[value]));
    // Of twice the divisor, so that the parity of the quotient shows in what is left.
    let double = cx.b.fadd(divisor, divisor);
    let rest = crate::maths::call(cx, "fmod", &[size, double])?;
    let infinity = cx.b.float(ty, f64::INFINITY);
    let overflows = cx.b.fcmp(FloatCompare::Oeq, double, infinity);
    let rest = cx.b.select(overflows, size, rest);
    let half = cx.b.float(ty, 0.5);
    let middle = cx.b.fmul(divisor, half);
    let above = cx.b.fcmp(FloatCompare::Ogt, rest, middle);
    let once = cx.b.fsub(rest, divisor);
    let first = cx.b.select(above, once, rest);
    let again = cx.b.fcmp(FloatCompare::Oge, first, middle);
    let again = cx.b.and(again, above);
    let twice = cx.b.fsub(first, divisor);
    let result = cx.b.select(again, twice, first);
    // An infinite divisor leaves a finite number as it is.
    let unchanged = cx.b.fcmp(FloatCompare::Oeq, divisor, infinity);
    let finite = cx.b.fcmp(FloatCompare::Olt, size, infinity);
    let unchanged = cx.b.and(unchanged, finite);
    let result = cx.b.select(unchanged, size, result);
    let negated = cx.b.fneg(result);
    let int = ty.as_int();
    let bits = cx.b.bitcast(x[0], int);
    let zero = cx.b.zero(int);
    let negative = cx.b.icmp(llir::IntCompare::Slt, bits, zero);
    Ok(cx.b.select(negative, negated, result))
}

fn power_of_integer(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let ty = cx.b.ty(x[0]);
    let exponent = cx.b.cast(llir::Op::SITOFP, x[1], ty);
    crate::maths::call(cx, "pow", &[x[0], exponent])
}

/// The length of a vector of several components.
fn norm(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let mut sum = x[0];
    for value in &x[1..] {
        sum = crate::maths::call(cx, "hypot", &[sum, *value])?;
    }
    Ok(sum)
}

/// `erfc(-x / √2) / 2`.
fn normal_distribution(cx: &mut Cx<'_>, x: Value) -> Result<Value> {
    let ty = cx.b.ty(x);
    let (scale, half) = (cx.b.float(ty, -std::f64::consts::FRAC_1_SQRT_2), cx.b.float(ty, 0.5));
    let scaled = cx.b.fmul(x, scale);
    let tail = crate::maths::call(cx, "erfc", &[scaled])?;
    Ok(cx.b.fmul(tail, half))
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
