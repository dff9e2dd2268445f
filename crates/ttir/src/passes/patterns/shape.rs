//! Splats, broadcasts and reshapes of each other.
//!
//! ```text
//! tt.broadcast (tt.splat %x)            =>  tt.splat %x
//! tt.expand_dims (tt.splat %x)          =>  tt.splat %x
//! tt.reshape (tt.splat %x)              =>  tt.splat %x
//! tt.trans (tt.splat %x)                =>  tt.splat %x
//! tt.unsplat (tt.splat %x)              =>  %x
//! tt.broadcast (tt.broadcast %x)        =>  tt.broadcast %x
//! tt.reshape (tt.reshape %x)            =>  tt.reshape %x
//! tt.trans (tt.trans %x)                =>  tt.trans %x, or %x
//! tt.split (tt.join %x, %y)             =>  %x, %y
//! ```

use super::{def_of_kind, replace};
use crate::ops::shape::{BROADCAST, JOIN, RESHAPE, SPLAT, TRANS, ints};
use ir::{Attr, Builder, Fold, Module, Op, Type};

/// Fold rule: a constant whose elements are all equal stays one in another shape.
pub(crate) fn fold_uniform(module: &Module, op: Op) -> Option<Fold> {
    let bits = crate::ops::constant::splat_bits(module.constant(module.operand(op, 0))?)?;
    let ty = module.ty(module.result(op, 0));
    crate::ops::constant::attr_from_bits(ty, bits).map(Fold::Attr)
}

/// Fold rule: the same for operations that also do nothing when the type stays.
pub(crate) fn fold_same_type(module: &Module, op: Op) -> Option<Fold> {
    let source = module.operand(op, 0);
    if module.ty(source) == module.ty(module.result(op, 0)) {
        return Some(Fold::Value(source));
    }
    fold_uniform(module, op)
}

/// Fold rule of a permutation: one that moves nothing, or moves equal elements.
pub(crate) fn fold_trans(module: &Module, op: Op) -> Option<Fold> {
    let order = ints(module.attr(op, 0));
    if order.iter().copied().eq(0..order.len() as i64) {
        return Some(Fold::Value(module.operand(op, 0)));
    }
    fold_uniform(module, op)
}

fn splat_instead(module: &mut Module, op: Op) -> bool {
    let Some(splat) = def_of_kind(module, op, 0, &SPLAT) else { return false };
    let (scalar, ty) = (module.operand(splat, 0), result_ty(module, op));
    let value = Builder::before(module, op).build_as(&SPLAT, &[scalar], &[], ty);
    replace(module, op, value)
}

fn result_ty(module: &Module, op: Op) -> Type {
    module.ty(module.result(op, 0))
}

/// See the file.
pub(crate) fn broadcast_of_splat(module: &mut Module, op: Op) -> bool {
    splat_instead(module, op)
}

/// See the file.
pub(crate) fn expand_dims_of_splat(module: &mut Module, op: Op) -> bool {
    splat_instead(module, op)
}

/// See the file.
pub(crate) fn reshape_of_splat(module: &mut Module, op: Op) -> bool {
    splat_instead(module, op)
}

/// See the file.
pub(crate) fn trans_of_splat(module: &mut Module, op: Op) -> bool {
    splat_instead(module, op)
}

/// See the file.
pub(crate) fn unsplat_of_splat(module: &mut Module, op: Op) -> bool {
    let Some(splat) = def_of_kind(module, op, 0, &SPLAT) else { return false };
    let scalar = module.operand(splat, 0);
    replace(module, op, scalar)
}

/// See the file.
pub(crate) fn broadcast_of_broadcast(module: &mut Module, op: Op) -> bool {
    let Some(inner) = def_of_kind(module, op, 0, &BROADCAST) else { return false };
    let source = module.operand(inner, 0);
    module.set_operand(op, 0, source);
    true
}

/// See the file. One that may reorder stays as it is.
pub(crate) fn reshape_of_reshape(module: &mut Module, op: Op) -> bool {
    let Some(inner) = def_of_kind(module, op, 0, &RESHAPE) else { return false };
    if [op, inner].iter().any(|&op| module.attrs(op).iter().any(Option::is_some)) {
        return false;
    }
    let source = module.operand(inner, 0);
    module.set_operand(op, 0, source);
    true
}

/// See the file.
pub(crate) fn trans_of_trans(module: &mut Module, op: Op) -> bool {
    let Some(inner) = def_of_kind(module, op, 0, &TRANS) else { return false };
    let first = ints(module.attr(inner, 0)).to_vec();
    let order: Vec<i64> = ints(module.attr(op, 0)).iter().map(|&dim| first[dim as usize]).collect();
    let source = module.operand(inner, 0);
    module.set_operand(op, 0, source);
    module.set_attr(op, 0, Some(Attr::DenseArray { elem: Type::int(32), values: order.into() }));
    true
}

/// See the file.
pub(crate) fn split_of_join(module: &mut Module, op: Op) -> bool {
    let Some(join) = def_of_kind(module, op, 0, &JOIN) else { return false };
    for index in 0..2 {
        let (half, result) = (module.operand(join, index), module.result(op, index));
        if module.ty(half) != module.ty(result) {
            return false;
        }
        module.replace_uses(result, half);
    }
    module.erase(op);
    true
}
