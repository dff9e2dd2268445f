//! `tl.extern_elementwise`: functions of libraries by their symbols.
//!
//! Which symbols there are is the target's business: those of libdevice in the spelling of any vendor's library
//! (`__nv_expf`, `__ocml_exp_f32`) or plainly (`exp`). Files of libraries are not read.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::dtype::Scalar;
use crate::ops::{Args, Builtin, op};
use crate::typing::Ty;
use crate::value::PyValue;
use ir::Attr;
use ttir::ops::extern_call;

/// The path of the operation, whose table of symbols is the only dictionary that kernels have.
pub(crate) const EXTERN_ELEMENTWISE: &str = "tl.extern_elementwise";

pub(super) static TABLE: &[Builtin] =
    &[op(EXTERN_ELEMENTWISE, "lib_name, lib_path, args, arg_type_symbol_dict, is_pure", extern_elementwise)];

/// A function of a table: the types of its operands, its symbol, and the type of its result.
struct Function {
    operands: Vec<Scalar>,
    symbol: String,
    result: Scalar,
}

fn extern_elementwise(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let operands = match args.val("args") {
        Val::Tuple(tuple) => tuple.items.clone(),
        single => vec![single.clone()],
    };
    let tensors: Res<Vec<Tensor>> = operands.iter().map(|val| ctx.tensor_from(val)).collect();
    let tensors = tensors?;
    let Some(functions) = functions(args.val("arg_type_symbol_dict")) else {
        return Err(ctx.error_help(
            "arg_type_symbol_dict must be a dictionary from tuples of dtypes to a symbol and a dtype",
            "write it in the call: `{(tl.float32, ): (\"__nv_expf\", tl.float32)}`",
        ));
    };
    let found: Vec<Scalar> = tensors.iter().map(|tensor| tensor.ty.scalar).collect();
    let Some(function) = functions.iter().find(|function| function.operands == found) else {
        let list = |types: &[Scalar]| types.iter().map(Scalar::to_string).collect::<Vec<_>>().join(", ");
        let known: Vec<String> =
            functions.iter().map(|function| format!("({})", list(&function.operands))).collect();
        return Err(ctx.error(format!(
            "input arg type does not match. Expect one of {}, got ({})",
            known.join(" or "),
            list(&found)
        )));
    };
    let tensors = ctx.broadcast_all(tensors)?;
    let ty =
        tensors.first().map_or_else(|| Ty::scalar(function.result), |tensor| tensor.ty.with(function.result));
    let ir_type = ctx.ir_type(&ty)?;
    let values: Vec<ir::Value> = tensors.iter().map(|tensor| tensor.value).collect();
    let (library, path) = (args.text(ctx, "lib_name")?, args.text(ctx, "lib_path")?);
    let attrs = [
        Some(Attr::str(&library)),
        Some(Attr::str(&path)),
        Some(Attr::Bool(args.bool(ctx, "is_pure")?)),
        Some(Attr::str(&function.symbol)),
    ];
    let value = ctx.emit_as(&extern_call::EXTERN_ELEMENTWISE, &values, &attrs, ir_type);
    Ok(Val::Tensor(Tensor { value, ty }))
}

/// The functions of a table; `None` where it is none.
fn functions(table: &Val) -> Option<Vec<Function>> {
    let dtype = |val: &Val| match val {
        Val::Const(PyValue::DType(scalar)) => Some(*scalar),
        _ => None,
    };
    let function = |entry: &Val| {
        let Val::Tuple(entry) = entry else { return None };
        let [Val::Tuple(operands), Val::Tuple(called)] = entry.items.as_slice() else { return None };
        let [Val::Const(PyValue::Str(symbol)), result] = called.items.as_slice() else { return None };
        let operands = operands.items.iter().map(dtype).collect::<Option<_>>()?;
        Some(Function { operands, symbol: symbol.to_string(), result: dtype(result)? })
    };
    match table {
        Val::Tuple(entries) => entries.items.iter().map(function).collect(),
        _ => None,
    }
}
