//! Accesses by tensor descriptors see a tensor that ends where the block ends.
//!
//! ```text
//! %x = tt.descriptor_load %d[%i, %j]           %e = tt.make_tensor_descriptor %base, [min(%m, %i + 48), min(%n, %j + 80)], …
//!   : !tt.tensordesc<48x80xf16>           =>   %x = tt.descriptor_load %e[%i, %j] : !tt.tensordesc<64x128xf16>
//! ```
//!
//! So padding elements are outside of the tensor: they are not written, and read as what is outside is read.

use super::Pad;
use crate::ops::arith_int::{ADDI, MAXSI, MINSI};
use crate::ops::compare::SELECT;
use crate::ops::constant;
use crate::ops::descriptor::{
    DescriptorAccessOp, DescriptorGatherOp, DescriptorScatterOp, MAKE, MakeDescriptorOp, Padding,
};
use crate::types::{elem, is_tensor, padded};
use ir::{Builder, Op, Value};

/// Blocks at an offset.
pub(super) fn block(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let access = DescriptorAccessOp::new(pad.module, op);
    let (desc, indices) = (access.desc(), access.indices().to_vec());
    let begins: Vec<Option<Value>> = indices.iter().copied().map(Some).collect();
    end_with_block(pad, op, desc, &begins, pad.shape(desc))
}

/// Rows that are picked. A padding element picks none.
pub(super) fn rows(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let access = DescriptorAccessOp::new(pad.module, op);
    let (desc, moved) = (access.desc(), access.block());
    let (rows, column) =
        match (DescriptorGatherOp::of(pad.module, op), DescriptorScatterOp::of(pad.module, op)) {
            (Some(gather), _) => (gather.x_offsets(), gather.y_offset()),
            (None, Some(scatter)) => (scatter.x_offsets(), scatter.y_offset()),
            (None, None) => unreachable!("rows are gathered or scattered"),
        };
    end_with_block(pad, op, desc, &[None, Some(column)], pad.shape(moved))?;
    if let Some(valid) = pad.valid(op, pad.shape(rows)) {
        let mut b = Builder::before(pad.module, op);
        let ty = b.module.ty(rows);
        let outside = constant::int(&mut b, ty, -1);
        let picked = b.build(&SELECT, &[valid, rows, outside], &[]);
        set_operand(pad, op, rows, picked);
    }
    Ok(())
}

/// Gives an access a descriptor of a tensor that ends where its block ends, along the dimensions whose size is no power
/// of two.
fn end_with_block(
    pad: &mut Pad<'_>,
    op: Op,
    desc: Value,
    begins: &[Option<Value>],
    dims: &[i64],
) -> Result<(), String> {
    if dims.iter().all(|&dim| padded(dim) == dim) {
        return Ok(());
    }
    let Some(made) = MakeDescriptorOp::def(pad.module, desc) else {
        return Err("a tensor descriptor of such blocks cannot be carried by a loop or a condition: make it in front of its uses".into());
    };
    let (base, mut sizes, strides) = (made.base(), made.shape().to_vec(), made.strides().to_vec());
    let padding = made.padding();
    let ty = pad.module.ty(desc);
    let mut b = Builder::before(pad.module, op);
    for (dim, begin) in begins.iter().enumerate() {
        if let Some(begin) = begin.filter(|_| padded(dims[dim]) != dims[dim]) {
            sizes[dim] = ends_before(&mut b, sizes[dim], begin, dims[dim]);
        }
    }
    let mut operands = vec![base];
    operands.extend(sizes);
    operands.extend(strides);
    let made = b.build_as(&MAKE, &operands, &MakeDescriptorOp::attrs(padding), ty);
    set_operand(pad, op, desc, made);
    let loaded = pad.module.results(op).first().copied().filter(|&result| is_tensor(pad.module.ty(result)));
    if let Some(result) = loaded {
        let bits = match (padding, elem(ty).as_float()) {
            (Padding::Nan, Some(kind)) => ir::scalar::float_bits(kind, f64::NAN),
            _ => 0,
        };
        pad.filled.insert(result, bits);
    }
    Ok(())
}

/// `max(min(size, begin + count), 0)`.
fn ends_before(b: &mut Builder<'_>, size: Value, begin: Value, count: i64) -> Value {
    let ty = b.module.ty(size);
    let [count, zero] = [count, 0].map(|number| constant::int(b, ty, number));
    let end = b.build(&ADDI, &[begin, count], &[]);
    let end = b.build(&MINSI, &[size, end], &[]);
    b.build(&MAXSI, &[end, zero], &[])
}

/// Puts a value in the place of an operand.
fn set_operand(pad: &mut Pad<'_>, op: Op, from: Value, to: Value) {
    let operands: Vec<Value> =
        pad.module.operands(op).iter().map(|&value| if value == from { to } else { value }).collect();
    pad.module.set_operands(op, &operands);
}
