//! Accesses by addresses get masks.

use super::Pad;
use crate::ops::access::AccessOp;
use crate::ops::arith_cast::{INT_TO_PTR, PTR_TO_INT};
use crate::ops::arith_int::ANDI;
use crate::ops::compare::SELECT;
use crate::ops::constant;
use crate::ops::shape::{RESHAPE, ReshapeOp, SPLAT};
use crate::types::{elem, numel, tensor, with_elem};
use ir::{Builder, Op, Type, Value};
use smallvec::SmallVec;

/// Padding elements are not read or written; what is not read is zero where nothing else is asked.
pub(super) fn masked(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let access = AccessOp::new(pad.module, op);
    if let (Some(expected), Some(value)) = (access.expected(), access.value()) {
        return compare_and_swap(pad, op, (expected, value));
    }
    let (pointer, value, mask, other) = (access.ptr(), access.value(), access.mask(), access.other());
    let result = AccessOp::load(pad.module, op).and_then(AccessOp::result);
    let Some(valid) = pad.valid(op, pad.shape(pointer)) else { return Ok(()) };
    let mut b = Builder::before(pad.module, op);
    let mask = mask.map_or(valid, |mask| b.build(&ANDI, &[mask, valid], &[]));
    let other = other.or_else(|| {
        let ty = b.module.ty(result?);
        elem(ty).scalar_bits().map(|_| constant::build(&mut b, ty, 0))
    });
    let operands: SmallVec<[Value; 4]> =
        [Some(pointer), value, Some(mask), other].into_iter().flatten().collect();
    pad.module.set_operands(op, &operands);
    Ok(())
}

/// There is no mask. Padding elements compare memory that another element compares too, and put in its place what is
/// there.
fn compare_and_swap(pad: &mut Pad<'_>, op: Op, (expected, value): (Value, Value)) -> Result<(), String> {
    let pointer = AccessOp::new(pad.module, op).ptr();
    let Some(valid) = pad.valid(op, pad.shape(pointer)) else { return Ok(()) };
    let mut b = Builder::before(pad.module, op);
    let ty = b.module.ty(pointer);
    let addresses = b.build_as(&PTR_TO_INT, &[pointer], &[], with_elem(ty, Type::int(64)));
    let flat = |b: &mut Builder<'_>, value: Value| {
        let ty = b.module.ty(value);
        let flat = tensor(&[numel(ty)], elem(ty));
        if ty == flat { value } else { b.build_as(&RESHAPE, &[value], &ReshapeOp::attrs(false, false), flat) }
    };
    let most = constant::int(&mut b, with_elem(ty, Type::int(64)), -1);
    let addresses = b.build(&SELECT, &[valid, addresses, most], &[]);
    let addresses = flat(&mut b, addresses);
    let first = super::combine::least(&mut b, addresses);
    let first = b.build_as(&INT_TO_PTR, &[first], &[], elem(ty));
    let first = b.build_as(&SPLAT, &[first], &[], ty);
    let pointer = b.build(&SELECT, &[valid, pointer, first], &[]);
    let value = b.build(&SELECT, &[valid, value, expected], &[]);
    pad.module.set_operands(op, &[pointer, expected, value]);
    Ok(())
}
