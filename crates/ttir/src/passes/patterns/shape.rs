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

use super::replace;
use crate::ops::forms::UnaryOp;
use crate::ops::shape::{BroadcastOp, JoinOp, ReshapeOp, SPLAT, SplatOp, SplitOp, TransOp};
use ir::{Builder, Fold, Module, Op};

/// Fold rule: a constant whose elements are all equal stays one in another shape.
pub(crate) fn fold_uniform(module: &Module, op: Op) -> Option<Fold> {
    let bits = crate::ops::constant::splat_bits(module.constant(UnaryOp::new(module, op).src())?)?;
    let ty = module.ty(module.result(op, 0));
    crate::ops::constant::attr_from_bits(ty, bits).map(Fold::Attr)
}

/// Fold rule: the same for operations that also do nothing when the type stays.
pub(crate) fn fold_same_type(module: &Module, op: Op) -> Option<Fold> {
    let source = UnaryOp::new(module, op).src();
    if module.ty(source) == module.ty(module.result(op, 0)) {
        return Some(Fold::Value(source));
    }
    fold_uniform(module, op)
}

/// Fold rule of a permutation: one that moves nothing, or moves equal elements.
pub(crate) fn fold_trans(module: &Module, op: Op) -> Option<Fold> {
    let trans = TransOp::new(module, op);
    if trans.order().iter().copied().eq(0..trans.order().len() as i64) {
        return Some(Fold::Value(trans.src()));
    }
    fold_uniform(module, op)
}

fn splat_instead(module: &mut Module, op: Op) -> bool {
    let spread = UnaryOp::new(module, op);
    let Some(splat) = SplatOp::def(module, spread.src()) else { return false };
    let (scalar, ty) = (splat.src(), module.ty(spread.result()));
    let value = Builder::before(module, op).build_as(&SPLAT, &[scalar], &[], ty);
    replace(module, op, value)
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
    let Some(splat) = SplatOp::def(module, UnaryOp::new(module, op).src()) else { return false };
    replace(module, op, splat.src())
}

/// See the file.
pub(crate) fn broadcast_of_broadcast(module: &mut Module, op: Op) -> bool {
    let Some(inner) = BroadcastOp::def(module, BroadcastOp::new(module, op).src()) else { return false };
    module.set_operands(op, &[inner.src()]);
    true
}

/// See the file. One that may reorder stays as it is.
pub(crate) fn reshape_of_reshape(module: &mut Module, op: Op) -> bool {
    let outer = ReshapeOp::new(module, op);
    let Some(inner) = ReshapeOp::def(module, outer.src()) else { return false };
    if !outer.keeps_order() || !inner.keeps_order() {
        return false;
    }
    module.set_operands(op, &[inner.src()]);
    true
}

/// See the file.
pub(crate) fn trans_of_trans(module: &mut Module, op: Op) -> bool {
    let outer = TransOp::new(module, op);
    let Some(inner) = TransOp::def(module, outer.src()) else { return false };
    let order: Vec<i64> = outer.order().iter().map(|&dim| inner.order()[dim as usize]).collect();
    module.set_operands(op, &[inner.src()]);
    TransOp::set_order(module, op, &order);
    true
}

/// See the file.
pub(crate) fn split_of_join(module: &mut Module, op: Op) -> bool {
    let split = SplitOp::new(module, op);
    let Some(join) = JoinOp::def(module, split.src()) else { return false };
    let halves = [(split.out_lhs(), join.lhs()), (split.out_rhs(), join.rhs())];
    if halves.iter().any(|&(result, half)| module.ty(half) != module.ty(result)) {
        return false;
    }
    for (result, half) in halves {
        module.replace_uses(result, half);
    }
    module.erase(op);
    true
}
