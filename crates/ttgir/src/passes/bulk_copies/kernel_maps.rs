//! Descriptors that a kernel makes are written to the device's memory, where copies read them.
//!
//! ```text
//!                                                          %p = ttg.global_scratch_alloc {alignment = 128, nbytes = 128}
//!                                                          ttng.tensormap_create %p, %base, [box], [sizes], [strides], [1, 1]
//! %d = tt.make_tensor_descriptor %base, [sizes], …   =>    ttng.tensormap_fenceproxy_acquire %p
//!                                                          %d = ttng.reinterpret_tensor_descriptor %p
//! ```
//!
//! Where a descriptor is made in a loop, the copies by the one before have come to their end: those to shared memory
//! have been waited for by whoever reads it, those from there are waited for here.
//!
//! A map has at least one element along each dimension. Copies by the map of a tensor that has none begin where nothing
//! is ([`outside_if_empty`]).

use super::build::store_wait;
use crate::SharedEncoding;
use crate::encoding::box_of;
use crate::ops::bulk::{
    BulkWriteOp, GLOBAL_SCRATCH_ALLOC, GlobalScratchAllocOp, REINTERPRET_DESCRIPTOR, TENSORMAP_ACQUIRE,
    TENSORMAP_CREATE, TensormapCreateOp,
};
use ir::{Attr, Builder, FloatKind, Module, Op, Type, TypeParam, Value};
use ttir::ops::arith_cast::EXTSI;
use ttir::ops::arith_int::{MAXSI, MULI, ORI, int_value};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::MakeDescriptorOp;
use ttir::types::{TENSORDESC, elem, elem_bytes, is_unsigned, ptr, shape};

/// Bytes of a descriptor in memory, and what its address is a multiple of.
const BYTES: u32 = 128;

/// Where a box begins that lies outside of every tensor: behind it, as stores in front of one end with an illegal
/// instruction (H200).
const OUTSIDE: i64 = 1 << 30;

/// Where the coordinates of a copy begin among its operands.
const FIRST_COORDINATE: usize = 1;

/// A descriptor in memory.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) desc: Value,
    /// Whether the tensor has no elements, where that is not known to be false.
    pub(super) is_empty: Option<Value>,
}

/// Writes a descriptor of a type that says how its blocks lie in shared memory.
pub(super) fn write(module: &mut Module, make: Op, ty: Type) -> Written {
    let of = MakeDescriptorOp::new(module, make);
    let (base, sizes, strides) = (of.base(), of.shape().to_vec(), of.strides().to_vec());
    let is_written = module.uses(of.result()).iter().any(|use_| BulkWriteOp::of(module, use_.0).is_some());
    let encoding = encoding_of(ty);
    let sides = box_of(&encoding, shape(ty)).expect("only blocks that are boxes keep their descriptor");
    let mut builder = Builder::before(module, make);
    if is_written {
        store_wait(&mut builder, 0, false);
    }
    let slot = builder.build_as(
        &GLOBAL_SCRATCH_ALLOC,
        &[],
        &GlobalScratchAllocOp::attrs(BYTES, BYTES),
        ptr(Type::int(8)),
    );
    // The fastest dimension comes first.
    let mut operands = vec![slot, base];
    operands.extend(sides.iter().rev().map(|&side| number(&mut builder, i64::from(side), 32)));
    let is_empty = is_empty(&mut builder, &sizes);
    // A dimension without elements would be taken for the longest there is.
    let one = number(&mut builder, 1, 32);
    operands.extend(sizes.iter().rev().map(|&size| builder.build(&MAXSI, &[size, one], &[])));
    let bytes = number(&mut builder, elem_bytes(elem(ty)) as i64, 64);
    for &stride in strides.iter().rev().skip(1) {
        let is_long = builder.module.ty(stride) == Type::int(64);
        let stride = if is_long { stride } else { builder.build_as(&EXTSI, &[stride], &[], Type::int(64)) };
        operands.push(builder.build(&MULI, &[stride, bytes], &[]));
    }
    operands.extend(sides.iter().map(|_| one));
    let attrs = TensormapCreateOp::attrs(element_number(ty), 0, swizzle_number(&encoding), 0);
    builder.build_effect(&TENSORMAP_CREATE, &operands, &attrs);
    builder.build_effect(&TENSORMAP_ACQUIRE, &[slot], &[]);
    Written { desc: builder.build_as(&REINTERPRET_DESCRIPTOR, &[slot], &[], ty), is_empty }
}

/// Whether one of the sizes is zero or less, where constants do not say that none is.
fn is_empty(builder: &mut Builder<'_>, sizes: &[Value]) -> Option<Value> {
    let open: Vec<Value> = sizes
        .iter()
        .copied()
        .filter(|&size| int_value(builder.module, size).is_none_or(|size| size < 1))
        .collect();
    let one = number(builder, 1, 32);
    let below = CmpIOp::attrs(CmpIPredicate::Slt);
    let lacks: Vec<Value> = open.into_iter().map(|size| builder.build(&CMPI, &[size, one], &below)).collect();
    lacks.into_iter().reduce(|any, lack| builder.build(&ORI, &[any, lack], &[]))
}

/// Lets a copy begin outside of the tensor if that has no elements.
pub(super) fn outside_if_empty(module: &mut Module, copy: Op, is_empty: Value) {
    let begin = module.operand(copy, FIRST_COORDINATE);
    let mut builder = Builder::before(module, copy);
    let outside = number(&mut builder, OUTSIDE, 32);
    let begin = builder.build(&SELECT, &[is_empty, outside, begin], &[]);
    module.set_operand(copy, FIRST_COORDINATE, begin);
}

fn encoding_of(ty: Type) -> SharedEncoding {
    let params = ty.params_of(&TENSORDESC).unwrap_or_default();
    let encoding = params.iter().find_map(|param| match param {
        TypeParam::Attr(encoding) => SharedEncoding::from_attr(encoding),
        _ => None,
    });
    encoding.expect("the type says how blocks lie")
}

fn number(builder: &mut Builder<'_>, value: i64, bits: u32) -> Value {
    let ty = Type::int(bits);
    builder.build_as(&CONSTANT, &[], &[Some(Attr::int(value, ty))], ty)
}

/// The number that the text form has for how rows are swizzled.
fn swizzle_number(encoding: &SharedEncoding) -> u32 {
    match encoding {
        SharedEncoding::Nvmma { swizzling_byte_width: width @ 32.., .. } => width.ilog2() - 4,
        SharedEncoding::Nvmma { .. } => 0,
        other => unreachable!("bulk copies fill rows that are swizzled by bytes, and not {other:?}"),
    }
}

/// The number that the text form has for the elements of a descriptor.
fn element_number(desc: Type) -> u32 {
    let ty = elem(desc);
    let is_signed = ty.as_int().is_some() && !is_unsigned(desc);
    match (ty.as_float(), elem_bytes(ty)) {
        (Some(FloatKind::F16), _) => 6,
        (Some(FloatKind::BF16), _) => 10,
        (Some(FloatKind::F32), _) => 7,
        (Some(FloatKind::F64), _) => 9,
        (_, 1) => 0,
        (_, 2) => 1,
        (_, 4) => 2 + u32::from(is_signed),
        (_, 8) => 4 + u32::from(is_signed),
        (_, bytes) => unreachable!("no bulk copy moves elements of {bytes} bytes"),
    }
}
