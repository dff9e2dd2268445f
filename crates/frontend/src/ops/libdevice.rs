//! The functions of `libdevice`: by name and types, left to the target as `tt.extern_elementwise`.
//!
//! The symbol of a call is the function's plain name; the types of the operands say which variant is meant.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::dtype::DType;
use crate::ops::args::{Param, parse_params};
use crate::ops::{Args, Builtin, Entry, op};
use crate::typing::{Arithmetic, Operand, Ty, computation_type};
use ir::Attr;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use ttir::ops::extern_call;

pub(super) static TABLE: &[Builtin] = &[];

/// Functions that share their types: alternatives `operands->result` separated by `|`, then names.
const GROUPS: &[(&str, &str)] = &[
    (
        "fp32->fp32 | fp64->fp64",
        "floor ceil trunc rsqrt exp2 rcp_rn rcp_rz rcp_rd rcp_ru sqrt_rn sqrt_rz sqrt_rd sqrt_ru sqrt rint nearbyint sin \
         cos sinpi cospi tan log2 exp exp10 cosh sinh tanh atan asin acos log log10 log1p acosh asinh atanh expm1 cbrt \
         rcbrt j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 erf erfinv erfc erfcx erfcinv normcdfinv normcdf lgamma tgamma \
         round logb",
    ),
    (
        "fp32->fp32",
        "saturatef fast_sinf fast_cosf fast_log2f fast_logf fast_expf fast_tanf fast_tanhf fast_exp10f fast_log10f rsqrt_rn",
    ),
    ("fp64->fp64", "rcp64h"),
    ("int32->int32 | int64->int64 | fp32->fp32 | fp64->fp64", "abs"),
    (
        "fp32,fp32->fp32 | fp64,fp64->fp64",
        "div_rn div_rz div_rd div_ru sub_rn sub_rz sub_rd sub_ru add_rn add_rz add_rd add_ru mul_rn mul_rz mul_rd mul_ru \
         copysign nextafter atan2 hypot rhypot fmod remainder fdim",
    ),
    ("fp32,fp32->fp32", "fast_dividef fast_powf"),
    ("fp32,int32->fp32 | fp64,int32->fp64 | fp32,fp32->fp32 | fp64,fp64->fp64", "pow"),
    ("fp32,int32->fp32 | fp64,int32->fp64", "ldexp scalbn"),
    ("int32,fp32->fp32 | int32,fp64->fp64", "yn jn"),
    ("fp32,fp32,fp32->fp32 | fp64,fp64,fp64->fp64", "fma fma_rn fma_rz fma_rd fma_ru norm3d rnorm3d"),
    ("fp32,fp32,fp32,fp32->fp32 | fp64,fp64,fp64,fp64->fp64", "norm4d rnorm4d"),
    ("fp32->int1 | fp64->int1", "isnan isinf"),
    ("fp32->int1", "finitef"),
    ("fp64->int1", "isfinited"),
    ("fp32->int32 | fp64->int32", "signbit ilogb"),
    ("fp32->int64 | fp64->int64", "llrint llround"),
    ("int32->int32 | int64->int32", "clz popc ffs"),
    ("int32->int32 | int64->int64", "brev"),
    ("int32,int32->int32 | uint32,uint32->uint32 | int64,int64->int64 | uint64,uint64->uint64", "mulhi"),
    ("int32,int32->int32 | uint32,uint32->uint32", "mul24 hadd rhadd"),
    ("int32,int32,int32->int32", "byte_perm"),
    ("int32,int32,uint32->int32 | uint32,uint32,uint32->uint32", "sad"),
    (
        "fp32->int32",
        "float2int_rn float2int_rz float2int_rd float2int_ru float2uint_rn float2uint_rz float2uint_rd float2uint_ru \
         float_as_int float_as_uint",
    ),
    ("int32->fp32", "int2float_rn int2float_rz int2float_rd int2float_ru int_as_float"),
    ("uint32->fp32", "uint2float_rn uint2float_rz uint2float_rd uint2float_ru uint_as_float"),
    ("fp64->fp32", "double2float_rn double2float_rz double2float_rd double2float_ru"),
    (
        "fp64->int32",
        "double2int_rn double2int_rz double2int_rd double2int_ru double2uint_rn double2uint_rz double2uint_rd \
         double2uint_ru double2loint double2hiint",
    ),
    ("int32->fp64", "int2double_rn"),
    ("uint32->fp64", "uint2double_rn"),
    ("int32,int32->fp64", "hiloint2double"),
    (
        "fp32->int64",
        "float2ll_rn float2ll_rz float2ll_rd float2ll_ru float2ull_rn float2ull_rz float2ull_rd float2ull_ru",
    ),
    (
        "fp64->int64",
        "double2ll_rn double2ll_rz double2ll_rd double2ll_ru double2ull_rn double2ull_rz double2ull_rd double2ull_ru \
         double_as_longlong",
    ),
    ("int64->fp32", "ll2float_rn ll2float_rz ll2float_rd ll2float_ru"),
    ("uint64->fp32", "ull2float_rn ull2float_rz ull2float_rd ull2float_ru"),
    ("int64->fp64", "ll2double_rn ll2double_rz ll2double_rd ll2double_ru longlong_as_double"),
    ("uint64->fp64", "ull2double_rn ull2double_rz ull2double_rd ull2double_ru"),
];

/// One function: its operand types and result type, one entry per variant.
struct Function {
    variants: Vec<(Vec<DType>, DType)>,
    entry: Entry,
}

fn functions() -> &'static FxHashMap<&'static str, Function> {
    static FUNCTIONS: OnceLock<FxHashMap<&'static str, Function>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let mut functions = FxHashMap::default();
        for (types, names) in GROUPS {
            for name in names.split_whitespace() {
                functions.insert(name, describe(name, types));
            }
        }
        functions
    })
}

fn describe(name: &'static str, types: &str) -> Function {
    let dtype = |name: &str| DType::from_name(name.trim()).expect("the table names dtypes");
    let variants: Vec<(Vec<DType>, DType)> = types
        .split('|')
        .filter_map(|variant| variant.split_once("->"))
        .map(|(operands, result)| (operands.split(',').map(dtype).collect(), dtype(result)))
        .collect();
    let params: Vec<Param> = parse_params(match variants.first().map_or(1, |(operands, _)| operands.len()) {
        1 => "arg0",
        2 => "arg0, arg1",
        3 => "arg0, arg1, arg2",
        _ => "arg0, arg1, arg2, arg3",
    });
    // The table lives as long as the process, and is built once.
    let path: &'static str = Box::leak(format!("libdevice.{name}").into_boxed_str());
    let builtin: &'static Builtin = Box::leak(Box::new(op(path, "", |ctx, _| {
        Err(ctx.error("internal error: a libdevice function without its name"))
    })));
    Function { variants, entry: Entry { builtin, params } }
}

impl Function {
    /// The variant for operands of these types: the one that takes them as they are, or else as their common type.
    fn variant(
        &self,
        found: &[Option<DType>],
        literal: impl Fn(usize) -> bool,
    ) -> Option<&(Vec<DType>, DType)> {
        // A Python number takes the width that the variant of the tensors has.
        let fits = |operands: &[DType]| {
            operands.iter().enumerate().all(|(index, dtype)| {
                let same_kind = found[index].is_some_and(|found| found.is_floating() == dtype.is_floating());
                found[index] == Some(*dtype) || (literal(index) && same_kind)
            })
        };
        let exact = self.variants.iter().find(|(operands, _)| fits(operands));
        exact.or_else(|| {
            let common = common_type(found)?;
            self.variants.iter().find(|(operands, _)| operands.iter().all(|dtype| *dtype == common))
        })
    }
}

/// The type in which several numbers are computed. A Python number counts with the type that it has by itself, as
/// releases of the reference that promoted the operands of a library had it.
fn common_type(found: &[Option<DType>]) -> Option<DType> {
    let mut dtypes = found.iter().copied();
    let first = dtypes.next()??;
    dtypes.try_fold(first, |a, b| {
        computation_type(Operand::tensor(a), Operand::tensor(b?), Arithmetic::Plain).ok()
    })
}

/// The function of a name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    functions().get(name).map(|function| &function.entry)
}

/// The short paths of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    functions().values().map(|function| function.entry.builtin.name)
}

/// Every function with its variants, as the table writes them.
pub(crate) fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    GROUPS.iter().flat_map(|(types, names)| names.split_whitespace().map(|name| (name, *types)))
}

/// Functions of which the symbol says whether integers are signed.
const BY_SIGN: &[&str] = &["mulhi", "mul24", "hadd", "rhadd", "sad"];

/// Functions that count bits.
const COUNTS: &[&str] = &["clz", "popc", "ffs"];

/// The symbol of a variant.
fn symbol(name: &str, operands: &[DType]) -> String {
    let unsigned = BY_SIGN.contains(&name) && operands[0].is_int_unsigned();
    if unsigned { format!("u{name}") } else { name.to_owned() }
}

/// Calls a function.
pub(crate) fn call(ctx: &mut Ctx<'_>, path: &str, args: &Args) -> Res<Val> {
    let name = path.strip_prefix("libdevice.").unwrap_or(path);
    let Some(function) = functions().get(name) else {
        return Err(ctx.error(format!("libdevice has no function {name}")));
    };
    let mut tensors: Vec<Tensor> = Vec::new();
    for param in &function.entry.params {
        tensors.push(args.tensor(ctx, param.name)?);
    }
    let found: Vec<Option<DType>> = tensors.iter().map(|tensor| tensor.ty.scalar.dtype()).collect();
    let literal = |index: usize| matches!(args.val(function.entry.params[index].name), Val::Const(_));
    let Some((operands, result)) = function.variant(&found, literal) else {
        let list = |dtypes: &[DType]| dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ");
        let given: Vec<String> = tensors.iter().map(|tensor| tensor.ty.scalar.to_string()).collect();
        let known: Vec<String> =
            function.variants.iter().map(|(operands, _)| format!("({})", list(operands))).collect();
        return Err(ctx.error_help(
            format!(
                "input arg type does not match: libdevice.{name} takes {}, got ({})",
                known.join(" or "),
                given.join(", ")
            ),
            "convert the arguments, for example with `.to(tl.float32)`",
        ));
    };
    let mut converted = Vec::new();
    for (tensor, dtype) in tensors.into_iter().zip(operands) {
        converted.push(ctx.cast(tensor, *dtype)?);
    }
    let converted = ctx.broadcast_all(converted)?;
    // Bits are counted in the operand's width.
    let computed = if COUNTS.contains(&name) { operands[0] } else { *result };
    let ty: Ty = converted.first().map_or_else(|| Ty::scalar(computed), |tensor| tensor.ty.with(computed));
    let ir_type = ctx.ir_type(&ty)?;
    let values: Vec<ir::Value> = converted.iter().map(|tensor| tensor.value).collect();
    let symbol = symbol(name, operands);
    let attrs =
        [Some(Attr::str("libdevice")), Some(Attr::str("")), Some(Attr::Bool(true)), Some(Attr::str(&symbol))];
    let value = ctx.emit_as(&extern_call::EXTERN_ELEMENTWISE, &values, &attrs, ir_type);
    Ok(Val::Tensor(ctx.cast(Tensor { value, ty }, *result)?))
}
