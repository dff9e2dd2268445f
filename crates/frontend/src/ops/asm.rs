//! Instructions of the target, elementwise.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::dtype::Scalar;
use crate::ops::{Args, Builtin, op};
use crate::typing::Ty;
use crate::value::PyValue;
use ir::{Attr, Type};
use ttir::ops::extern_call;

/// The most elements that the instructions run for at a time.
const MAX_PACK: u32 = 1024;

pub(super) static TABLE: &[Builtin] =
    &[op("tl.inline_asm_elementwise", "asm, constraints, args, dtype, is_pure, pack", inline_asm)];

fn inline_asm(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let operands: Vec<Val> = match args.val("args") {
        Val::Tuple(tuple) => tuple.items.clone(),
        single => vec![single.clone()],
    };
    let tensors: Res<Vec<Tensor>> = operands.iter().map(|val| ctx.tensor_from(val)).collect();
    let tensors = ctx.broadcast_all(tensors?)?;
    let (dtypes, several): (Vec<Scalar>, bool) = match args.val("dtype") {
        Val::Tuple(tuple) => {
            let dtypes = tuple.items.iter().filter_map(|item| match item {
                Val::Const(PyValue::DType(scalar)) => Some(*scalar),
                _ => None,
            });
            (dtypes.collect(), true)
        }
        _ => (vec![args.scalar(ctx, "dtype")?], false),
    };
    let shape = tensors.first().map(|tensor| tensor.ty.clone());
    let results: Vec<Ty> = dtypes
        .into_iter()
        .map(|scalar| shape.as_ref().map_or_else(|| Ty::scalar(scalar), |ty| ty.with(scalar)))
        .collect();
    let mut types: Vec<Type> = Vec::new();
    for ty in &results {
        types.push(ctx.ir_type(ty)?);
    }
    let (asm, constraints) = (args.text(ctx, "asm")?, args.text(ctx, "constraints")?);
    let constraints: Vec<&str> = constraints.split(',').map(str::trim).collect();
    let (pack, pure) = (args.int(ctx, "pack")?, args.bool(ctx, "is_pure")?);
    let Some(pack) = u32::try_from(pack).ok().filter(|pack| (1..=MAX_PACK).contains(pack)) else {
        return Err(ctx.error(format!("inline_asm_elementwise: pack is {pack}, and is from 1 to {MAX_PACK}")));
    };
    let words = |types: &[Ty]| types.iter().map(|ty| words_of(ty, pack.into())).sum::<u64>();
    let given: Vec<Ty> = tensors.iter().map(|tensor| tensor.ty.clone()).collect();
    check_count(ctx, &constraints, (words(&results), words(&given)))?;
    let attrs = [
        Some(Attr::str(&asm)),
        Some(Attr::str(&constraints.join(","))),
        Some(Attr::int(pack.into(), Type::int(32))),
        Some(Attr::Bool(pure)),
    ];
    let values: Vec<ir::Value> = tensors.iter().map(|tensor| tensor.value).collect();
    let op = ctx.emit_op(&extern_call::INLINE_ASM, &values, &attrs, &types);
    let outputs = ctx.module.results(op).to_vec();
    let mut vals: Vec<Val> =
        outputs.into_iter().zip(results).map(|(value, ty)| Val::Tensor(Tensor { value, ty })).collect();
    Ok(match vals.pop() {
        Some(only) if !several => only,
        last => {
            vals.extend(last);
            Val::tuple(vals)
        }
    })
}

/// Registers of `pack` elements: several of fewer than 32 bits share one.
fn words_of(ty: &Ty, pack: u64) -> u64 {
    let each = if pack > 1 { u64::from(32 / ty.scalar.bits().clamp(8, 32)) } else { 1 };
    pack.max(1).div_ceil(each)
}

/// Constraints stand for as many registers as `expected`, results and operands.
fn check_count(ctx: &mut Ctx<'_>, constraints: &[&str], expected: (u64, u64)) -> Res<()> {
    let all = constraints.iter().filter(|part| !part.is_empty() && !part.starts_with('~'));
    let (results, operands): (Vec<&str>, Vec<&str>) = all.partition(|part| part.starts_with('='));
    let found = (results.len() as u64, operands.len() as u64);
    if found == expected {
        return Ok(());
    }
    Err(ctx.error_help(
        format!(
            "the constraints \"{}\" name {} results and {} operands, and the elements of a run take {} and {} registers",
            constraints.join(","),
            found.0,
            found.1,
            expected.0,
            expected.1
        ),
        "with `pack` of more than one, elements of fewer than 32 bits share registers; others have one each",
    ))
}
