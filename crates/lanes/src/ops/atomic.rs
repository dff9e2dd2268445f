//! Atomics. Of the copies of an element one acts; the others get its result.

use super::memory::{both, from_memory, to_memory};
use super::{Entry, SharingEntry};
use super::{atomic_swap, share_results};
use crate::access::plan;
use crate::context::Cx;
use crate::error::Result;
use crate::free_bits::first_copies;
use crate::packing::{as_integer, from_integer};
use crate::target::{AtomicAccess, Reductions};
use crate::types;
use elementwise::small_float::{as_wide, narrow_to};
use ir::{Module, Op, Traits, Type as IrType, Value as IrValue};
use llir::{FloatCompare, IntCompare, Type, Value};
use ttir::ops::atomic::{
    ATOMIC_CAS, ATOMIC_LOAD, ATOMIC_POLL, ATOMIC_RMW, ATOMIC_STORE, AtomicCasOp, AtomicLoadOp, AtomicPollOp,
    AtomicRmwOp, AtomicStoreOp, Rmw, Scope, Sem,
};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&ATOMIC_STORE, store)];

/// Rows of this file whose results are shared by lanes.
pub(crate) const SHARING: &[SharingEntry] = &[
    (&ATOMIC_RMW, rmw, share_results::need),
    (&ATOMIC_CAS, cas, share_results::need),
    (&ATOMIC_LOAD, load, share_results::need),
    (&ATOMIC_POLL, poll, share_results::need),
];

/// The elements of one operation: which registers act, on which addresses, in which lanes.
struct Elements {
    /// The registers of each instruction, neighbours in memory.
    groups: Vec<Vec<usize>>,
    pointers: std::rc::Rc<[Value]>,
    masks: Option<std::rc::Rc<[Value]>>,
    owner: Option<Value>,
    order: Sem,
    scope: Scope,
}

/// What an atomic acts on, and how.
#[derive(Clone, Copy)]
struct Request {
    pointer: IrValue,
    mask: Option<IrValue>,
    order: Sem,
    scope: Scope,
}

/// The elements, at most so many for each instruction. The accesses of all lanes before it come first where it
/// releases.
fn elements(cx: &mut Cx<'_>, op: Op, request: Request, width: usize) -> Result<Elements> {
    let Request { pointer, mask, order, scope } = request;
    let plan = plan(cx, pointer, mask, width as u64)?;
    crate::notes::note_atomics(cx, op, &plan)?;
    let owner = cx.owner_mask(&plan.free);
    let pointers = cx.registers(pointer)?;
    let masks = mask.map(|mask| cx.registers(mask)).transpose()?;
    if order.releases() {
        // One lane's atomic orders that lane's accesses; the others' are ordered before it by a barrier.
        cx.memory_barrier();
    }
    Ok(Elements { groups: plan.groups, pointers, masks, owner, order, scope })
}

fn access(cx: &mut Cx<'_>, elements: &Elements, register: usize) -> AtomicAccess {
    let (pointer, offset) = cx.split_pointer(elements.pointers[register]);
    let own = elements.masks.as_ref().map(|masks| masks[register]);
    let mask = both(cx, own, elements.owner);
    let mask = mask.filter(|mask| cx.b.as_int(*mask).is_none_or(|value| value == 0));
    let near = cx.affine.near(pointer);
    AtomicAccess { pointer, offset, mask, order: elements.order, scope: elements.scope, near }
}

fn rmw(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let atomic = AtomicRmwOp::new(cx.module, op);
    let (kind, order, scope) = (atomic.kind(), atomic.sem(), atomic.scope());
    let request = Request { pointer: atomic.ptr(), mask: atomic.mask(), order, scope };
    let element = ttir::types::elem(cx.module.ty(atomic.value()));
    let values = cx.registers(atomic.value())?;
    let target = cx.target;
    if cx.module.is_unused(cx.module.result(op, 0))
        && let Some(reductions) = target.reductions()
        && let Some(width) = reductions.width(kind, types::register(element))
    {
        return reduce(cx, op, request, (reductions, kind, width), &values);
    }
    let width = cx.target.atomic_width(kind, types::register(element));
    let elements = elements(cx, op, request, width)?;
    let mut results = vec![None; values.len()];
    for group in &elements.groups {
        let combined: Vec<Value> = group.iter().map(|&register| values[register]).collect();
        let first = access(cx, &elements, group[0]);
        let found = cx.target.atomic(&mut cx.b, kind, &first, &combined);
        for (index, &register) in group.iter().enumerate() {
            results[register] = Some(match &found {
                Some(found) => found[index],
                None => {
                    let access = access(cx, &elements, register);
                    let ty = cx.b.ty(values[register]);
                    atomic_swap::by_swapping(cx, &access, ty, |cx, old| {
                        combine(cx, kind, old, values[register], element)
                    })
                }
            });
        }
    }
    set_results(cx, op, &elements, element, results)
}

/// Combines values into memory where nobody asks what was there before.
///
/// A reduction reads nothing, so it cannot acquire, and where it takes several instructions one fence in front of them
/// releases for all. What follows stays behind a fence, where something does.
fn reduce(
    cx: &mut Cx<'_>,
    op: Op,
    request: Request,
    (reductions, kind, width): (&dyn Reductions, Rmw, usize),
    values: &[Value],
) -> Result<()> {
    let mut elements = elements(cx, op, request, width)?;
    let element = ttir::types::elem(cx.module.ty(cx.module.result(op, 0)));
    let order = request.order;
    elements.order = if order.releases() { Sem::Release } else { Sem::Relaxed };
    if order.releases() && elements.groups.len() > 1 {
        reductions.fence(&mut cx.b, elements.scope);
        elements.order = Sem::Relaxed;
    }
    for group in &elements.groups {
        let combined: Vec<Value> = group.iter().map(|&register| values[register]).collect();
        let first = access(cx, &elements, group[0]);
        if reductions.reduce(&mut cx.b, kind, &first, &combined) {
            continue;
        }
        for (&register, value) in group.iter().zip(combined) {
            let access = access(cx, &elements, register);
            let ty = cx.b.ty(value);
            atomic_swap::by_swapping(cx, &access, ty, |cx, old| combine(cx, kind, old, value, element));
        }
    }
    if order.acquires() && touches_memory_later(cx.module, op) {
        reductions.fence(&mut cx.b, elements.scope);
        cx.memory_barrier();
    }
    let zero = cx.b.zero(types::register(element));
    cx.set_registers(op, vec![zero; values.len()]);
    Ok(())
}

/// Combines a value with the element at an address, of which nobody asks what was there before. The value is a register
/// of the element's type.
pub fn combine_into(cx: &mut Cx<'_>, kind: Rmw, element: IrType, pointer: Value, value: Value) {
    let near = cx.affine.near(pointer);
    let (order, scope) = (Sem::Relaxed, Scope::Gpu);
    let access = AtomicAccess { pointer, offset: 0, mask: None, order, scope, near };
    let reductions = cx.target.reductions();
    if reductions.is_some_and(|reductions| reductions.reduce(&mut cx.b, kind, &access, &[value])) {
        return;
    }
    let ty = cx.b.ty(value);
    atomic_swap::by_swapping(cx, &access, ty, |cx, old| combine(cx, kind, old, value, element));
}

/// Whether an operation that runs after another one may touch memory.
fn touches_memory_later(module: &Module, op: Op) -> bool {
    let touches = |op: Op| {
        module.walk(op).into_iter().any(|inner| {
            let is_plain = module.has(inner, Traits::PURE) || module.has(inner, Traits::TERMINATOR);
            !is_plain && module.regions(inner).is_empty()
        })
    };
    let mut at = op;
    loop {
        let mut later = std::iter::successors(module.next(at), |&next| module.next(next));
        let Some(parent) = module.parent_op(at) else { return false };
        if later.any(touches) || module.has(parent, Traits::LOOP) {
            return true;
        }
        at = parent;
    }
}

/// What an atomic writes.
fn combine(cx: &mut Cx<'_>, kind: Rmw, old: Value, value: Value, element: IrType) -> Value {
    let ty = cx.b.ty(old);
    let choose = |cx: &mut Cx<'_>, compare| {
        let better = cx.b.icmp(compare, value, old);
        cx.b.select(better, value, old)
    };
    let is_float = element.as_float().is_some();
    match kind {
        Rmw::Max if is_float => float_extremum(cx, FloatCompare::Ogt, old, value, element),
        Rmw::Min if is_float => float_extremum(cx, FloatCompare::Olt, old, value, element),
        Rmw::And => cx.b.and(old, value),
        Rmw::Or => cx.b.or(old, value),
        Rmw::Xor => cx.b.xor(old, value),
        Rmw::Add => cx.b.add(old, value),
        Rmw::Fadd => {
            let sum = cx.element(|ctx| {
                let [left, right] = [old, value].map(|value| as_wide(ctx, element, value));
                let sum = ctx.b.fadd(left, right);
                narrow_to(ctx, element, sum)
            });
            cx.b.bitcast(sum, ty)
        }
        Rmw::Max => choose(cx, IntCompare::Sgt),
        Rmw::Min => choose(cx, IntCompare::Slt),
        Rmw::Umax => choose(cx, IntCompare::Ugt),
        Rmw::Umin => choose(cx, IntCompare::Ult),
        Rmw::Exch => value,
    }
}

/// The greater or the lesser float; a number in place of a NaN.
fn float_extremum(
    cx: &mut Cx<'_>,
    compare: FloatCompare,
    old: Value,
    value: Value,
    element: IrType,
) -> Value {
    let [before, given] = cx.element(|ctx| [old, value].map(|value| as_wide(ctx, element, value)));
    let better = cx.b.fcmp(compare, given, before);
    let was_nan = cx.b.fcmp(FloatCompare::Uno, before, before);
    let replaces = cx.b.or(better, was_nan);
    cx.b.select(replaces, value, old)
}

fn cas(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let atomic = AtomicCasOp::new(cx.module, op);
    let (order, scope) = (atomic.sem(), atomic.scope());
    let element = ttir::types::elem(cx.module.ty(atomic.value()));
    let (expected, new) = (cx.registers(atomic.expected())?, cx.registers(atomic.value())?);
    let elements = elements(cx, op, Request { pointer: atomic.ptr(), mask: None, order, scope }, 1)?;
    let mut results = vec![None; expected.len()];
    for register in elements.groups.iter().map(|group| group[0]) {
        let access = access(cx, &elements, register);
        results[register] = Some(atomic_swap::compare_swap(cx, access, expected[register], new[register]));
    }
    set_results(cx, op, &elements, element, results)
}

fn load(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let atomic = AtomicLoadOp::new(cx.module, op);
    let (order, scope) = (atomic.sem(), atomic.scope());
    let element = ttir::types::elem(cx.module.ty(atomic.result()));
    let request = Request { pointer: atomic.ptr(), mask: atomic.mask(), order, scope };
    let elements = elements(cx, op, request, 1)?;
    let ty = types::memory(element);
    let integer = Type::int(ty.lane_bits().max(8) as u16);
    let mut results = vec![None; elements.pointers.len()];
    for register in elements.groups.iter().map(|group| group[0]) {
        let access = access(cx, &elements, register);
        let found = cx.target.atomic_load(&mut cx.b, &access, integer);
        let found = from_integer(cx, found, ty);
        results[register] = Some(from_memory(cx, found, element));
    }
    set_results(cx, op, &elements, element, results)
}

fn store(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let atomic = AtomicStoreOp::new(cx.module, op);
    let (order, scope) = (atomic.sem(), atomic.scope());
    let element = ttir::types::elem(cx.module.ty(atomic.value()));
    let values = cx.registers(atomic.value())?;
    let request = Request { pointer: atomic.ptr(), mask: atomic.mask(), order, scope };
    let elements = elements(cx, op, request, 1)?;
    for register in elements.groups.iter().map(|group| group[0]) {
        let access = access(cx, &elements, register);
        let value = to_memory(cx, values[register], element);
        let value = as_integer(cx, value);
        cx.target.atomic_store(&mut cx.b, &access, value);
    }
    if elements.order.acquires() {
        cx.memory_barrier();
    }
    Ok(())
}

/// The nanoseconds that one load of a poll counts for on machines without a clock.
const NANOSECONDS_OF_A_POLL: i64 = 100;

/// One lane of those that have a copy of an element loads until memory holds what is expected, or the time of them all
/// is over.
fn poll(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let poll = AtomicPollOp::new(cx.module, op);
    let request = Request { pointer: poll.ptr(), mask: None, order: poll.sem(), scope: poll.scope() };
    let expected = cx.registers(poll.expected())?;
    let timeout = poll.timeout().map(|timeout| cx.registers(timeout)).transpose()?.map(|time| time[0]);
    let elements = elements(cx, op, request, 1)?;
    let budget = timeout.map(|nanoseconds| Budget { nanoseconds, start: cx.target.clock(&mut cx.b) });
    let mut results = vec![None; expected.len()];
    for register in elements.groups.iter().map(|group| group[0]) {
        let access = access(cx, &elements, register);
        results[register] = Some(wait(cx, access, expected[register], budget));
    }
    set_results(cx, op, &elements, IrType::int(1), results)
}

/// How long a poll may take.
#[derive(Clone, Copy)]
struct Budget {
    nanoseconds: Value,
    /// When it began, on machines with a clock.
    start: Option<Value>,
}

/// Whether one element was seen in time; false where the access is masked.
fn wait(cx: &mut Cx<'_>, access: AtomicAccess, expected: Value, budget: Option<Budget>) -> Value {
    let always = cx.b.bool(true);
    let mut branch = cx.b.begin_if(access.mask.unwrap_or(always));
    let access = AtomicAccess { mask: None, ..access };
    let nothing = cx.b.i64(0);
    let before = budget.map(|budget| match budget.start {
        Some(_) => passed(cx, budget.start, nothing),
        None => nothing,
    });
    let waiting = cx.b.begin_while(before.as_slice());
    let ty = cx.b.ty(expected);
    let found = cx.target.atomic_load(&mut cx.b, &access, ty);
    let seen = cx.b.icmp(IntCompare::Eq, found, expected);
    let mut goes_on = cx.b.icmp(IntCompare::Ne, found, expected);
    if let Some(budget) = budget {
        let in_time = cx.b.icmp(IntCompare::Slt, waiting.carried[0], budget.nanoseconds);
        goes_on = cx.b.and(goes_on, in_time);
    }
    cx.b.do_while(&waiting, goes_on, &[seen]);
    let passed = budget.map(|budget| passed(cx, budget.start, waiting.carried[0]));
    let seen = cx.b.end_while(waiting, passed.as_slice())[0];
    cx.b.begin_else(&mut branch, &[seen]);
    let no = cx.b.bool(false);
    cx.b.end_if(branch, &[no])[0]
}

/// The nanoseconds since a time, or those of one load more than `before`.
fn passed(cx: &mut Cx<'_>, start: Option<Value>, before: Value) -> Value {
    match (start, cx.target.clock(&mut cx.b)) {
        (Some(start), Some(now)) => cx.b.sub(now, start),
        _ => {
            let once = cx.b.i64(NANOSECONDS_OF_A_POLL);
            cx.b.add(before, once)
        }
    }
}

/// Makes the results of the lanes that acted those of all copies.
fn set_results(
    cx: &mut Cx<'_>,
    op: Op,
    elements: &Elements,
    element: IrType,
    results: Vec<Option<Value>>,
) -> Result<()> {
    let result: IrValue = cx.module.result(op, 0);
    let ty = cx.module.ty(result);
    let zero = cx.b.zero(types::register(element));
    let mut values: Vec<Value> = results.into_iter().map(|value| value.unwrap_or(zero)).collect();
    if ttir::types::is_tensor(ty) {
        let first = first_copies(&*cx.layout(ty)?);
        values = first.into_iter().map(|register| values[register]).collect();
    }
    if elements.order.acquires() {
        cx.memory_barrier();
    }
    if !cx.module.is_unused(result) {
        values = share_results::share_results(cx, op, values)?;
    }
    cx.set_registers(op, values);
    Ok(())
}
