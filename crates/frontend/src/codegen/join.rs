//! Joining values that come out of two arms, or out of a loop and what stood before it.
//!
//! A value is a tree with run-time values as leaves. Two trees join when they have the same shape, equal constants and
//! leaves of equal types; leaves that differ become results of the op.

use crate::codegen::value::{Aggregate, BlockPointer, Descriptor, DescriptorBase, Tensor, Tuple, Val};
use crate::codegen::{Ctx, Res};
use crate::constexpr;
use std::rc::Rc;
use ttir::ops::descriptor;

/// The run-time values in a value, in order.
pub(crate) fn leaves(val: &Val, out: &mut Vec<Tensor>) {
    match val {
        Val::Tensor(tensor) => out.push(tensor.clone()),
        Val::Tuple(tuple) => tuple.items.iter().for_each(|item| leaves(item, out)),
        Val::Descriptor(descriptor) => out.extend(descriptor.parts().cloned()),
        Val::BlockPointer(pointer) => out.extend(pointer.parts().cloned()),
        Val::Aggregate(aggregate) => aggregate.values.iter().for_each(|value| leaves(value, out)),
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
        Val::Descriptor(descriptor) => Val::Descriptor(Rc::new(Descriptor {
            value: descriptor.value,
            made_of: descriptor.made_of.as_ref().map(|made| DescriptorBase {
                base: Tensor { value: next(&made.base), ty: made.base.ty.clone() },
                padding: made.padding.clone(),
            }),
            rounds_to_tf32: descriptor.rounds_to_tf32,
            block: descriptor.block.clone(),
            shape: replaced(&descriptor.shape, next),
            strides: replaced(&descriptor.strides, next),
        })),
        Val::Aggregate(aggregate) => Val::Aggregate(Rc::new(Aggregate {
            class: aggregate.class.clone(),
            names: aggregate.names.clone(),
            values: aggregate.values.iter().map(|value| with_leaves(value, next)).collect(),
        })),
        Val::BlockPointer(pointer) => Val::BlockPointer(Rc::new(BlockPointer {
            base: Tensor { value: next(&pointer.base), ty: pointer.base.ty.clone() },
            shape: replaced(&pointer.shape, next),
            strides: replaced(&pointer.strides, next),
            offsets: replaced(&pointer.offsets, next),
            block: pointer.block.clone(),
        })),
        other => other.clone(),
    }
}

fn replaced(list: &[Tensor], next: &mut impl FnMut(&Tensor) -> ir::Value) -> Vec<Tensor> {
    list.iter().map(|tensor| Tensor { value: next(tensor), ty: tensor.ty.clone() }).collect()
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
        (Val::ConstexprType(a), Val::ConstexprType(b)) => constexpr::identical(a, b),
        (Val::Descriptor(a), Val::Descriptor(b)) => a.value == b.value,
        (Val::BlockPointer(a), Val::BlockPointer(b)) => {
            let part = |part: &'_ Tensor| (part.value, part.ty.clone());
            a.block == b.block && a.parts().map(part).eq(b.parts().map(part))
        }
        (Val::BlockPointerType(a), Val::BlockPointerType(b)) => a == b,
        (Val::Aggregate(a), Val::Aggregate(b)) => {
            a.class == b.class && a.values.iter().zip(&b.values).all(|(a, b)| same(a, b))
        }
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
        (Val::Aggregate(a), Val::Aggregate(b)) => {
            a.class == b.class && a.values.iter().zip(&b.values).all(|(a, b)| joinable(a, b))
        }
        (Val::Descriptor(a), Val::Descriptor(b)) => a.value == b.value || a.remakeable_as(b),
        (Val::BlockPointer(a), Val::BlockPointer(b)) => {
            a.block == b.block && a.parts().map(|part| &part.ty).eq(b.parts().map(|part| &part.ty))
        }
        (a, b) => same(a, b),
    }
}

/// What two values are that do not join, for messages; of tuples of one length, also the first elements that do not.
pub(crate) fn describe_both(a: &Val, b: &Val) -> [String; 2] {
    let (mut path, mut one, mut two) = (String::new(), a, b);
    while let (Val::Tuple(x), Val::Tuple(y)) = (one, two)
        && x.items.len() == y.items.len()
        && let Some(at) = x.items.iter().zip(&y.items).position(|(x, y)| !joinable(x, y))
    {
        path.push_str(&format!("[{at}]"));
        (one, two) = (&x.items[at], &y.items[at]);
    }
    let describe = |whole: &Val, part: &Val| match path.is_empty() {
        true => whole.describe(),
        false => format!("{} with {} at {path}", whole.describe(), part.describe()),
    };
    [describe(a, one), describe(b, two)]
}

impl Ctx<'_> {
    /// The same value with its descriptors made anew at the current place, where their parts are others than those of
    /// `before`.
    pub(crate) fn with_descriptors_made(&mut self, val: Val, before: &Val) -> Res<Val> {
        match (val, before) {
            (Val::Descriptor(new), Val::Descriptor(old)) => {
                let part = |part: &Tensor| part.value;
                if new.made_of.is_none() || new.parts().map(part).eq(old.parts().map(part)) {
                    return Ok(Val::Descriptor(new));
                }
                let padding = new.made_of.as_ref().and_then(|made| made.padding.clone());
                let operands: Vec<ir::Value> = new.parts().map(part).collect();
                let ty = self.module.ty(new.value);
                let value = self.emit_as(&descriptor::MAKE, &operands, &[padding], ty);
                Ok(Val::Descriptor(Rc::new(Descriptor { value, ..Descriptor::clone(&new) })))
            }
            (Val::Tuple(new), Val::Tuple(old)) => {
                let pairs = new.items.iter().zip(&old.items);
                let items: Res<Vec<Val>> =
                    pairs.map(|(new, old)| self.with_descriptors_made(new.clone(), old)).collect();
                Ok(Val::Tuple(Rc::new(Tuple { items: items?, fields: new.fields.clone() })))
            }
            (Val::Aggregate(new), Val::Aggregate(old)) => {
                let pairs = new.values.iter().zip(&old.values);
                let values: Res<Vec<Val>> =
                    pairs.map(|(new, old)| self.with_descriptors_made(new.clone(), old)).collect();
                Ok(Val::Aggregate(Rc::new(Aggregate { values: values?, ..Aggregate::clone(&new) })))
            }
            (val, _) => Ok(val),
        }
    }
}
