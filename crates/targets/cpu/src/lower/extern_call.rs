//! Functions of maths libraries, by the names that kernels know them under.
//!
//! Names of one vendor's library (`__nv_expf`, `__ocml_exp_f32`) are reduced to the function they stand for; what this
//! target has no function for is an error that names it.

use super::cx::Cx;
use super::error::{LowerError, Result};
use super::ops::Elems;
use ir::Attr;
use llir::{FloatCompare, IntCompare, Op, Type, Value};

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
    ("signbit", Inline(sign_bit)),
    ("saturate", Inline(saturate)),
    ("add", Inline(|cx, x| Ok(cx.b.fadd(x[0], x[1])))),
    ("sub", Inline(|cx, x| Ok(cx.b.fsub(x[0], x[1])))),
    ("mul", Inline(|cx, x| Ok(cx.b.fmul(x[0], x[1])))),
    ("div", Inline(|cx, x| Ok(cx.b.fdiv(x[0], x[1])))),
    ("rcp", Inline(reciprocal)),
    ("abs", Inline(|cx, x| Ok(counted(cx, "llvm.abs", x[0])))),
    ("llabs", Inline(|cx, x| Ok(counted(cx, "llvm.abs", x[0])))),
    ("clz", Inline(|cx, x| Ok(counted(cx, "llvm.ctlz", x[0])))),
    ("clzll", Inline(|cx, x| Ok(counted(cx, "llvm.ctlz", x[0])))),
    ("popc", Intrinsic("llvm.ctpop")),
    ("popcll", Intrinsic("llvm.ctpop")),
    ("brev", Intrinsic("llvm.bitreverse")),
    ("brevll", Intrinsic("llvm.bitreverse")),
    ("ffs", Inline(first_set)),
    ("ffsll", Inline(first_set)),
    ("mulhi", Inline(|cx, x| Ok(high_half(cx, Op::SEXT, x)))),
    ("mul64hi", Inline(|cx, x| Ok(high_half(cx, Op::SEXT, x)))),
    ("umulhi", Inline(|cx, x| Ok(high_half(cx, Op::ZEXT, x)))),
    ("umul64hi", Inline(|cx, x| Ok(high_half(cx, Op::ZEXT, x)))),
    ("float_as_int", Inline(same_bits)),
    ("float_as_uint", Inline(same_bits)),
    ("double_as_longlong", Inline(same_bits)),
    ("int_as_float", Inline(same_bits)),
    ("uint_as_float", Inline(same_bits)),
    ("longlong_as_double", Inline(same_bits)),
];

/// The C name behind a library's name, without the suffix of its type.
fn plain_name(symbol: &str) -> &str {
    let name = symbol.strip_prefix("__nv_").or_else(|| symbol.strip_prefix("__ocml_")).unwrap_or(symbol);
    let name = name.strip_suffix("_f32").or_else(|| name.strip_suffix("_f64")).unwrap_or(name);
    // `fast_expf` may be less exact and need not be; `fadd_rn` rounds as everything does here.
    let name = name.strip_prefix("fast_").unwrap_or(name);
    let listed = |name: &str| FUNCTIONS.iter().any(|(own, _)| *own == name);
    let name = match name.strip_suffix("_rn") {
        Some(rounded) => rounded.strip_prefix(['f', 'd']).filter(|plain| listed(plain)).unwrap_or(rounded),
        None => name,
    };
    let known =
        |name: &str| FUNCTIONS.iter().any(|(own, _)| *own == name) || crate::math::find(name).is_some();
    match name.strip_suffix('f').or_else(|| name.strip_suffix('d')) {
        Some(shorter) if !known(name) => shorter,
        _ => name,
    }
}

impl Cx<'_> {
    /// `tt.extern_elementwise`.
    pub(crate) fn extern_call(&mut self, op: ir::Op, elems: &Elems<'_>, x: &[Value]) -> Result<Value> {
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
        // Predicates and counts give an `int` in C, perhaps another integer in the language.
        let want = super::types::register(elems.result);
        let have = self.b.ty(result);
        Ok(match (have.is_int(), want.is_int()) {
            (true, true) => self.b.resize_unsigned(result, have.with_scalar(want)),
            _ => self.b.bitcast(result, have.with_scalar(want)),
        })
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

/// The same bits; the caller gives them their type.
fn same_bits(_: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    Ok(x[0])
}

/// An intrinsic whose second operand says that no input is excluded.
fn counted(cx: &mut Cx<'_>, intrinsic: &str, x: Value) -> Value {
    let ty = cx.b.ty(x);
    let all_defined = cx.b.bool(false);
    cx.b.intrinsic(intrinsic, ty, &[x, all_defined])
}

/// The position of the lowest bit that is set, from one; zero without any.
fn first_set(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let ty = cx.b.ty(x[0]);
    let (zero, one) = (cx.b.zero(ty), cx.b.int(ty, 1));
    let below = counted(cx, "llvm.cttz", x[0]);
    let position = cx.b.add(below, one);
    let is_zero = cx.b.icmp(IntCompare::Eq, x[0], zero);
    Ok(cx.b.select(is_zero, zero, position))
}

fn high_half(cx: &mut Cx<'_>, widen: Op, x: &[Value]) -> Value {
    let ty = cx.b.ty(x[0]);
    let bits = ty.lane_bits();
    let wide = ty.with_scalar(Type::int(2 * bits as u16));
    let [a, b] = [x[0], x[1]].map(|value| cx.b.cast(widen, value, wide));
    let product = cx.b.mul(a, b);
    let by = cx.b.int(wide, i64::from(bits));
    let high = cx.b.lshr(product, by);
    cx.b.resize_unsigned(high, ty)
}

fn sign_bit(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let int = cx.b.ty(x[0]).as_int();
    let bits = cx.b.bitcast(x[0], int);
    let zero = cx.b.zero(int);
    let negative = cx.b.icmp(IntCompare::Slt, bits, zero);
    let ty = int.with_scalar(Type::I32);
    Ok(cx.b.resize_unsigned(negative, ty))
}

/// Between zero and one; NaN gives zero.
fn saturate(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let ty = cx.b.ty(x[0]);
    let (zero, one) = (cx.b.float(ty, 0.0), cx.b.float(ty, 1.0));
    let low = cx.b.intrinsic("llvm.maxnum", ty, &[x[0], zero]);
    Ok(cx.b.intrinsic("llvm.minnum", ty, &[low, one]))
}

fn reciprocal(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    let one = cx.b.float(cx.b.ty(x[0]), 1.0);
    Ok(cx.b.fdiv(one, x[0]))
}

fn is_infinite(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    Ok(compare_to_infinity(cx, x[0], FloatCompare::Oeq))
}

fn is_finite(cx: &mut Cx<'_>, x: &[Value]) -> Result<Value> {
    Ok(compare_to_infinity(cx, x[0], FloatCompare::Olt))
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
        ] {
            assert_eq!(plain_name(symbol), name, "{symbol}");
        }
    }
}
