//! The copies of one iteration into rings of buffers, and what loops carry for them.

use super::plan::{PipelinePlan, PipelinedLoad};
use crate::ops::async_copy::{ASYNC_COMMIT_GROUP, ASYNC_COPY, AsyncCopyOp};
use crate::ops::shared::MEMDESC_INDEX;
use crate::passes::bulk_copies::{BulkTile, barrier_at, bytes_of, expect, load};
use crate::types::{memdesc_type, token_type};
use crate::{Encoding, replace_encoding};
use ir::{Attr, Builder, Op, Place, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int::ANDI;
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::shape::SPLAT;
use ttir::types::{elem, is_tensor, shape, tensor};

pub(super) type Values = FxHashMap<Value, Value>;

/// What stands for the counter and the carried values of the body.
pub(super) fn bind(args: &[Value], numbers: &[usize], counter: Value, states: &[Value]) -> Values {
    let carried = numbers.iter().zip(states).map(|(&number, &state)| (args[number + 1], state));
    carried.chain([(args[0], counter)]).collect()
}

/// Where copies go, and the barriers that count those that are bulk copies.
pub(super) struct Rings {
    pub(super) blocks: Vec<Value>,
    pub(super) barriers: Option<Value>,
}

pub(super) fn integer(builder: &mut Builder<'_>, ty: Type, value: i64) -> Value {
    builder.build_as(&CONSTANT, &[], &[Some(Attr::int(value, ty))], ty)
}

pub(super) fn compare(
    builder: &mut Builder<'_>,
    predicate: CmpIPredicate,
    left: Value,
    right: Value,
) -> Value {
    builder.build(&CMPI, &[left, right], &CmpIOp::attrs(predicate))
}

/// The buffer of a number.
pub(super) fn view(builder: &mut Builder<'_>, ring: Value, copy: &PipelinedLoad, index: Value) -> Value {
    let ty = builder.module.ty(builder.module.result(copy.load, 0));
    let memory = memdesc_type(shape(ty), elem(ty), &copy.shared, true);
    builder.build_as(&MEMDESC_INDEX, &[ring, index], &[], memory)
}

/// A mask that also holds a condition of the whole block.
pub(super) fn with_condition(
    builder: &mut Builder<'_>,
    condition: Value,
    mask: Option<Value>,
    like: Value,
) -> Value {
    let ty = builder.module.ty(like);
    if !is_tensor(ty) {
        return match mask {
            Some(mask) => builder.build(&ANDI, &[condition, mask], &[]),
            None => condition,
        };
    }
    let plain = tensor(shape(ty), Type::int(1));
    let ty = Encoding::of(ty).map_or(plain, |encoding| replace_encoding(plain, encoding));
    let whole = builder.build_as(&SPLAT, &[condition], &[], ty);
    match mask {
        Some(mask) => builder.build(&ANDI, &[whole, mask], &[]),
        None => whole,
    }
}

/// Copies the operations that addresses depend on, and begins the copies. `values` says what stands for the values of
/// the body.
pub(super) fn begin(
    builder: &mut Builder<'_>,
    plan: &PipelinePlan,
    rings: &Rings,
    values: &mut Values,
    condition: Value,
    index: Value,
) {
    copy_slice(builder, &plan.ahead.slice, values, condition);
    begin_bulk(builder, plan, rings, values, condition, index);
    if !plan.has(false) {
        return;
    }
    let mut tokens = Vec::new();
    for (copy, &ring) in plan.copies.iter().zip(&rings.blocks).filter(|(copy, _)| !copy.bulk) {
        builder.loc = builder.module.loc(copy.load);
        let get = |value: Value| ir::mapped(values, value);
        let load = AccessOp::new(builder.module, copy.load);
        let (pointer, mask) = (get(load.ptr()), load.mask().map(get));
        let attrs = AsyncCopyOp::attrs(load.cache(), load.evict(), false, copy.vector as u32);
        let target = view(builder, ring, copy, index);
        let mask = with_condition(builder, condition, mask, pointer);
        tokens.push(builder.build_as(&ASYNC_COPY, &[pointer, target, mask], &attrs, token_type()));
    }
    builder.build_as(&ASYNC_COMMIT_GROUP, &tokens, &[], token_type());
}

/// Begins the bulk copies of an iteration, if there are any, all counted by one barrier.
pub(super) fn begin_bulk(
    builder: &mut Builder<'_>,
    plan: &PipelinePlan,
    rings: &Rings,
    values: &Values,
    condition: Value,
    index: Value,
) {
    let Some(barriers) = rings.barriers else { return };
    let barrier = barrier_at(builder, barriers, index);
    let copies = || plan.copies.iter().zip(&rings.blocks).filter(|(copy, _)| copy.bulk);
    let bytes = copies().map(|(copy, _)| bytes_of(builder.module, copy.load)).sum();
    expect(builder, barrier, bytes, condition);
    for (copy, &ring) in copies() {
        builder.loc = builder.module.loc(copy.load);
        let get = |value: &Value| ir::mapped(values, *value);
        let of = DescriptorAccessOp::new(builder.module, copy.load);
        let (desc, corner): (Value, Vec<Value>) = (of.desc(), of.indices().iter().map(get).collect());
        let target = view(builder, ring, copy, index);
        load(builder, &BulkTile { desc, corner: &corner, target }, barrier, condition);
    }
}

/// Copies the operations that addresses and masks depend on, for another iteration.
pub(super) fn copy_slice(builder: &mut Builder<'_>, slice: &[Op], values: &mut Values, condition: Value) {
    for &op in slice {
        let copy = builder.module.clone_op(op, values);
        place(builder, copy);
        if AccessOp::load(builder.module, copy).is_some() {
            guard(builder, copy, condition);
        }
    }
}

/// Puts an operation where the builder builds.
pub(super) fn place(builder: &mut Builder<'_>, op: Op) {
    match builder.place {
        Place::End(block) => builder.module.append(block, op),
        Place::Before(anchor) => builder.module.insert_before(anchor, op),
    }
}

/// Lets a load or a store act only where the loop would have done so.
pub(super) fn guard(builder: &mut Builder<'_>, access: Op, condition: Value) {
    let of = AccessOp::new(builder.module, access);
    let (ptr, value, mask, other) = (of.ptr(), of.value(), of.mask(), of.other());
    let saved = builder.place;
    builder.place = Place::Before(access);
    let mask = with_condition(builder, condition, mask, ptr);
    builder.place = saved;
    let operands: Vec<Value> = [Some(ptr), value, Some(mask), other].into_iter().flatten().collect();
    builder.module.set_operands(access, &operands);
}
