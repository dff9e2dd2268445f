//! Making blocks, and converting between types.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::dtype::DType;
use crate::extension::Extension;
use crate::ops::{Args, Builtin, method, op};
use crate::typing::{ANY_SHAPE, MAX_ELEMENTS, Ty};
use crate::value::PyValue;
use ir::{Attr, Type};
use ttir::ops::shape;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.arange", "start, end", arange),
    op("tl.full", "shape, value, dtype", full),
    method("tl.cast", "input, dtype, fp_downcast_rounding=None, bitcast=False", cast),
    method("tl.to", "input, dtype, fp_downcast_rounding=None, bitcast=False", cast),
    op("tl.to_tensor", "x", |ctx, args| Ok(Val::Tensor(args.tensor(ctx, "x")?))),
];

fn arange(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let constant = |name: &str| args.val(name).to_py().as_ref().and_then(crate::constexpr::as_int);
    let (Some(start), Some(end)) = (constant("start"), constant("end")) else {
        return Err(ctx.error_help(
            "arange's arguments must be of type tl.constexpr",
            "a block's size must be known when compiling: make it a `tl.constexpr` parameter",
        ));
    };
    if i32::try_from(start).is_err() || i32::try_from(end).is_err() {
        return Err(ctx.error("arange must fit in int32"));
    }
    if end <= start {
        return Err(ctx.error(format!(
            "arange's end argument must be greater than the start argument, got {start} and {end}"
        )));
    }
    let count = end - start;
    if count & (count - 1) != 0 && !ctx.has_extension(Extension::AnyShape) {
        let next = (count as u128).next_power_of_two();
        return Err(ctx.error_help(
            "arange's range must be a power of 2",
            &format!(
                "{end} - {start} is {count}: use {next} elements and mask those too many: `offsets = tl.arange(0, {next})`, `mask = offsets < {count}`; or {ANY_SHAPE}"
            ),
        ));
    }
    if count > i128::from(MAX_ELEMENTS) {
        return Err(
            ctx.error(format!("a block may have at most {MAX_ELEMENTS} elements, arange asks for {count}"))
        );
    }
    let attrs = [end, start].map(|bound| Some(Attr::int(bound as i64, Type::int(32))));
    let value = ctx.emit(&shape::MAKE_RANGE, &[], &attrs)?;
    Ok(Val::Tensor(Tensor { value, ty: Ty::block(DType::Int32, &[count as u32]) }))
}

fn full(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let dims = args.dims(ctx, "shape")?;
    let dtype = args.dtype(ctx, "dtype")?;
    let value = args.num(ctx, "value")?;
    Ok(Val::Tensor(ctx.full(&dims, in_range(value, dtype), dtype)?))
}

/// A number as a block's type holds it: the low bits of an integer, and for int1 whether a number is not zero. What no
/// 64 bits hold, and what is negative for an unsigned type, stays as it is.
fn in_range(value: Num, dtype: DType) -> Num {
    let Num::Literal(number) = &value else { return value };
    let whole = match number {
        PyValue::Float(number) if dtype == DType::Int1 => return Num::Literal(PyValue::Bool(*number != 0.0)),
        PyValue::Int(whole) if dtype != DType::Int1 => *whole,
        _ => return value,
    };
    let held = match dtype {
        _ if dtype.is_int_signed() && i64::try_from(whole).is_ok() => {
            let unused = 64 - dtype.bits();
            i128::from((whole as i64) << unused >> unused)
        }
        _ if dtype.is_int_unsigned() && u64::try_from(whole).is_ok() => {
            i128::from(ir::scalar::truncate(dtype.bits(), whole as u64))
        }
        _ => return value,
    };
    Num::Literal(PyValue::Int(held))
}

fn cast(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let to = args.scalar(ctx, "dtype")?;
    let rounding = args.text(ctx, "fp_downcast_rounding")?;
    let bitcast = args.truth(ctx, "bitcast")?;
    let input = match (args.num(ctx, "input")?, to.dtype(), bitcast) {
        // A number becomes a constant of the type at once.
        (Num::Literal(value), Some(dtype), false) if dtype.is_floating() && !dtype.is_fp8() => {
            return Ok(Val::Tensor(ctx.literal(&value, Ty::scalar(dtype))?));
        }
        (num, _, _) => ctx.num_to_tensor(num)?,
    };
    let result = if bitcast {
        ctx.bitcast(input, to)?
    } else {
        ctx.cast_rounding(input, to, (!rounding.is_empty()).then_some(rounding.as_str()))?
    };
    Ok(Val::Tensor(result))
}
