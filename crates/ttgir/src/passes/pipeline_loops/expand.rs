//! Begins copies iterations ahead: in front of the loop for the first iterations, in it for later ones.

use super::across::{self, Outer};
use super::copies::{Rings, Values, begin, compare, integer, view};
use super::plan::{PipelinePlan, PipelinedLoad};
use crate::ops::async_copy::{ASYNC_WAIT, AsyncWaitOp};
use crate::ops::shared::{LOCAL_DEALLOC, LOCAL_LOAD, allocate};
use crate::passes::buffer_reads::read_instead;
use crate::passes::bulk_copies::{barrier_at, end_barriers, make_barriers, wait};
use crate::passes::carried::{carry, carry_through, yield_as};
use crate::passes::fit_registers::produce_late;
use crate::passes::residency::words;
use crate::types::{memdesc_type, token_type};
use ir::{Attr, Block, Builder, Module, Op, Place, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_int::{ADDI, MULI, SUBI, XORI};
use ttir::ops::compare::{CmpIPredicate, SELECT};
use ttir::ops::control::ForOp;
use ttir::ops::dot::MatmulOp;
use ttir::types::{elem, shape};

/// A loop whose copies are begun ahead.
pub(super) struct Expanded {
    /// Views of the buffers that an iteration reads.
    pub(super) views: FxHashSet<Value>,
    pub(super) rings: Rings,
    pub(super) state: PipelineState,
    /// Whether copies end with the loop, and do not go on over the iterations of another one around it.
    pub(super) ends: bool,
}

/// The numbers of the buffers that an iteration fills and reads, and the phase of the barrier that it waits for.
pub(super) struct PipelineState {
    fills: Option<Value>,
    pub(super) reads: Option<Value>,
    /// The buffer that the iteration before has read.
    pub(super) before: Option<Value>,
    pub(super) phase: Option<Value>,
    /// The number of the last buffer that was read and the phase of its barrier, behind the loops.
    pub(super) left: Option<[Value; 2]>,
}

/// How loops go around a ring: the outermost loop first, each inside of the one before.
pub(super) struct Walk<'a> {
    pub(super) loops: &'a [Op],
    pub(super) slots: usize,
    /// The number of the buffer that the first iteration fills, if iterations do.
    pub(super) fills_from: Option<usize>,
    /// What others that went around the ring left ([`PipelineState::left`]), if some did.
    pub(super) from: Option<[Value; 2]>,
    /// Whether barriers say what is full.
    pub(super) is_bulk: bool,
}

/// Carries out a plan.
pub(super) fn expand(module: &mut Module, op: Op, plan: &PipelinePlan) -> Expanded {
    let body = module.entry_of(op);
    let outer = Outer::of(module, op, plan);
    let whole = outer.as_ref().map_or(op, |outer| outer.op);
    let blocks = plan.copies.iter().map(|copy| make_ring(module, whole, copy, plan.slots)).collect();
    let barriers = plan.has(true).then(|| make_barriers(&mut Builder::before(module, whole), plan.slots));
    let rings = Rings { blocks, barriers };
    let loops: Vec<Op> = outer.iter().map(|outer| outer.op).chain([op]).collect();
    let fills_from = Some((plan.distance - 1) % plan.slots);
    let walk = Walk { loops: &loops, slots: plan.slots, fills_from, from: None, is_bulk: plan.has(true) };
    let (views, state) = match &outer {
        Some(outer) => {
            let state = carry_state(module, &walk);
            let views = read(module, body, plan, &rings, &state);
            across::begin_all(module, op, (plan, outer), &rings, |builder| fills(builder, &state));
            (views, state)
        }
        None => {
            let states = prologue(module, op, body, plan, &rings);
            let state = carry_state(module, &walk);
            let views = read(module, body, plan, &rings, &state);
            let ahead: Vec<Value> = states.iter().map(|&state| carry(module, op, body, state)).collect();
            issue(module, op, body, plan, &rings, &ahead, &state);
            (views, state)
        }
    };
    drain(module, whole, plan, &rings);
    for copy in &plan.copies {
        module.erase(copy.load);
    }
    Expanded { views, rings, state, ends: outer.is_none() }
}

pub(super) fn make_ring(module: &mut Module, op: Op, copy: &PipelinedLoad, slots: usize) -> Value {
    let ty = module.ty(module.result(copy.load, 0));
    let mut sizes = vec![slots as i64];
    sizes.extend(shape(ty));
    let memory = memdesc_type(&sizes, elem(ty), &copy.shared, true);
    allocate(&mut Builder::before(module, op), memory)
}

/// The number of the buffer that an iteration fills.
fn fills(builder: &mut Builder<'_>, state: &PipelineState) -> Value {
    state.fills.unwrap_or_else(|| integer(builder, Type::int(32), 0))
}

/// Begins the copies of the first iterations; gives the carried values that addresses of the next one depend on.
fn prologue(module: &mut Module, op: Op, body: Block, plan: &PipelinePlan, rings: &Rings) -> Vec<Value> {
    let [lower, upper, step] = [0, 1, 2].map(|slot| module.operand(op, slot));
    let args = module.args(body).to_vec();
    let last = module.terminator(body);
    let yielded = module.operands(last).to_vec();
    let mut states: Vec<Value> =
        plan.ahead.carried.iter().map(|&index| ForOp::new(module, op).inits()[index]).collect();
    let mut builder = Builder::before(module, op);
    let mut counter = lower;
    for stage in 0..plan.distance {
        let condition = compare(&mut builder, CmpIPredicate::Slt, counter, upper);
        let index = integer(&mut builder, Type::int(32), (stage % plan.slots) as i64);
        let mut values: Values = [(args[0], counter)].into_iter().collect();
        for (&number, &state) in plan.ahead.carried.iter().zip(&states) {
            values.insert(args[number + 1], state);
        }
        begin(&mut builder, plan, rings, &mut values, condition, index);
        for (&number, state) in plan.ahead.carried.iter().zip(&mut states) {
            *state = ir::mapped(&values, yielded[number]);
        }
        builder.loc = builder.module.loc(op);
        counter = builder.build(&ADDI, &[counter, step], &[]);
    }
    states
}

/// What [`PipelineState`] says, carried by the loop and computed at the start of the body.
pub(super) fn carry_state(module: &mut Module, walk: &Walk<'_>) -> PipelineState {
    let (whole, _) = walk.ends();
    let mut start =
        |number: usize| integer(&mut Builder::before(module, whole), Type::int(32), number as i64);
    let fills = walk.fills_from.map(&mut start);
    let reads = walk
        .from
        .map_or_else(|| integer(&mut Builder::before(module, whole), Type::int(32), -1), |from| from[0]);
    let several = walk.slots > 1;
    let fills = fills.filter(|_| several).map(|init| carry_number(module, walk, init));
    let reads = several.then(|| carry_number(module, walk, reads));
    let phase = walk.is_bulk.then(|| carry_phase(module, walk, reads.map(|counted| counted.is_over)));
    PipelineState {
        fills: fills.map(|counted| counted.number),
        reads: reads.map(|counted| counted.number),
        before: reads.map(|counted| counted.before),
        phase: phase.map(|(phase, _)| phase),
        left: reads.zip(phase).map(|(reads, (_, left))| [reads.left, left]),
    }
}

/// A number that goes around a ring.
#[derive(Clone, Copy)]
struct Counted {
    /// In the iteration before.
    before: Value,
    number: Value,
    /// Whether it begins again.
    is_over: Value,
    /// Behind the loops.
    left: Value,
}

/// Counts through the buffers.
fn carry_number(module: &mut Module, walk: &Walk<'_>, init: Value) -> Counted {
    let (whole, op) = walk.ends();
    let body = ForOp::new(module, op).body();
    let arg = carry_through(module, walk.loops, init);
    let left = last_result(module, whole);
    let mut builder = Builder::before(module, start_of(module, body));
    let one = integer(&mut builder, Type::int(32), 1);
    let next = builder.build(&ADDI, &[arg, one], &[]);
    let slots = integer(&mut builder, Type::int(32), walk.slots as i64);
    let is_over = compare(&mut builder, CmpIPredicate::Sge, next, slots);
    let zero = integer(&mut builder, Type::int(32), 0);
    let number = builder.build(&SELECT, &[is_over, zero, next], &[]);
    yield_as(module, body, arg, number);
    Counted { before: arg, number, is_over, left }
}

impl Walk<'_> {
    /// The outermost loop and the innermost.
    fn ends(&self) -> (Op, Op) {
        (self.loops[0], self.loops[self.loops.len() - 1])
    }
}

fn last_result(module: &Module, op: Op) -> Value {
    *module.results(op).last().expect("a value was added")
}

/// The phase that this iteration waits for: it changes when the buffers begin again, with one buffer each time. And
/// that of the last one, behind the loops.
fn carry_phase(module: &mut Module, walk: &Walk<'_>, turned: Option<Value>) -> (Value, Value) {
    let (whole, op) = walk.ends();
    let body = ForOp::new(module, op).body();
    let before_first = i64::from(turned.is_none());
    let mut first = || integer(&mut Builder::before(module, whole), Type::int(32), before_first);
    let init = walk.from.map_or_else(&mut first, |from| from[1]);
    let arg = carry_through(module, walk.loops, init);
    let left = last_result(module, whole);
    let anchor = turned.and_then(|value| module.def_op(value)).and_then(|op| module.next(op));
    let anchor = anchor.unwrap_or_else(|| start_of(module, body));
    let mut builder = Builder::before(module, anchor);
    let one = integer(&mut builder, Type::int(32), 1);
    let other = builder.build(&XORI, &[arg, one], &[]);
    let phase = match turned {
        Some(turned) => builder.build(&SELECT, &[turned, other, arg], &[]),
        None => other,
    };
    yield_as(module, body, arg, phase);
    (phase, left)
}

fn start_of(module: &Module, body: Block) -> Op {
    module.first_op(body).expect("a body has a terminator")
}

/// Waits for the copies of this iteration and lets the users of the loads read the buffers.
pub(super) fn read(
    module: &mut Module,
    body: Block,
    plan: &PipelinePlan,
    rings: &Rings,
    state: &PipelineState,
) -> FxHashSet<Value> {
    let first = plan.copies.iter().map(|copy| copy.load).min_by_key(|&load| position(module, load));
    let first = first.expect("a plan has copies");
    let mut builder = Builder::before(module, first);
    let index = state.reads.unwrap_or_else(|| integer(&mut builder, Type::int(32), 0));
    if let (Some(barriers), Some(phase)) = (rings.barriers, state.phase) {
        let barrier = barrier_at(&mut builder, barriers, index);
        wait(&mut builder, barrier, phase);
    }
    let pending = Attr::i32(plan.distance as i32 - 1);
    let token = plan.has(false).then(|| builder.build_as(&ASYNC_WAIT, &[], &[Some(pending)], token_type()));
    debug_assert!(builder.module.block_of(first) == Some(body));
    let mut views = FxHashSet::default();
    for (copy, &ring) in plan.copies.iter().zip(&rings.blocks) {
        builder.place = Place::Before(copy.load);
        builder.loc = builder.module.loc(copy.load);
        let buffer = view(&mut builder, ring, copy, index);
        views.insert(buffer);
        read_instead(&mut builder, copy.load, copy.other, buffer, token.filter(|_| !copy.bulk));
    }
    views
}

fn position(module: &Module, op: Op) -> usize {
    std::iter::successors(module.prev(op), |&op| module.prev(op)).count()
}

/// Begins the copies of a later iteration.
fn issue(
    module: &mut Module,
    op: Op,
    body: Block,
    plan: &PipelinePlan,
    rings: &Rings,
    ahead: &[Value],
    state: &PipelineState,
) {
    let of = ForOp::new(module, op);
    let (upper, step) = (of.upper(), of.step());
    let args = module.args(body).to_vec();
    let last = module.terminator(body);
    let yielded = module.operands(last).to_vec();
    // Buffers that lanes have read into registers are free again in front of the dots; those that warp groups read,
    // only once the dots are waited for.
    let dots = module.ops(body).find(|&inner| super::plan::is_dot(module, inner));
    // Where a lane cannot hold all operands at once, each is read where its dot stands.
    let is_crowded = !plan.early && !plan.groups && words_held(module, op, body) > plan.room;
    let anchor = match module.ops(body).find(|&inner| module.is(inner, &ASYNC_WAIT)).filter(|_| plan.early) {
        Some(wait) => module.next(wait).unwrap_or(last),
        None => dots
            .filter(|_| !plan.groups && !is_crowded && loads_stand_before(module, body, dots))
            .unwrap_or(last),
    };
    let mut builder = Builder::before(module, op);
    let counted = builder.module.ty(step);
    let counted = integer(&mut builder, counted, plan.distance as i64);
    let reach = builder.build(&MULI, &[step, counted], &[]);
    let limit = builder.build(&SUBI, &[upper, reach], &[]);
    builder.place = Place::Before(anchor);
    let counter = builder.build(&ADDI, &[args[0], reach], &[]);
    let condition = compare(&mut builder, CmpIPredicate::Slt, args[0], limit);
    let index = fills(&mut builder, state);
    let mut values: Values = [(args[0], counter)].into_iter().collect();
    for (&number, &arg) in plan.ahead.carried.iter().zip(ahead) {
        values.insert(args[number + 1], arg);
    }
    begin(&mut builder, plan, rings, &mut values, condition, index);
    for (&number, &arg) in plan.ahead.carried.iter().zip(ahead) {
        let next = ir::mapped(&values, yielded[number]);
        yield_as(module, body, arg, next);
    }
    if is_crowded {
        produce_late(module, body);
    }
}

/// Registers of a lane, in words, that hold what a loop carries, operands that stay the same, and all that it reads of
/// shared memory.
fn words_held(module: &Module, op: Op, body: Block) -> u64 {
    let of = ForOp::new(module, op);
    let mut held: FxHashSet<Value> = of.carried().iter().copied().collect();
    for inner in module.ops(body) {
        if module.is(inner, &LOCAL_LOAD) {
            held.extend(module.results(inner));
        } else if let Some(dot) = MatmulOp::of(module, inner) {
            held.extend([dot.a(), dot.b()].into_iter().filter(|&value| module.is_outside(value, op)));
        }
    }
    held.into_iter().map(|value| words(module, value)).sum()
}

/// Whether every buffer has been read where the dots begin.
fn loads_stand_before(module: &Module, body: Block, dot: Option<Op>) -> bool {
    let Some(dot) = dot.map(|dot| position(module, dot)) else { return false };
    let last = module.ops(body).filter(|&op| module.is(op, &LOCAL_LOAD)).last();
    last.is_none_or(|load| position(module, load) < dot)
}

/// Waits for what is still copied when the loop ends, and gives the buffers back. Every bulk copy that was begun has
/// been waited for by then.
fn drain(module: &mut Module, op: Op, plan: &PipelinePlan, rings: &Rings) {
    let next = module.next(op).expect("a loop is followed by a terminator");
    let mut builder = Builder::before(module, next);
    if plan.has(false) {
        builder.build_as(&ASYNC_WAIT, &[], &AsyncWaitOp::attrs(0), token_type());
    }
    if let Some(barriers) = rings.barriers {
        end_barriers(&mut builder, barriers, plan.slots);
    }
    for ring in rings.blocks.iter().copied().chain(rings.barriers) {
        builder.build_effect(&LOCAL_DEALLOC, &[ring], &[]);
    }
}
