//! Tensor descriptors: blocks of a tensor in memory, addressed by offsets.

use crate::codegen::value::{Descriptor, DescriptorBase, Tensor, Val};
use crate::codegen::{Ctx, Res};
use crate::constexpr;
use crate::diagnostic::Cause;
use crate::dtype::DType;
use crate::ops::{Args, Builtin, op};
use crate::typing::{ShapeText, Ty};
use ir::{Attr, Type};
use std::rc::Rc;
use ttir::ops::descriptor;

pub(super) static TABLE: &[Builtin] = &[
    op("tl.make_tensor_descriptor", "base, shape, strides, block_shape, padding_option='zero'", make),
    op("tl.load_tensor_descriptor", "desc, offsets", load),
    op("tl.store_tensor_descriptor", "desc, offsets, value", store),
    op(
        "tl._experimental_make_tensor_descriptor",
        "base, shape, strides, block_shape, padding_option='zero'",
        make,
    ),
    op(
        "tl._written_descriptor",
        "address, base, shape, strides, block_shape, padding_option='zero'",
        written,
    ),
    op("tl._write_descriptor", "address, base, shape", write),
    op("descriptor.load", "desc, offsets", load),
    op("descriptor.store", "desc, offsets, value", store),
    op("descriptor.gather", "desc, x_offsets, y_offset", gather),
    op("descriptor.scatter", "desc, value, x_offsets, y_offset", scatter),
    op("descriptor.atomic_add", "desc, offsets, value", |ctx, args| reduce(ctx, &args, "add")),
    op("descriptor.atomic_min", "desc, offsets, value", |ctx, args| reduce(ctx, &args, "min")),
    op("descriptor.atomic_max", "desc, offsets, value", |ctx, args| reduce(ctx, &args, "max")),
    op("descriptor.atomic_and", "desc, offsets, value", |ctx, args| reduce(ctx, &args, "and")),
    op("descriptor.atomic_or", "desc, offsets, value", |ctx, args| reduce(ctx, &args, "or")),
    op("descriptor.atomic_xor", "desc, offsets, value", |ctx, args| reduce(ctx, &args, "xor")),
];

pub(super) fn items(val: &Val) -> Vec<Val> {
    match val {
        Val::Tuple(tuple) => tuple.items.clone(),
        single => vec![single.clone()],
    }
}

fn make(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    described(ctx, &args, None)
}

/// A descriptor that was written to an address, and its parts, which were read there.
fn written(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let address = args.tensor(ctx, "address")?;
    described(ctx, &args, Some(&address))
}

fn write(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (address, base) = (args.tensor(ctx, "address")?, args.tensor(ctx, "base")?);
    for pointer in [&address, &base] {
        ctx.pointer_of(pointer, "experimental_device_tensormap_create")?;
    }
    let sizes = scalars(ctx, &items(args.val("shape")), DType::Int64)?;
    let operands: Vec<ir::Value> =
        [&address, &base].into_iter().chain(&sizes).map(|part| part.value).collect();
    ctx.emit_effect(&descriptor::WRITE, &operands, &[]);
    Ok(Val::NONE)
}

fn described(ctx: &mut Ctx<'_>, args: &Args, address: Option<&Tensor>) -> Res<Val> {
    let base = args.tensor(ctx, "base")?;
    let pointer = ctx.pointer_of(&base, "make_tensor_descriptor")?;
    let (shape, strides) = (items(args.val("shape")), items(args.val("strides")));
    let block = args.dims(ctx, "block_shape")?;
    let block = ctx.block_shape(&block)?;
    let rank = shape.len();
    if !(1..=5).contains(&rank) {
        return Err(ctx.error(format!("Expected 1 <= ndim <= 5 but got {rank} dimensions")));
    }
    if strides.len() != rank || block.len() != rank {
        return Err(ctx.error(format!(
            "Expected {rank} strides and a block_shape of {rank} dimensions but got {} and {}",
            strides.len(),
            block.len()
        )));
    }
    let bytes = u64::from(pointer.pointee.bits().div_ceil(8));
    let row = u64::from(block[rank - 1]) * bytes;
    if row < 16 {
        return Err(ctx.error(format!(
            "Descriptor block shape must have at least 16 bytes in the last dimension, but got {} * {bytes} = {row} bytes",
            block[rank - 1]
        )));
    }
    let known = |val: &Val| val.to_py().and_then(|value| constexpr::as_int(&value));
    if known(&strides[rank - 1]) != Some(1) {
        let found = strides[rank - 1].describe();
        return Err(ctx.error(format!("Tensor descriptor last dim must be 1 but got {found}")));
    }
    let is_aligned = |stride: &i128| stride.wrapping_mul(bytes.into()) % 16 == 0;
    if let Some(stride) = strides[..rank - 1].iter().filter_map(known).find(|stride| !is_aligned(stride)) {
        return Err(ctx.error(format!(
            "Tensor descriptor strides must be 16-byte aligned, but got a stride of {stride} * {bytes} bytes"
        )));
    }
    let (shape, strides) = (scalars(ctx, &shape, DType::Int32)?, scalars(ctx, &strides, DType::Int64)?);
    let padding = args.text(ctx, "padding_option")?;
    if padding == "nan" && pointer.pointee.is_int() {
        return Err(ctx.error("Padding option `nan` is not supported for integer blocks"));
    }
    let padding = ctx.keyword(&descriptor::PADDING, &format!("pad_{padding}"), "Padding option")?;
    let ty = Ty { scalar: pointer.pointee.into(), shape: block };
    let elem = ctx.ir_scalar(ty.scalar)?;
    let dims: Vec<i64> = ty.shape.iter().map(|dim| i64::from(*dim)).collect();
    let operands: Vec<ir::Value> =
        std::iter::once(&base).chain(&shape).chain(&strides).map(|tensor| tensor.value).collect();
    let result = ir_type_of(pointer.pointee, &dims, elem);
    let value = match address {
        Some(address) => ctx.emit_as(&descriptor::WRITTEN, &[address.value], &[], result),
        None => ctx.emit_as(&descriptor::MAKE, &operands, std::slice::from_ref(&padding), result),
    };
    let made_of = Some(DescriptorBase { base, padding });
    Ok(Val::Descriptor(Rc::new(Descriptor {
        value,
        made_of,
        rounds_to_tf32: false,
        block: ty,
        shape,
        strides,
    })))
}

/// The type of a descriptor, which knows whether its integers have a sign.
pub(crate) fn ir_type_of(dtype: DType, dims: &[i64], elem: Type) -> Type {
    match (dtype.is_int(), dtype.is_int_signed()) {
        (true, true) => ttir::types::signed_tensordesc(dims, elem),
        (true, false) => ttir::types::unsigned_tensordesc(dims, elem),
        (false, _) => ttir::types::tensordesc(dims, elem),
    }
}

pub(super) fn scalars(ctx: &mut Ctx<'_>, vals: &[Val], dtype: DType) -> Res<Vec<Tensor>> {
    let mut tensors = Vec::new();
    for val in vals {
        let num = ctx.number(val)?;
        tensors.push(ctx.make_scalar(num, dtype)?);
    }
    Ok(tensors)
}

fn desc(ctx: &mut Ctx<'_>, args: &Args) -> Res<Rc<Descriptor>> {
    match args.val("desc") {
        Val::Descriptor(descriptor) => Ok(descriptor.clone()),
        other => {
            let message = format!("expected a tensor descriptor, got {}", other.describe());
            Err(ctx.error_help(Cause::Assertion.says(message), "make one with `tl.make_tensor_descriptor`"))
        }
    }
}

fn offsets(ctx: &mut Ctx<'_>, args: &Args, rank: usize) -> Res<Vec<Tensor>> {
    let offsets = items(args.val("offsets"));
    if offsets.len() != rank {
        return Err(
            ctx.error(Cause::Assertion.says(format!("expected {rank} offsets, but got {}", offsets.len())))
        );
    }
    offsets_in(ctx, &offsets)
}

fn offsets_in(ctx: &mut Ctx<'_>, offsets: &[Val]) -> Res<Vec<Tensor>> {
    for offset in offsets {
        if let Val::Tensor(tensor) = offset
            && !tensor.ty.scalar.is_number(|dtype| dtype.is_int() && dtype.bits() <= 32)
        {
            let message = format!("Expected a 32-bit integer offset, found {}", tensor.ty);
            return Err(
                ctx.error_help(Cause::Assertion.says(message), "add a `.to(tl.int32)` to convert the value")
            );
        }
    }
    scalars(ctx, offsets, DType::Int32)
}

fn load(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let desc = desc(ctx, &args)?;
    let offsets = offsets(ctx, &args, desc.block.shape.len())?;
    let operands: Vec<ir::Value> =
        std::iter::once(desc.value).chain(offsets.iter().map(|tensor| tensor.value)).collect();
    let block = descriptor::block_type(ctx.module.ty(desc.value));
    let value = ctx.emit_as(&descriptor::LOAD, &operands, &[], block);
    Ok(Val::Tensor(Tensor { value, ty: desc.block.clone() }))
}

fn store_operands(ctx: &mut Ctx<'_>, args: &Args) -> Res<Vec<ir::Value>> {
    let desc = desc(ctx, args)?;
    let value = args.tensor(ctx, "value")?;
    if value.ty.shape != desc.block.shape {
        let (expected, found) =
            (ShapeText(&desc.block.shape).to_string(), ShapeText(&value.ty.shape).to_string());
        return Err(ctx.error(Cause::Assertion.says(format!("expected value shape {expected}, got {found}"))));
    }
    let value = ctx.cast(value, desc.block.scalar)?;
    let offsets = offsets(ctx, args, desc.block.shape.len())?;
    let mut operands = vec![desc.value];
    operands.extend(offsets.iter().map(|tensor| tensor.value));
    operands.push(value.value);
    Ok(operands)
}

fn store(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let operands = store_operands(ctx, &args)?;
    ctx.emit_effect(&descriptor::STORE, &operands, &[]);
    Ok(Val::NONE)
}

/// Rows that are picked one by one: descriptor, rows, first column, and the type of what is read or written.
fn picked(ctx: &mut Ctx<'_>, args: &Args, what: &str) -> Res<([ir::Value; 3], Ty)> {
    let desc = desc(ctx, args)?;
    let block = &desc.block.shape;
    let [1, columns] = block[..] else {
        let message = if block.len() == 2 { "block must have 1 row" } else { "must be 2D" };
        return Err(ctx.error(
            Cause::Assertion.says(format!("descriptor {message} for a {what}, but got {}", ShapeText(block))),
        ));
    };
    let rows = args.tensor(ctx, "x_offsets")?;
    let [count] = rows.ty.shape[..] else {
        return Err(ctx.error(
            Cause::Assertion.says(format!("x offsets must be 1D, but got {}", ShapeText(&rows.ty.shape))),
        ));
    };
    if !rows.ty.scalar.is_number(|dtype| matches!(dtype, DType::Int16 | DType::Int32)) {
        let message = format!("x offsets must have dtype int16 or int32, but got {}", rows.ty);
        return Err(ctx.error_help(Cause::Assertion.says(message), "add a `.to(tl.int32)` to convert them"));
    }
    if count < 8 {
        return Err(ctx.error(
            Cause::Assertion.says(format!("descriptor {what} must have at least 8 rows, but got {count}")),
        ));
    }
    let least = 32 / desc.block.scalar.bits().max(1) * 8;
    if columns < least {
        let element = desc.block.scalar;
        return Err(ctx.error(Cause::Assertion.says(format!(
            "descriptor {what} of {element} must have at least {least} columns, but got {columns}"
        ))));
    }
    let column = offsets_in(ctx, &[args.val("y_offset").clone()])?[0].value;
    let ty = Ty { scalar: desc.block.scalar, shape: [count, columns].into_iter().collect() };
    Ok(([desc.value, rows.value, column], ty))
}

fn gather(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (operands, ty) = picked(ctx, &args, "gather")?;
    let result = ctx.ir_type(&ty)?;
    let value = ctx.emit_as(&descriptor::GATHER, &operands, &[], result);
    Ok(Val::Tensor(Tensor { value, ty }))
}

fn scatter(ctx: &mut Ctx<'_>, args: Args) -> Res<Val> {
    let (operands, ty) = picked(ctx, &args, "scatter")?;
    let value = args.tensor(ctx, "value")?;
    if value.ty.shape != ty.shape {
        let (expected, found) = (ShapeText(&ty.shape).to_string(), ShapeText(&value.ty.shape).to_string());
        return Err(ctx.error(Cause::Assertion.says(format!("expected value shape {expected}, got {found}"))));
    }
    let value = ctx.cast(value, ty.scalar)?;
    let [desc, rows, column] = operands;
    ctx.emit_effect(&descriptor::SCATTER, &[desc, rows, column, value.value], &[]);
    Ok(Val::NONE)
}

/// The element types that a reduction through a descriptor takes: those of bulk copies that reduce.
fn reduced_types(kind: &str) -> &'static [DType] {
    use DType::{Bf16, Fp16, Fp32, Int32, Int64, UInt32, UInt64};
    match kind {
        "add" => &[UInt32, Int32, UInt64, Fp32, Fp16, Bf16],
        "min" | "max" => &[UInt32, Int32, UInt64, Int64, Fp16, Bf16],
        _ => &[UInt32, Int32, UInt64, Int64],
    }
}

fn reduce(ctx: &mut Ctx<'_>, args: &Args, kind: &str) -> Res<Val> {
    let element = desc(ctx, args)?.block.scalar;
    let types = reduced_types(kind);
    if !element.is_number(|dtype| types.contains(&dtype)) {
        let names: Vec<String> = types.iter().map(|dtype| dtype.to_string()).collect();
        let message = format!(
            "Unsupported dtype {element}: `atomic_{kind}` of a descriptor takes {}",
            names.join(", ")
        );
        return Err(ctx.error_help(
            Cause::Assertion.says(message),
            &format!("use `tl.atomic_{kind}` with a block of pointers"),
        ));
    }
    let operands = store_operands(ctx, args)?;
    let kind: Option<Attr> = ctx.keyword(&descriptor::REDUCE_KIND, kind, "reduction")?;
    ctx.emit_effect(&descriptor::REDUCE, &operands, &[kind]);
    Ok(Val::NONE)
}
