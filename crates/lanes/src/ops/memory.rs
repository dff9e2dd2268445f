//! Loads, stores and barriers.

use super::Entry;
use crate::access::{plan_in_parts, widest};
use crate::context::Cx;
use crate::error::Result;
use crate::free_bits::first_copies;
use crate::notes;
use crate::packing;
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
    let mut read: FxHashMap<_, usize> = FxHashMap::default();
    let is_exact = hints.volatile || hints.cache == CacheModifier::Cv;
    let mut runs: Vec<Run> = Vec::new();
    let mut run_of: Vec<usize> = Vec::new();
    for group in &plan.groups {
        let masks: Values =
            masks.iter().flat_map(|all| group.iter().step_by(plan.part).map(|&at| all[at])).collect();
        let replaced: Values = others.iter().flat_map(|all| group.iter().map(|&at| all[at])).collect();
        let key = (pointers[group[0]], masks.clone(), replaced.clone());
        if let Some(&first) = read.get(&key).filter(|_| !is_exact) {
            run_of.push(first);
            continue;
        }
        read.insert(key, runs.len());
        run_of.push(runs.len());
        let other: Values = replaced.iter().map(|&value| to_memory(cx, value, element)).collect();
        runs.push(Run { pointer: pointers[group[0]], count: group.len(), part: plan.part, masks, other });
    }
    let loaded: Vec<Values> = load_runs(cx, (hints, element), &runs)
        .into_iter()
        .map(|run| run.into_iter().map(|value| from_memory(cx, value, element)).collect())
        .collect();
    for (group, run) in plan.groups.iter().zip(run_of) {
        for (&register, &value) in group.iter().zip(&loaded[run]) {
            results[register] = Some(value);
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

/// Elements that are neighbours from an address on.
struct Run {
    pointer: Value,
    count: usize,
    /// So many of them share one of the masks.
    part: usize,
    /// For each part; where the last holds, all do.
    masks: Values,
    /// What elements are where they are not loaded: none or all of them.
    other: Values,
}

impl Run {
    fn whole(&self) -> Part {
        Part { pointer: self.pointer, first: 0, count: self.count }
    }

    /// The parts that are loaded alone where the whole is not, with their masks.
    fn parts(&self) -> impl Iterator<Item = (Part, Value)> + '_ {
        let before_last = self.masks.split_last().map_or(&[][..], |(_, before)| before);
        before_last
            .iter()
            .enumerate()
            .map(|(index, &mask)| (Part { first: index * self.part, count: self.part, ..self.whole() }, mask))
    }
}

/// So many parts of runs are accessed without a branch around them.
const FEW_PARTS: usize = 3;

/// Loads runs of neighbours.
fn load_runs(cx: &mut Cx<'_>, of: (Hints, Type), runs: &[Run]) -> Vec<Values> {
    if runs.iter().map(|run| run.parts().count()).sum::<usize>() > FEW_PARTS {
        return load_runs_and_ends(cx, of, runs);
    }
    runs.iter().map(|run| load_run(cx, of, run)).collect()
}

/// Loads a run. Parts come before the whole, which most lanes load: nothing then waits for what the whole brings.
fn load_run(cx: &mut Cx<'_>, of: (Hints, Type), run: &Run) -> Values {
    let Some(&whole) = run.masks.last() else { return load_part(cx, of, (run.whole(), None), &run.other) };
    let mut other = run.other.clone();
    if run.masks.len() > 1 {
        other = given(cx, of.1, run);
    }
    for (part, mask) in run.parts() {
        load_end(cx, of, (part, mask), (whole, &mut other));
    }
    load_part(cx, of, (run.whole(), Some(whole)), &other)
}

/// What the elements of a run are where they are not loaded.
fn given(cx: &mut Cx<'_>, element: Type, run: &Run) -> Values {
    if !run.other.is_empty() {
        return run.other.clone();
    }
    let zero = cx.b.zero(in_memory(element));
    Values::from_elem(zero, run.count)
}

/// Loads a part over its elements where the whole is not loaded.
fn load_end(
    cx: &mut Cx<'_>,
    of: (Hints, Type),
    (part, mask): (Part, Value),
    (whole, elements): (Value, &mut [Value]),
) {
    let alone = only_part(cx, mask, whole);
    let place = part.first..part.first + part.count;
    let loaded = load_part(cx, of, (part, Some(alone)), &elements[place.clone()]);
    elements[place].copy_from_slice(&loaded);
}

/// Loads runs of which few end within: all as a whole, and behind a branch, which lanes take that hold an end, parts.
///
/// What a branch takes is less than an instruction for each part, and a predicate that lives up to it.
fn load_runs_and_ends(cx: &mut Cx<'_>, of: (Hints, Type), runs: &[Run]) -> Vec<Values> {
    let loaded: Vec<Values> = runs
        .iter()
        .map(|run| {
            let other = given(cx, of.1, run);
            load_part(cx, of, (run.whole(), run.masks.last().copied()), &other)
        })
        .collect();
    let Some(ends) = any_end(cx, runs.iter().map(|run| &run.masks[..])) else { return loaded };
    let words: Vec<Values> = loaded.iter().map(|elements| to_words(cx, elements)).collect();
    let mut branch = cx.b.begin_if(ends);
    let mut ended = Values::new();
    for (run, words) in runs.iter().zip(&words) {
        let mut elements = to_elements(cx, words, in_memory(of.1), run.count);
        if let Some(&whole) = run.masks.last() {
            for part in run.parts() {
                load_end(cx, of, part, (whole, &mut elements));
            }
        }
        ended.extend(to_words(cx, &elements));
    }
    cx.b.begin_else(&mut branch, &ended);
    let merged = cx.b.end_if(branch, &words.concat());
    let mut merged = &merged[..];
    let mut results = Vec::new();
    for (run, words) in runs.iter().zip(&words) {
        let (own, rest) = merged.split_at(words.len());
        results.push(to_elements(cx, own, in_memory(of.1), run.count));
        merged = rest;
    }
    results
}

/// Whether this lane accesses a part of any run alone, given the masks of each run's parts; `None` where none can.
fn any_end<'a>(cx: &mut Cx<'_>, runs: impl Iterator<Item = &'a [Value]>) -> Option<Value> {
    let mut any = None;
    for masks in runs {
        let [first, .., whole] = *masks else { continue };
        let ends = only_part(cx, first, whole);
        if cx.b.as_int(ends) == Some(0) {
            continue;
        }
        any = Some(any.map_or(ends, |any| cx.b.or(any, ends)));
    }
    any
}

/// Elements as they are in registers of 32 bits: narrow ones packed.
fn to_words(cx: &mut Cx<'_>, elements: &[Value]) -> Values {
    match elements.first().map(|first| cx.b.ty(*first).lane_bits()) {
        Some(bits @ (8 | 16)) => {
            elements.chunks(32 / bits as usize).map(|chunk| packing::join(cx, chunk)).collect()
        }
        _ => elements.iter().copied().collect(),
    }
}

/// Undoes [`to_words`], for so many elements of a type.
fn to_elements(cx: &mut Cx<'_>, words: &[Value], element: llir::Type, count: usize) -> Values {
    let bits = element.lane_bits() as usize;
    if !matches!(bits, 8 | 16) {
        return words.iter().copied().collect();
    }
    let each = 32 / bits;
    let split = |(index, &word)| packing::split(cx, word, element, each.min(count - index * each));
    words.iter().enumerate().flat_map(split).collect()
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
    let mut runs: Vec<(Run, Values)> = Vec::new();
    for group in &plan.groups {
        let stored: Values = group.iter().map(|&register| to_memory(cx, values[register], element)).collect();
        let masks: Values =
            masks.iter().flat_map(|all| group.iter().step_by(plan.part).map(|&at| all[at])).collect();
        let other = Values::new();
        runs.push((
            Run { pointer: pointers[group[0]], count: group.len(), part: plan.part, masks, other },
            stored,
        ));
    }
    store_runs(cx, (hints, element), (&runs, owner));
    Ok(())
}

/// Stores runs of neighbours where an owner has to. As with loads, what ends within a run is behind a branch where
/// that could be many parts.
fn store_runs(cx: &mut Cx<'_>, of: (Hints, Type), (runs, owner): (&[(Run, Values)], Option<Value>)) {
    for (run, stored) in runs {
        let mask = both(cx, run.masks.last().copied(), owner);
        store_part(cx, of, (run.whole(), mask), stored);
    }
    let mut branch = None;
    if runs.iter().map(|(run, _)| run.parts().count()).sum::<usize>() > FEW_PARTS {
        let Some(ends) = any_end(cx, runs.iter().map(|(run, _)| &run.masks[..])) else { return };
        branch = Some(cx.b.begin_if(ends));
    }
    for (run, stored) in runs {
        let Some(&whole) = run.masks.last() else { continue };
        for (part, mask) in run.parts() {
            let alone = only_part(cx, mask, whole);
            let mask = both(cx, Some(alone), owner);
            store_part(cx, of, (part, mask), &stored[part.first..part.first + part.count]);
        }
    }
    if let Some(branch) = branch {
        cx.b.end_if(branch, &[]);
    }
}

fn store_part(
    cx: &mut Cx<'_>,
    (hints, element): (Hints, Type),
    (part, mask): (Part, Option<Value>),
    stored: &[Value],
) {
    let mut access = part.access(cx, hints, element);
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
