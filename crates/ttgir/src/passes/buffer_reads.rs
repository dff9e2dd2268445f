//! Users of a block that was copied to shared memory read it there: those that put it into shared memory get the
//! buffer, those that change its layout load it in theirs, others load it as it was.

use crate::infer;
use crate::ops::convert::{CONVERT_LAYOUT, ConvertLayoutOp};
use crate::ops::group_dot::WARP_GROUP_DOT_WAIT;
use crate::ops::shared::{AllocOp, MEMDESC_TRANS, MemdescTransOp, load_from};
use crate::types::memdesc;
use crate::{Encoding, replace_encoding};
use ir::{Builder, Module, Op, Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::compare::SELECT;
use ttir::ops::shape::{EXPAND_DIMS, ExpandDimsOp, TRANS, TransOp};
use ttir::types::shape;

/// Lets users of the block of a load read it from the buffer that it was copied to. `other` is what stands where the
/// mask of the load does not hold, unless the copy has put it there.
pub(crate) fn read_instead(
    builder: &mut Builder<'_>,
    load: Op,
    other: Option<Value>,
    buffer: Value,
    token: Option<Value>,
) {
    let value = builder.module.result(load, 0);
    let users: Vec<Op> = builder.module.uses(value).iter().map(|use_| use_.0).collect();
    for user in users.into_iter().filter(|_| other.is_none()) {
        if AllocOp::is(builder.module, user) {
            if lies_as(builder.module, user, buffer) {
                let old = builder.module.result(user, 0);
                replace_memory(builder.module, old, buffer);
                builder.module.erase(user);
            }
        } else if builder.module.is(user, &CONVERT_LAYOUT) {
            if stays_in_block(builder.module, user) {
                load_instead(builder, user, buffer, token);
            }
        } else if builder.module.is(user, &TRANS) {
            load_transposed(builder, user, buffer, token);
        } else if builder.module.is(user, &EXPAND_DIMS) {
            load_expanded(builder, user, buffer, token);
        }
    }
    if builder.module.is_unused(value) {
        return;
    }
    let ty = builder.module.ty(value);
    let mut loaded = load_from(builder, buffer, token, ty);
    let mask = AccessOp::of(builder.module, load).and_then(AccessOp::mask);
    if let (Some(other), Some(mask)) = (other, mask) {
        loaded = builder.build(&SELECT, &[mask, loaded, other], &[]);
    }
    builder.module.replace_uses(value, loaded);
}

/// Whether a conversion gives each block of a cluster what it has: only its own memory is read.
fn stays_in_block(module: &Module, conversion: Op) -> bool {
    let blocks =
        |ty: Type| Encoding::of(ty).map(|encoding| encoding.to_linear(shape(ty)).bases(layout::Dim::BLOCK));
    let conversion = ConvertLayoutOp::new(module, conversion);
    blocks(module.ty(conversion.src())) == blocks(module.ty(conversion.result()))
}

fn load_instead(builder: &mut Builder<'_>, user: Op, buffer: Value, token: Option<Value>) {
    let old = builder.module.result(user, 0);
    let ty = builder.module.ty(old);
    for (user, _) in builder.module.uses(old).to_vec() {
        if builder.module.is(user, &EXPAND_DIMS) {
            load_expanded(builder, user, buffer, token);
        }
    }
    if !builder.module.is_unused(old) {
        let loaded = load_from(builder, buffer, token, ty);
        builder.module.replace_uses(old, loaded);
    }
    builder.module.erase(user);
}

/// A transposed block that only changes its layout is loaded through a transposed view.
fn load_transposed(builder: &mut Builder<'_>, trans: Op, buffer: Value, token: Option<Value>) {
    let moved = builder.module.result(trans, 0);
    let users: Vec<Op> = builder.module.uses(moved).iter().map(|use_| use_.0).collect();
    let order = TransOp::new(builder.module, trans).order().to_vec();
    let Ok(ty) = infer::memdesc_trans(builder.module.ty(buffer), &order) else { return };
    let stays = |user: Op| builder.module.is(user, &CONVERT_LAYOUT) && stays_in_block(builder.module, user);
    if !users.iter().all(|&user| stays(user)) {
        return;
    }
    let turned = builder.build_as(&MEMDESC_TRANS, &[buffer], &MemdescTransOp::attrs(&order), ty);
    for user in users {
        load_instead(builder, user, turned, token);
    }
    builder.module.erase(trans);
}

/// A block that gets a dimension and only then changes its layout, as numbers of rows or columns do, is loaded such
/// that it has the layout then.
fn load_expanded(builder: &mut Builder<'_>, expand: Op, buffer: Value, token: Option<Value>) {
    let view = ExpandDimsOp::new(builder.module, expand);
    let (axis, expanded, ty) = (view.axis(), view.result(), builder.module.ty(view.src()));
    let users: Vec<Op> = builder.module.uses(expanded).iter().map(|use_| use_.0).collect();
    let stays = |user: Op| builder.module.is(user, &CONVERT_LAYOUT) && stays_in_block(builder.module, user);
    if !users.iter().all(|&user| stays(user)) {
        return;
    }
    for user in users {
        let old = builder.module.result(user, 0);
        let wanted = builder.module.ty(old);
        let parent = Encoding::of(wanted).expect("verified: what a conversion gives has an encoding");
        let slice = infer::reduce(parent, axis);
        let loaded = load_from(builder, buffer, token, replace_encoding(ty, &slice));
        let new = builder.build_as(&EXPAND_DIMS, &[loaded], &ExpandDimsOp::attrs(axis), wanted);
        builder.module.replace_uses(old, new);
        builder.module.erase(user);
    }
    builder.module.erase(expand);
}

/// Whether memory lies as an allocation asks.
pub(crate) fn lies_as(module: &Module, alloc: Op, memory: Value) -> bool {
    let encoding = |value: Value| memdesc(module.ty(value)).map(|desc| desc.encoding);
    encoding(module.result(alloc, 0)) == encoding(memory)
}

/// Lets users of memory use other memory; what is the same memory further on changes its type with it.
fn replace_memory(module: &mut Module, old: Value, new: Value) {
    module.replace_uses(old, new);
    retype(module, new);
}

/// Gives views of memory, and what a wait for dots hands on of it, the types that follow from its own.
fn retype(module: &mut Module, memory: Value) {
    let own = module.ty(memory);
    for (user, slot) in module.uses(memory).to_vec() {
        let follows = if let Some(view) = MemdescTransOp::of(module, user) {
            infer::memdesc_trans(own, view.order()).ok().map(|ty| (view.result(), ty))
        } else if module.is(user, &WARP_GROUP_DOT_WAIT) {
            Some((module.result(user, slot as usize), own))
        } else {
            None
        };
        if let Some((result, ty)) = follows.filter(|&(result, ty)| module.ty(result) != ty) {
            module.set_ty(result, ty);
            retype(module, result);
        }
    }
}
