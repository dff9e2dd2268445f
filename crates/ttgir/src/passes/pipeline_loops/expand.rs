//! Begins copies iterations ahead: in front of the loop for the first iterations, in it for later ones.

use super::across::{self, Outer};
use super::copies::{Rings, Values, begin, carry, carry_through, compare, integer, view, yield_as};
use super::plan::{PipelinePlan, PipelinedLoad};
use crate::ops::async_copy::{ASYNC_WAIT, AsyncWaitOp};
use crate::ops::convert::{CONVERT_LAYOUT, ConvertLayoutOp};
use crate::ops::shared::{
    AllocOp, LOCAL_DEALLOC, LOCAL_LOAD, MEMDESC_TRANS, MemdescTransOp, allocate, load_from,
};
use crate::passes::bulk_copies::{barrier_at, end_barriers, lies_as, make_barriers, replace_memory, wait};
use crate::passes::fit_registers::produce_late;
use crate::passes::residency::words;
use crate::types::{memdesc_type, token_type};
use crate::{Encoding, infer, replace_encoding};
use ir::{Attr, Block, Builder, Module, Op, Place, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int::{ADDI, MULI, SUBI, XORI};
use ttir::ops::compare::{CmpIPredicate, SELECT};
use ttir::ops::control::ForOp;
use ttir::ops::dot::MatmulOp;
use ttir::ops::shape::{EXPAND_DIMS, ExpandDimsOp, TRANS, TransOp};
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
        replace_users(&mut builder, copy, buffer, token.filter(|_| !copy.bulk));
    }
    views
}

fn position(module: &Module, op: Op) -> usize {
    std::iter::successors(module.prev(op), |&op| module.prev(op)).count()
}

/// Users that put the block into shared memory get the buffer, those that change its layout load it in theirs, others
/// load it as it was.
fn replace_users(builder: &mut Builder<'_>, copy: &PipelinedLoad, buffer: Value, token: Option<Value>) {
    let value = builder.module.result(copy.load, 0);
    let users: Vec<Op> = builder.module.uses(value).iter().map(|use_| use_.0).collect();
    for user in users.into_iter().filter(|_| copy.other.is_none()) {
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
    let mask = AccessOp::of(builder.module, copy.load).and_then(AccessOp::mask);
    if let (Some(other), Some(mask)) = (copy.other, mask) {
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
