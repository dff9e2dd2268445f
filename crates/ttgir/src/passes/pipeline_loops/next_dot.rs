//! Begins the first dot of an iteration one iteration earlier.
//!
//! ```text
//! for … {                              %s0 = dot %k, %q[0] ; wait
//!   %s = dot %k, %q[i]                 for … (%s = %s0) {
//!   wait %s                              %p = exp %s
//!   %p = exp %s                   =>     %n = dot %k, %q[i + 1]
//!   %sum = dot %p, …                     %sum = dot %p, …
//! }                                      wait %n {pendings = 1}
//!                                      }
//! ```
//!
//! So lanes compute while tensor cores make the dots of two iterations, and have none to wait for first. The last
//! iteration makes its own first dot again, as there is no block behind it.

use super::copies::{compare, integer, place};
use super::dots::{adds_up, carried_number, is_view, memory_of, wait_behind};
use super::expand::Expanded;
use super::plan::PipelinePlan;
use crate::Encoding;
use crate::ops::async_copy::{ASYNC_WAIT, AsyncWaitOp};
use crate::ops::barrier::WAIT_BARRIER;
use crate::ops::group_dot::WarpGroupDotOp;
use crate::ops::shared::MemdescIndexOp;
use crate::passes::bulk_copies::{barrier_at, wait};
use crate::passes::carried::{carry, yield_as};
use crate::passes::hold_operands::ROWS;
use crate::passes::residency::{Residency, dots_of, words};
use crate::types::{memdesc, token_type};
use ir::{Builder, Module, Op, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::arith_int::{ADDI, SUBI, XORI};
use ttir::ops::compare::{CmpIPredicate, SELECT};
use ttir::ops::control::ForOp;

/// Iterations between the begin of a copy and its use from which on one of them can be given away: the copy has the
/// time of another one then.
const LEAST_DISTANCE: usize = 3;

/// A dot that may begin an iteration earlier.
struct Candidate {
    dot: Op,
    /// Views of the ring that it reads, in the order of the body.
    views: Vec<Op>,
}

/// Moves the first dot of a loop one iteration ahead, where there is room for its result. Gives the dot of the next
/// iteration, which is to be waited for at the end of the body.
pub(super) fn begin_next(
    module: &mut Module,
    op: Op,
    pipelined: (&PipelinePlan, &Expanded),
    residency: &Residency,
) -> Option<Op> {
    let (plan, ring) = pipelined;
    let reads = ring.state.reads.filter(|_| ring.ends && plan.distance >= LEAST_DISTANCE)?;
    let body = ForOp::new(module, op).body();
    let dots = dots_of(module, op);
    let (&first, &last) = (dots.first()?, dots.last()?);
    let candidate = Candidate::of(module, op, first, reads)?;
    let sums = carried_number(module, body, last).is_some_and(|number| adds_up(module, body, last, number));
    if first == last || !sums || !residency.has_room(module, op, words(module, module.result(first, 0))) {
        return None;
    }
    let next = wait_for_next(module, op, pipelined, reads);
    let whole = begin_first(module, op, pipelined, (&candidate, reads));
    let carried = carry(module, op, body, whole);
    module.replace_uses(module.result(first, 0), carried);
    let mut builder = Builder::before(module, last);
    let ahead = candidate.copy(&mut builder, reads, next);
    module.erase(first);
    let result = module.result(ahead, 0);
    yield_as(module, body, carried, result);
    Some(ahead)
}

impl Candidate {
    /// A dot that adds to nothing of the loop, and reads what stays the same and the buffer of the iteration. Reading
    /// its operands must not take longer than multiplying them: shared memory has no time to spare then.
    fn of(module: &Module, op: Op, dot: Op, reads: Value) -> Option<Candidate> {
        let of = WarpGroupDotOp::new(module, dot);
        let stays =
            [Some(of.c()), of.use_c()].into_iter().flatten().all(|value| module.is_outside(value, op));
        let Some(Encoding::Mma { instr_shape, .. }) = Encoding::of(module.ty(of.d())) else { return None };
        let is_read_quickly = memdesc(module.ty(of.a())).is_none() || instr_shape[1] >= ROWS;
        if !stays || !is_read_quickly {
            return None;
        }
        let mut views = Vec::new();
        for mut value in [of.a(), of.b()] {
            while !module.is_outside(value, op) {
                let view = module.def_op(value).filter(|&view| is_view(module, view))?;
                if MemdescIndexOp::of(module, view).is_some_and(|index| index.index() != reads) {
                    return None;
                }
                value = memory_of(module, view).first().copied()?;
                views.push(view);
            }
        }
        views.reverse();
        Some(Candidate { dot, views })
    }

    /// The dot on another buffer.
    fn copy(&self, builder: &mut Builder<'_>, reads: Value, buffer: Value) -> Op {
        let mut values: FxHashMap<Value, Value> = [(reads, buffer)].into_iter().collect();
        let mut copy = self.dot;
        for op in self.views.iter().copied().chain([self.dot]) {
            copy = builder.module.clone_op(op, &mut values);
            place(builder, copy);
        }
        WarpGroupDotOp::set_is_async(builder.module, copy, true);
        copy
    }
}

/// Lets an iteration wait for the buffer of the next one, and gives its number: the own one in the last iteration.
fn wait_for_next(
    module: &mut Module,
    op: Op,
    (plan, ring): (&PipelinePlan, &Expanded),
    reads: Value,
) -> Value {
    let of = ForOp::new(module, op);
    let (body, upper, step) = (of.body(), of.upper(), of.step());
    let counter = module.args(body)[0];
    let waits: Vec<Op> = module.ops(body).filter(|&inner| is_wait(module, inner)).collect();
    let limit = Builder::before(module, op).build(&SUBI, &[upper, step], &[]);
    let mut builder = Builder::before(module, waits[0]);
    let goes_on = compare(&mut builder, CmpIPredicate::Slt, counter, limit);
    let [one, slots, zero] =
        [1, plan.slots as i64, 0].map(|number| integer(&mut builder, Type::int(32), number));
    let next = builder.build(&ADDI, &[reads, one], &[]);
    let is_over = compare(&mut builder, CmpIPredicate::Sge, next, slots);
    let next = builder.build(&SELECT, &[is_over, zero, next], &[]);
    let next = builder.build(&SELECT, &[goes_on, next, reads], &[]);
    for wait_op in waits {
        if let Some(copies) = AsyncWaitOp::of(builder.module, wait_op) {
            let num = copies.num() - 1;
            AsyncWaitOp::set_num(builder.module, wait_op, num);
        } else if let (Some(barriers), Some(phase)) = (ring.rings.barriers, ring.state.phase) {
            let one = integer(&mut builder, Type::int(32), 1);
            let other = builder.build(&XORI, &[phase, one], &[]);
            let turned = builder.build(&SELECT, &[is_over, other, phase], &[]);
            let turned = builder.build(&SELECT, &[goes_on, turned, phase], &[]);
            let barrier = barrier_at(&mut builder, barriers, next);
            builder.module.set_operands(wait_op, &[barrier, turned]);
        }
    }
    next
}

/// Makes the first dot of the first iteration in front of the loop, and waits for it. Without an iteration there is
/// nothing to wait for, and nobody asks what the dot gives: the barrier is asked for the phase before its first.
fn begin_first(
    module: &mut Module,
    op: Op,
    (plan, ring): (&PipelinePlan, &Expanded),
    (candidate, reads): (&Candidate, Value),
) -> Value {
    let of = ForOp::new(module, op);
    let (lower, upper) = (of.lower(), of.upper());
    let mut builder = Builder::before(module, op);
    let first = integer(&mut builder, Type::int(32), 0);
    if plan.has(false) {
        let pending = AsyncWaitOp::attrs(plan.distance as u32 - 1);
        builder.build_as(&ASYNC_WAIT, &[], &pending, token_type());
    }
    if let Some(barriers) = ring.rings.barriers {
        let runs = compare(&mut builder, CmpIPredicate::Slt, lower, upper);
        let one = integer(&mut builder, Type::int(32), 1);
        let phase = builder.build(&SELECT, &[runs, first, one], &[]);
        let barrier = barrier_at(&mut builder, barriers, first);
        wait(&mut builder, barrier, phase);
    }
    let dot = candidate.copy(&mut builder, reads, first);
    let wait = wait_behind(module, dot, 0);
    module.results(wait)[0]
}

/// Whether an operation waits for the copies of an iteration.
fn is_wait(module: &Module, op: Op) -> bool {
    module.is(op, &ASYNC_WAIT) || module.is(op, &WAIT_BARRIER)
}
