//! Loads, stores and barriers.

use super::Entry;
use crate::access::{plan_in_parts, widest};
use crate::context::Cx;
use crate::error::Result;
use crate::free_bits::first_copies;
use crate::notes;
use crate::target::Access;
use crate::types;
use ir::{Op, Type};
use llir::{Op as Inst, Value, Values};
use rustc_hash::FxHashMap;
use ttir::ops::memory::{BARRIER, CacheModifier, EvictionPolicy, LOAD, LoadOp, STORE, StoreOp};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&LOAD, load), (&STORE, store), (&BARRIER, barrier)];

fn barrier(cx: &mut Cx<'_>, _: Op) -> Result<()> {
    cx.memory_barrier();
    Ok(())
}

/// What a program says of an access besides its address.
#[derive(Clone, Copy)]
pub(crate) struct Hints {
    pub(crate) cache: CacheModifier,
    pub(crate) eviction: EvictionPolicy,
    pub(crate) volatile: bool,
}

/// An access through the pointer of a register.
pub(crate) fn access(cx: &Cx<'_>, hints: Hints, pointer: Value, element: Type, count: usize) -> Access {
    let (pointer, offset) = cx.split_pointer(pointer);
    let Hints { cache, eviction, volatile } = hints;
    let near = cx.affine.near(pointer);
    Access { cache, eviction, volatile, near, ..Access::new(pointer, offset, in_memory(element), count) }
}

/// The type that an access moves: addresses travel as integers.
pub(crate) fn in_memory(element: Type) -> llir::Type {
    let ty = types::memory(element);
    if ty.is_ptr() { llir::Type::int(ty.lane_bits() as u16) } else { ty }
}

/// A value of memory as it is in registers.
pub(crate) fn from_memory(cx: &mut Cx<'_>, value: Value, element: Type) -> Value {
    let ty = types::register(element);
    match ty {
        _ if ty.is_ptr() => cx.b.cast(Inst::INTTOPTR, value, ty),
        llir::Type::I1 => cx.b.cast(Inst::TRUNC, value, ty),
        _ => value,
    }
}

/// A value of a register as it is in memory.
pub(crate) fn to_memory(cx: &mut Cx<'_>, value: Value, element: Type) -> Value {
    let ty = in_memory(element);
    match types::register(element) {
        register if register.is_ptr() => cx.b.cast(Inst::PTRTOINT, value, ty),
        llir::Type::I1 => cx.b.cast(Inst::ZEXT, value, ty),
        _ => value,
    }
}

fn load(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let load = LoadOp::new(cx.module, op);
    let (pointer, mask, other) = (load.ptr(), load.mask(), load.other());
    let hints = Hints { cache: load.cache(), eviction: load.evict(), volatile: load.volatile() };
    let result_ty = cx.module.ty(load.result());
    let element = ttir::types::elem(result_ty);
    let limit = widest(cx, element);
    let plan = plan_in_parts(cx, pointer, mask, limit)?;
    notes::note_access(cx, op, &plan, false)?;
    let pointers = cx.registers(pointer)?;
    let masks = mask.map(|mask| cx.registers(mask)).transpose()?;
    let others = other.map(|other| cx.registers(other)).transpose()?;
    let mut results: Vec<Option<Value>> = vec![None; pointers.len()];
    // Registers that are known to have one address, one mask and one replacement are read once.
    let mut read: FxHashMap<_, &[usize]> = FxHashMap::default();
    let is_exact = hints.volatile || hints.cache == CacheModifier::Cv;
    for group in &plan.groups {
        let masks: Values =
            masks.iter().flat_map(|all| group.iter().step_by(plan.part).map(|&at| all[at])).collect();
        let replaced: Values = others.iter().flat_map(|all| group.iter().map(|&at| all[at])).collect();
        let key = (pointers[group[0]], masks.clone(), replaced.clone());
        if let Some(first) = read.get(&key).filter(|_| !is_exact) {
            for (&register, &first) in group.iter().zip(*first) {
                results[register] = results[first];
            }
            continue;
        }
        read.insert(key, group);
        let given: Values = replaced.iter().map(|&value| to_memory(cx, value, element)).collect();
        let loaded =
            load_group(cx, (hints, element), (pointers[group[0]], group.len()), (&masks, plan.part), given);
        for (register, value) in group.iter().zip(loaded) {
            results[*register] = Some(from_memory(cx, value, element));
        }
    }
    if ttir::types::is_tensor(result_ty) {
        for (register, first) in first_copies(&*cx.layout(result_ty)?).into_iter().enumerate() {
            results[register] = results[first];
        }
    }
    let loaded = results.into_iter().map(|value| value.expect("the plan covers every element"));
    cx.set_registers(op, loaded.collect());
    Ok(())
}

/// Loads neighbours, of which so many at a time share one of the masks. Parts come before the whole, which most lanes
/// load: nothing then waits for what the whole brings.
fn load_group(
    cx: &mut Cx<'_>,
    of: (Hints, Type),
    (pointer, count): (Value, usize),
    (masks, part): (&[Value], usize),
    mut other: Values,
) -> Values {
    let all = Part { pointer, first: 0, count };
    let Some((&whole, parts)) = masks.split_last() else { return load_part(cx, of, (all, None), &other) };
    if !parts.is_empty() && other.is_empty() {
        let zero = cx.b.zero(in_memory(of.1));
        other = Values::from_elem(zero, count);
    }
    for (index, &mask) in parts.iter().enumerate() {
        let at = index * part;
        let alone = only_part(cx, mask, whole);
        let some = Part { pointer, first: at, count: part };
        let loaded = load_part(cx, of, (some, Some(alone)), &other[at..at + part]);
        other[at..at + part].copy_from_slice(&loaded);
    }
    load_part(cx, of, (all, Some(whole)), &other)
}

/// Some of the elements that are neighbours from an address on.
#[derive(Clone, Copy)]
struct Part {
    pointer: Value,
    first: usize,
    count: usize,
}

impl Part {
    fn access(self, cx: &Cx<'_>, hints: Hints, element: Type) -> Access {
        let access = access(cx, hints, self.pointer, element, self.count);
        let before = self.first as i64 * i64::from(access.element.lane_bytes());
        Access { offset: access.offset + before, ..access }
    }
}

/// Where a part is accessed alone: the whole is not.
fn only_part(cx: &mut Cx<'_>, part: Value, whole: Value) -> Value {
    let not_whole = cx.b.not(whole);
    cx.b.and(part, not_whole)
}

fn load_part(
    cx: &mut Cx<'_>,
    (hints, element): (Hints, Type),
    (part, mask): (Part, Option<Value>),
    other: &[Value],
) -> Values {
    let count = part.count;
    let mut access = part.access(cx, hints, element);
    match mask.map(|mask| (mask, cx.b.as_int(mask))) {
        None => {}
        // Undefined without `other`; zero is what people rely on.
        Some((_, Some(0))) if other.is_empty() => {
            let zero = cx.b.zero(access.element);
            return Values::from_elem(zero, count);
        }
        Some((_, Some(0))) => return other.iter().copied().collect(),
        Some((_, Some(_))) => return cx.target.load(&mut cx.b, &access, &[]),
        Some((mask, None)) => access.mask = Some(mask),
    }
    if access.mask.is_some() && other.is_empty() {
        let zero = cx.b.zero(access.element);
        return cx.target.load(&mut cx.b, &access, &Values::from_elem(zero, count));
    }
    cx.target.load(&mut cx.b, &access, if access.mask.is_some() { other } else { &[] })
}

fn store(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let store = StoreOp::new(cx.module, op);
    let (pointer, mask) = (store.ptr(), store.mask());
    let hints = Hints { cache: store.cache(), eviction: store.evict(), volatile: false };
    let element = ttir::types::elem(cx.module.ty(store.value()));
    let limit = widest(cx, element);
    let plan = plan_in_parts(cx, pointer, mask, limit)?;
    notes::note_access(cx, op, &plan, true)?;
    let (pointers, values) = (cx.registers(pointer)?, cx.registers(store.value())?);
    let masks = mask.map(|mask| cx.registers(mask)).transpose()?;
    let owner = cx.owner_mask(&plan.free);
    for group in &plan.groups {
        let stored: Values = group.iter().map(|&register| to_memory(cx, values[register], element)).collect();
        let masked = |register: usize| masks.as_ref().map(|masks| masks[register]);
        let last = group.len() - plan.part;
        let whole = masked(group[last]);
        for at in (0..last).step_by(plan.part) {
            let alone = masked(group[at]).zip(whole).map(|(part, whole)| only_part(cx, part, whole));
            let mask = both(cx, alone, owner);
            store_part(cx, (hints, element), (pointers[group[0]], mask), (at, &stored[at..at + plan.part]));
        }
        let mask = both(cx, whole, owner);
        store_part(cx, (hints, element), (pointers[group[0]], mask), (0, &stored));
    }
    Ok(())
}

fn store_part(
    cx: &mut Cx<'_>,
    (hints, element): (Hints, Type),
    (pointer, mask): (Value, Option<Value>),
    (first, stored): (usize, &[Value]),
) {
    let mut access = Part { pointer, first, count: stored.len() }.access(cx, hints, element);
    match mask.and_then(|mask| cx.b.as_int(mask)) {
        Some(0) => return,
        Some(_) => {}
        None => access.mask = mask,
    }
    cx.target.store(&mut cx.b, &access, stored);
}

/// Where both hold.
pub(crate) fn both(cx: &mut Cx<'_>, left: Option<Value>, right: Option<Value>) -> Option<Value> {
    match (left, right) {
        (Some(left), Some(right)) => Some(cx.b.and(left, right)),
        (one, None) | (None, one) => one,
    }
}
