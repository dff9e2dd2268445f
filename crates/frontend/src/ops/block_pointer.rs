//! Block pointers, which releases before 3.9 had; see [`crate::semantic`] for what they become.

use crate::codegen::value::{BlockPointer, Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::dtype::DType;
use crate::ops::descriptor::{items, scalars};
use crate::ops::{Args, Builtin, method, op};
use crate::typing::{Ty, pointer_to};
use crate::value::PyValue;
use std::rc::Rc;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.make_block_ptr", "base, shape, strides, offsets, block_shape, order", make),
    method("tl.advance", "base, offsets", advance),
];

fn make(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let base = args.tensor(ctx, "base")?;
    let Some(pointer) = base.ty.scalar.pointer().filter(|_| !base.ty.is_block()) else {
        let message = format!(
            "Expected `base` to be a pointer type (but not a block pointer type or others), got {}",
            base.ty
        );
        return Err(ctx.error(message));
    };
    let (base, element) = match pointer.pointee {
        DType::Int1 => (ctx.cast(base, pointer_to(DType::Int8))?, DType::Int8),
        element => (base, element),
    };
    let block = args.dims(ctx, "block_shape")?;
    let rank = block.len();
    let mut order = args.dims(ctx, "order")?;
    order.sort_unstable();
    if !order.into_iter().eq(0..rank as i128) {
        return Err(ctx.error("Expected a permutation of (0, 1, ..., len(order)-1) in order"));
    }
    let lists = ["shape", "strides", "offsets"].map(|name| items(args.val(name)));
    if lists.iter().any(|list| list.len() != rank) {
        return Err(ctx.error(
            "Expected shape/strides/offsets/block_shape to have the same length, which is that of `order`",
        ));
    }
    let [shape, strides, offsets] = lists;
    let shape = shape.iter().map(|val| size(ctx, val)).collect::<Res<Vec<Tensor>>>()?;
    let strides = scalars(ctx, &strides, DType::Int64)?;
    let offsets = offsets_in(ctx, &offsets)?;
    let block = Ty { scalar: element.into(), shape: ctx.block_shape(&block)? };
    Ok(Val::BlockPointer(Rc::new(BlockPointer { base, shape, strides, offsets, block })))
}

/// The size of a dimension, in 32 bits where its type has no more.
fn size(ctx: &mut Ctx<'_>, val: &Val) -> Res<Tensor> {
    let tensor = ctx.tensor_from(val)?;
    let narrow = |dtype: DType| dtype.is_int() && (dtype.bits() < 32 || dtype == DType::Int32);
    let dtype = if tensor.ty.scalar.is_number(narrow) { DType::Int32 } else { DType::Int64 };
    let scalar = ctx.item(tensor)?;
    integer(ctx, &scalar)?;
    ctx.cast(scalar, dtype)
}

fn integer(ctx: &mut Ctx<'_>, tensor: &Tensor) -> Res<()> {
    if tensor.ty.scalar.is_number(DType::is_int) {
        return Ok(());
    }
    Err(ctx.error(format!("Expected an integer scalar type in shape/strides/offsets, got {}", tensor.ty)))
}

fn offsets_in(ctx: &mut Ctx<'_>, vals: &[Val]) -> Res<Vec<Tensor>> {
    let mut offsets = Vec::new();
    for val in vals {
        let tensor = ctx.tensor_from(val)?;
        integer(ctx, &tensor)?;
        if matches!(val, Val::Tensor(_)) && tensor.ty.scalar.bits() == 64 {
            return Err(ctx.error_help(
                "Block pointers only support 32 bit `offsets/block_shape`",
                "add a `.to(tl.int32)`, or move the base pointer by the large offset",
            ));
        }
        let scalar = ctx.item(tensor)?;
        offsets.push(ctx.cast(scalar, DType::Int32)?);
    }
    Ok(offsets)
}

fn advance(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let Val::BlockPointer(pointer) = args.val("base") else {
        let message = format!("advance moves block pointers, found {}", args.val("base").describe());
        return Err(ctx.error_help(message, "add an offset to a plain pointer: `ptr + offset`"));
    };
    let moves = items(args.val("offsets"));
    if moves.len() != pointer.offsets.len() {
        let (expected, found) = (pointer.offsets.len(), moves.len());
        return Err(ctx.error(format!("advance needs {expected} offsets, got {found}")));
    }
    let moves = offsets_in(ctx, &moves)?;
    let mut moved = BlockPointer::clone(pointer);
    for (offset, by) in moved.offsets.iter_mut().zip(moves) {
        if ctx.splat_bits(by.value) != Some(0) {
            *offset = ctx.plain(ruff_python_ast::Operator::Add, offset.clone(), by)?;
        }
    }
    Ok(Val::BlockPointer(Rc::new(moved)))
}

/// The dimensions of `boundary_check`, each once.
pub(super) fn checked_dims(ctx: &mut Ctx<'_>, args: &Args, pointer: &BlockPointer) -> Res<Vec<usize>> {
    if args.given("boundary_check").is_none() {
        return Ok(Vec::new());
    }
    let rank = pointer.block.shape.len() as i128;
    let mut dims = Vec::new();
    for dim in args.dims(ctx, "boundary_check")? {
        if !(0..rank).contains(&dim) {
            return Err(
                ctx.error(format!("boundary_check: there is no dimension {dim} in {}", pointer.block))
            );
        }
        dims.push(dim as usize);
    }
    dims.sort_unstable();
    dims.dedup();
    Ok(dims)
}

/// Refuses arguments that only block pointers take.
pub(super) fn refuse_block_arguments(ctx: &mut Ctx<'_>, args: &Args, names: &[&str]) -> Res<()> {
    for name in names {
        let empty = match args.val(name) {
            Val::Tuple(tuple) => tuple.items.is_empty(),
            Val::Const(PyValue::Str(text)) => text.is_empty(),
            other => other.is_none(),
        };
        if !empty {
            return Err(ctx.error(format!(
                "`{name}` is not supported for a pointer that is no block pointer: use `mask` and `other`"
            )));
        }
    }
    Ok(())
}

/// Refuses arguments that block pointers do not take.
pub(super) fn refuse_masks(ctx: &mut Ctx<'_>, args: &Args, names: &[&str]) -> Res<()> {
    for name in names {
        if args.given(name).is_some() {
            return Err(ctx.error_help(
                format!("`{name}` cannot be specified for a block pointer"),
                "use `boundary_check` and `padding_option`",
            ));
        }
    }
    Ok(())
}
