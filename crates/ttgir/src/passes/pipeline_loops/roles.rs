//! Loops whose warps have roles: some begin the copies, the others use what was copied.
//!
//! ```text
//!                                          ttg.warp_specialize … default {
//! scf.for … {                                scf.for … { wait until the buffer is full ; use(it) ; arrive: it is empty }
//!   %a = tt.descriptor_load %d[…]    =>    } partition0 num_warps(…) {
//!   use(%a)                                  scf.for … { wait until the buffer is empty ; expect the bytes ; copy }
//! }                                        }
//! ```
//!
//! Every buffer of the ring has two barriers: `full` counts the bytes of its copies, `empty` the warps that have read
//! it. Whoever goes around the ring changes the phase that it waits for; the first time around all buffers are empty.
//! Loops and conditions around such a loop are in both roles ([`super::nest`]), and the ring goes on from one of their
//! iterations to the next, and from a loop to one that follows it: the copies run ahead into the next tile while the
//! last one is stored, and into the next loop while the last one computes.
//!
//! Used where a loop, or one around it, says `tt.warp_specialize`, and where it pays ([`should_have`]). Who says it
//! promises what `tt.flatten` promises: iterations of loops around do not read by descriptors what earlier ones write.
//! Left out, and said in a remark: loops inside of loops that do not count, copies by lanes, addresses that are loaded
//! or made of blocks, clusters.

use super::copies::{Rings, compare, integer};
use super::expand::{PipelineState, Walk, carry_state, make_ring, read};
use super::nest::{Inner, Nest, Part, pays, says};
use super::plan::PipelinePlan;
use super::producer;
use crate::machine::Roles;
use crate::module::is_paired;
use crate::ops::barrier::{ARRIVE_BARRIER, ArriveBarrierOp};
use crate::ops::group_dot::{WARP_GROUP_DOT, WARP_GROUP_DOT_WAIT, WarpGroupDotWaitOp};
use crate::ops::roles::{WARP_RETURN, WARP_SPECIALIZE, WARP_YIELD, WarpSpecializeOp};
use crate::ops::shared::LOCAL_DEALLOC;
use crate::ops::turns::GIVE_TURN;
use crate::passes::bulk_copies::{barrier_at, end_barriers, make_barriers_for};
use crate::passes::carried::{carry, yield_as};
use crate::passes::context::Context;
use ir::{Block, Builder, Module, Op, OpInit, Type, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::control::{ForOp, IfOp, YIELD};

/// One warp begins the copies: were there more, each would have to be waited for before a buffer is empty twice.
const PARTITION_WARPS: u32 = 1;
/// From so many warps on, a program has a multiprocessor for itself, and takes the registers that the warp which begins
/// copies leaves.
const MANY_WARPS: u32 = 8;
/// Registers of a lane that only begins copies.
const FEW_REGISTERS: i64 = 24;

/// A loop that reads what others copy.
pub(super) struct Reader {
    pub(super) op: Op,
    /// The views of the buffers that an iteration reads.
    pub(super) views: FxHashSet<Value>,
    barriers: Value,
    state: PipelineState,
    /// Whether more is read from the ring behind the loop.
    is_followed: bool,
    /// Whether two programs fill each other's buffers.
    is_paired: bool,
}

/// Whether a loop should have roles if it can: the one place where that is decided.
pub(super) fn should_have(module: &Module, op: Op, context: &Context) -> bool {
    match context.machine.roles {
        Roles::None => false,
        Roles::Asked => says(module, op),
        Roles::Paying => says(module, op) || pays(module, op) || is_paired(module),
        Roles::All => true,
    }
}

/// Gives the warps of loops their roles. Gives the loops; what is left to do is [`Reader::release`], once they wait for
/// their dots where they do.
pub(super) fn split(module: &mut Module, nest: &Nest, context: &Context) -> Vec<Reader> {
    let leaves = nest.leaves();
    let first = nest.span[0];
    let slots = leaves.iter().map(|(_, plan)| plan.stages).max().expect("a nest has loops");
    let copies = &leaves[0].1.copies;
    let blocks: Vec<Value> = copies.iter().map(|copy| make_ring(module, first, copy, slots)).collect();
    let mut builder = Builder::before(module, first);
    let full = make_barriers_for(&mut builder, slots, 1);
    let is_paired = is_paired(builder.module);
    // Who copies to both programs of a pair waits for the warps of both.
    let readers = context.config.num_warps * if is_paired { 2 } else { 1 };
    let empty = make_barriers_for(&mut builder, slots, readers);
    let rings = Rings { blocks, barriers: Some(full) };
    let registers = (context.config.num_warps >= MANY_WARPS).then_some(FEW_REGISTERS);
    let roles = wrap(module, &nest.span, registers);
    let partition = module.entry(module.region(roles, 1));
    producer::begin_copies(module, partition, nest, (&rings, empty), slots);
    let mut builder = Builder::before(module, first);
    let start = [-1, 0].map(|number| integer(&mut builder, Type::int(32), number));
    let mut consumer = Consumer { rings: &rings, empty, slots, is_paired, readers: Vec::new() };
    consumer.parts(module, &nest.parts, start);
    let mut readers = consumer.readers;
    let is_repeated = nest.parts.iter().any(|part| part.has_outer_loop(module));
    let last = readers.len() - 1;
    for (number, reader) in readers.iter_mut().enumerate() {
        reader.is_followed = is_repeated || number < last;
    }
    for (_, plan) in leaves {
        for copy in &plan.copies {
            module.erase(copy.load);
        }
    }
    let next = module.next(roles).expect("a kernel has a terminator");
    let mut builder = Builder::before(module, next);
    for barriers in [full, empty] {
        end_barriers(&mut builder, barriers, slots);
    }
    for ring in rings.blocks.iter().copied().chain([full, empty]) {
        builder.build_effect(&LOCAL_DEALLOC, &[ring], &[]);
    }
    readers
}

/// Puts operations that follow each other into the default region of roles; there is a partition beside it, still
/// without operations, whose lanes need so many registers.
fn wrap(module: &mut Module, ops: &[Op], registers: Option<i64>) -> Op {
    let is_outside = |module: &Module, user: Op| !ops.iter().any(|&own| module.is_inside(user, own));
    let all = ops.iter().flat_map(|&op| module.results(op).to_vec());
    let is_used = |value: &Value| module.uses(*value).iter().any(|&(user, _)| is_outside(module, user));
    let results: Vec<Value> = all.filter(is_used).collect();
    let warps = [i64::from(PARTITION_WARPS)];
    let init = OpInit {
        operands: SmallVec::new(),
        results: results.iter().map(|&value| module.ty(value)).collect(),
        attrs: WarpSpecializeOp::attrs(&warps, registers.as_ref().map(std::slice::from_ref), None, None)
            .into_iter()
            .collect(),
        regions: 2,
    };
    let loc = module.loc(ops[0]);
    let roles = module.create(&WARP_SPECIALIZE, init, loc);
    module.insert_before(ops[0], roles);
    for (&old, new) in results.iter().zip(module.results(roles).to_vec()) {
        module.replace_uses_if(old, new, |module, user, _| is_outside(module, user));
    }
    let [default, partition] = [0, 1].map(|region| module.add_block(module.region(roles, region)));
    for &op in ops {
        module.detach(op);
        module.append(default, op);
    }
    for (block, row, values) in [(default, &WARP_YIELD, &results[..]), (partition, &WARP_RETURN, &[])] {
        let init = OpInit { operands: SmallVec::from_slice(values), ..OpInit::default() };
        let end = module.create(row, init, loc);
        module.append(block, end);
    }
    roles
}

/// What makes loops read from a ring.
struct Consumer<'a> {
    rings: &'a Rings,
    empty: Value,
    slots: usize,
    is_paired: bool,
    readers: Vec<Reader>,
}

impl Consumer<'_> {
    /// Lets parts go around the ring, from a number of a buffer and a phase to those behind them.
    fn parts(&mut self, module: &mut Module, parts: &[Part], from: [Value; 2]) -> [Value; 2] {
        parts.iter().fold(from, |from, part| self.part(module, part, from))
    }

    fn part(&mut self, module: &mut Module, part: &Part, from: [Value; 2]) -> [Value; 2] {
        match &part.bodies[0].inner {
            Inner::Copies(plan) => self.reads(module, (part.op, part.bodies[0].block), plan, from),
            _ if IfOp::of(module, part.op).is_some() => self.condition(module, part, from),
            Inner::Parts(parts) => {
                let block = part.bodies[0].block;
                let args = from.map(|init| carry(module, part.op, block, init));
                for (arg, next) in args.into_iter().zip(self.parts(module, parts, args)) {
                    yield_as(module, block, arg, next);
                }
                last_two(module, part.op)
            }
        }
    }

    fn condition(&mut self, module: &mut Module, part: &Part, from: [Value; 2]) -> [Value; 2] {
        if IfOp::new(module, part.op).else_block().is_none() {
            let block = module.add_block(module.region(part.op, 1));
            let loc = module.loc(part.op);
            let end = module.create(&YIELD, OpInit::default(), loc);
            module.append(block, end);
        }
        let blocks: Vec<Block> = IfOp::new(module, part.op).blocks().collect();
        for (number, block) in blocks.into_iter().enumerate() {
            let next = match part.bodies.get(number).map(|body| &body.inner) {
                Some(Inner::Parts(parts)) => self.parts(module, parts, from),
                _ => from,
            };
            let end = module.terminator(block);
            next.into_iter().for_each(|value| module.push_operand(end, value));
        }
        for _ in from {
            module.push_result(part.op, Type::int(32));
        }
        last_two(module, part.op)
    }

    /// Lets a loop read what is copied.
    fn reads(
        &mut self,
        module: &mut Module,
        (op, body): (Op, Block),
        plan: &PipelinePlan,
        from: [Value; 2],
    ) -> [Value; 2] {
        let walk =
            Walk { loops: &[op], slots: self.slots, fills_from: None, from: Some(from), is_bulk: true };
        let state = carry_state(module, &walk);
        let views = read(module, body, plan, self.rings, &state);
        let left = state.left.expect("a ring has several buffers");
        let (barriers, is_paired) = (self.empty, self.is_paired);
        self.readers.push(Reader { op, views, barriers, state, is_followed: false, is_paired });
        left
    }
}

/// The number and the phase that an operation gives behind its other results.
fn last_two(module: &Module, op: Op) -> [Value; 2] {
    *module.results(op).last_chunk().expect("they were added")
}

impl Reader {
    /// Says that buffers are empty: that of this iteration, or, where dots go on into the next iteration, that of the
    /// one before. Whoever has the turn may wait for a buffer that others have read, so they say so before they wait
    /// for `turn`.
    pub(super) fn release(&self, module: &mut Module, turn: Option<Op>) {
        let of = ForOp::new(module, self.op);
        let (body, counter, lower, upper) = (of.body(), of.counter(), of.lower(), of.upper());
        let is_late = goes_on(module, body);
        let place = turn.filter(|_| is_late).unwrap_or_else(|| of.terminator());
        let mut builder = Builder::before(module, place);
        if !is_late {
            let index = self.state.reads.expect("a ring has several buffers");
            return self.arrive(&mut builder, index, None);
        }
        let before = self.state.before.expect("a ring has several buffers");
        let is_later = compare(&mut builder, CmpIPredicate::Sgt, counter, lower);
        self.arrive(&mut builder, before, Some(is_later));
        if self.is_followed {
            let number = module.args(body).iter().position(|&arg| arg == before).expect("the body's") - 1;
            let index = module.result(self.op, number);
            let mut builder = Builder::before(module, behind_waits(module, self.op));
            let has_any = compare(&mut builder, CmpIPredicate::Slt, lower, upper);
            self.arrive(&mut builder, index, Some(has_any));
        }
    }

    /// Every warp says for itself that it has read a buffer.
    fn arrive(&self, builder: &mut Builder<'_>, index: Value, condition: Option<Value>) {
        let barrier = barrier_at(builder, self.barriers, index);
        let operands: Vec<Value> = [barrier].into_iter().chain(condition).collect();
        let attrs = ArriveBarrierOp::attrs(1, true, self.is_paired);
        builder.build_effect(&ARRIVE_BARRIER, &operands, &attrs);
    }
}

/// Whether dots may go on when an iteration ends.
fn goes_on(module: &Module, body: Block) -> bool {
    let mut goes_on = false;
    for op in module.ops(body) {
        goes_on |= module.is(op, &WARP_GROUP_DOT);
        goes_on &= WarpGroupDotWaitOp::of(module, op).is_none_or(|wait| wait.pendings() != 0);
    }
    goes_on
}

/// What stands behind a loop, the waits for its dots and the end of its turns.
fn behind_waits(module: &Module, op: Op) -> Op {
    let mut next = module.next(op).expect("a loop is followed by a terminator");
    while [&WARP_GROUP_DOT_WAIT, &GIVE_TURN].iter().any(|row| module.is(next, row)) {
        next = module.next(next).expect("a wait is followed by a terminator");
    }
    next
}
