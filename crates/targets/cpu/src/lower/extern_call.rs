//! Functions of maths libraries, by the names that kernels know them under.
//!
//! Names of one vendor's library (`__nv_expf`, `__ocml_exp_f32`) are reduced to the function they stand for; what this
//! target has no function for is an error that names it.

use super::cx::Cx;
use super::error::{LowerError, Result};
use super::ops::Elems;
use ir::{Attr, Op};
use llir::{FloatCompare, Type, Value};

/// How a function is made.
enum Way {
    /// A function of the vector maths.
    Maths(&'static str),
    /// An intrinsic that is an instruction nearly everywhere.
    Intrinsic(&'static str),
    /// Instructions.
    Inline(fn(&mut Cx<'_>, &[Value]) -> Result<Value>),
}

use Way::{Inline, Intrinsic, Maths};

/// The functions, by the name they have in C for binary64.
const FUNCTIONS: &[(&str, Way)] = &[
    ("exp", Maths("exp")),
    ("exp2", Maths("exp2")),
    ("log", Maths("log")),
    ("log2", Maths("log2")),
    ("sin", Maths("sin")),
    ("cos", Maths("cos")),
    ("tanh", Maths("tanh")),
    ("erf", Maths("erf")),
    ("rsqrt", Maths("rsqrt")),
    ("sqrt", Intrinsic("llvm.sqrt")),
    ("fabs", Intrinsic("llvm.fabs")),
    ("floor", Intrinsic("llvm.floor")),
    ("ceil", Intrinsic("llvm.ceil")),
    ("trunc", Intrinsic("llvm.trunc")),
    ("rint", Intrinsic("llvm.rint")),
    ("nearbyint", Intrinsic("llvm.nearbyint")),
    ("round", Intrinsic("llvm.round")),
    ("copysign", Intrinsic("llvm.copysign")),
    ("fmax", Intrinsic("llvm.maxnum")),
    ("fmin", Intrinsic("llvm.minnum")),
    ("fma", Intrinsic("llvm.fma")),
    ("isnan", Inline(|cx, x| Ok(truth(cx, x[0], FloatCompare::Uno)))),
    ("isinf", Inline(is_infinite)),
    ("finite", Inline(is_finite)),
    ("isfinite", Inline(is_finite)),
];

/// The C name behind a library's name, without the suffix of its type.
fn plain_name(symbol: &str) -> &str {
    let name = symbol.strip_prefix("__nv_").or_else(|| symbol.strip_prefix("__ocml_")).unwrap_or(symbol);
    let name = name.strip_suffix("_f32").or_else(|| name.strip_suffix("_f64")).unwrap_or(name);
    let known =
        |name: &str| FUNCTIONS.iter().any(|(own, _)| *own == name) || crate::math::find(name).is_some();
    match name.strip_suffix('f').or_else(|| name.strip_suffix('d')) {
        Some(shorter) if !known(name) => shorter,
        _ => name,
    }
}

impl Cx<'_> {
    /// `tt.extern_elementwise`.
    pub(crate) fn extern_call(&mut self, op: Op, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
        let symbol = self.module.attr_named(op, "symbol").and_then(Attr::as_str).unwrap_or_default();
        let name = plain_name(symbol);
        let found = FUNCTIONS.iter().find(|(own, _)| *own == name).map(|(_, way)| way);
        let unknown = || {
            LowerError::unsupported(
                self.module,
                op,
                &format!("there is no function `{symbol}`; write it with the functions of tl.math"),
            )
        };
        let result = match (found, crate::math::find(name)) {
            (Some(Maths(name)), _) => super::ops::call_math(self, name, x)?,
            (Some(Intrinsic(name)), _) => {
                let ty = self.b.ty(x[0]);
                self.b.intrinsic(name, ty, x)
            }
            (Some(Inline(make)), _) => make(self, x)?,
            (None, Some(row)) if row.arity as usize == x.len() => super::ops::call_math(self, row.name, x)?,
            _ => return Err(unknown()),
        };
        // Predicates give an `int` in C, perhaps a truth value in the language.
        let want = super::types::register(elems.result);
        let have = self.b.ty(result);
        Ok(if have.is_int() { self.b.resize_unsigned(result, have.with_scalar(want)) } else { result })
    }
}

fn truth(cx: &mut Cx<'_>, x: Value, compare: FloatCompare) -> Value {
    let holds = cx.b.fcmp(compare, x, x);
    let ty = cx.b.ty(holds).with_scalar(Type::I32);
    cx.b.resize_unsigned(holds, ty)
}

fn compare_to_infinity(cx: &mut Cx<'_>, x: Value, compare: FloatCompare) -> Value {
    let ty = cx.b.ty(x);
    let size = cx.b.intrinsic("llvm.fabs", ty, &[x]);
    let infinity = cx.b.float(ty, f64::INFINITY);
    let holds = cx.b.fcmp(compare, size, infinity);
    let ty = ty.with_scalar(Type::I32);
    cx.b.resize_unsigned(holds, ty)
}

fn is_infinite(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    Ok(compare_to_infinity(cx, x[0], FloatCompare::Oeq))
}

fn is_finite(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    Ok(compare_to_infinity(cx, x[0], FloatCompare::Olt))
}
