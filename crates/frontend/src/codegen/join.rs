//! Joining values that come out of two arms, or out of a loop and what stood before it.
//!
//! A value is a tree with run-time values as leaves. Two trees join when they have the same shape, equal constants and
//! leaves of equal types; leaves that differ become results of the op.

use crate::codegen::value::{Descriptor, Tensor, Tuple, Val};
use crate::constexpr;
use std::rc::Rc;

/// The run-time values in a value, in order.
pub(crate) fn leaves(val: &Val, out: &mut Vec<Tensor>) {
    match val {
        Val::Tensor(tensor) => out.push(tensor.clone()),
        Val::Tuple(tuple) => tuple.items.iter().for_each(|item| leaves(item, out)),
        Val::Descriptor(descriptor) => {
            out.extend(descriptor.shape.iter().chain(&descriptor.strides).cloned());
        }
        _ => {}
    }
}

/// The same value with other run-time values in it, taken from `next` in order.
pub(crate) fn with_leaves(val: &Val, next: &mut impl FnMut(&Tensor) -> ir::Value) -> Val {
    match val {
        Val::Tensor(tensor) => Val::Tensor(Tensor { value: next(tensor), ty: tensor.ty.clone() }),
        Val::Tuple(tuple) => Val::Tuple(Rc::new(Tuple {
            items: tuple.items.iter().map(|item| with_leaves(item, next)).collect(),
            fields: tuple.fields.clone(),
        })),
        Val::Descriptor(descriptor) => {
            let mut tensors = |list: &[Tensor]| -> Vec<Tensor> {
                list.iter().map(|tensor| Tensor { value: next(tensor), ty: tensor.ty.clone() }).collect()
            };
            Val::Descriptor(Rc::new(Descriptor {
                value: descriptor.value,
                block: descriptor.block.clone(),
                shape: tensors(&descriptor.shape),
                strides: tensors(&descriptor.strides),
            }))
        }
        other => other.clone(),
    }
}

/// Whether two values are the same: equal constants, the same run-time values.
pub(crate) fn same(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Const(a), Val::Const(b)) => constexpr::identical(a, b),
        (Val::Tensor(a), Val::Tensor(b)) => a.value == b.value && a.ty == b.ty,
        (Val::Tuple(a), Val::Tuple(b)) => {
            a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| same(a, b))
        }
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Descriptor(a), Val::Descriptor(b)) => a.value == b.value,
        (Val::Method { receiver: a, name: x }, Val::Method { receiver: b, name: y }) => x == y && same(a, b),
        (Val::Undefined(_), Val::Undefined(_)) | (Val::Poison, Val::Poison) => true,
        _ => false,
    }
}

/// Whether two values can be one: `same` but for their run-time values.
pub(crate) fn joinable(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Tensor(a), Val::Tensor(b)) => a.ty == b.ty,
        (Val::Tuple(a), Val::Tuple(b)) => {
            a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| joinable(a, b))
        }
        (a, b) => same(a, b),
    }
}
