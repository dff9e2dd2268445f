//! Where warps say that they have read the buffers of a ring.
//!
//! A buffer has been read once all that read it is over: a product of groups of warps where a wait says so, everything else where it stands. A
//! product that goes on into the next iteration is over at a wait of that one; the buffer is then that of the iteration before.

use super::copies::compare;
use super::expand::Turn;
use crate::ops::barrier::{ARRIVE_BARRIER, ArriveBarrierOp};
use crate::ops::group_dot::{WARP_GROUP_DOT, WARP_GROUP_DOT_WAIT, WarpGroupDotWaitOp};
use crate::passes::bulk_copies::barrier_at;
use crate::types::memdesc;
use ir::{Block, Builder, Module, Op, Value};
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::control::ForOp;

/// What is left to do once the loop waits for its dots where it does.
pub(super) struct Release {
    /// The loops that go around the rings, the outermost first.
    pub(super) loops: Vec<Op>,
    pub(super) rings: Vec<ReadRing>,
    pub(super) turn: Turn,
}

/// A ring that an iteration reads a buffer of.
pub(super) struct ReadRing {
    /// The buffers that the iteration reads.
    pub(super) views: Vec<Value>,
    /// The barriers that say which buffers are empty.
    pub(super) empty: Value,
}

/// Where an iteration has read its buffer.
enum Read {
    /// In front of this operation.
    Before(Op),
    /// In the next iteration, in front of this operation.
    InNextBefore(Op),
}

/// Says that buffers are empty.
pub(super) fn release(module: &mut Module, release: &Release) {
    let inner = *release.loops.last().expect("a nest has loops");
    for ring in &release.rings {
        match read(module, inner, &ring.views) {
            Read::Before(op) => {
                let index = release.turn.reads.expect("a ring has several buffers");
                arrive(&mut Builder::before(module, op), ring.empty, index, None);
            }
            Read::InNextBefore(op) => {
                let (counter, lower) =
                    (ForOp::new(module, inner).counter(), ForOp::new(module, inner).lower());
                let before = release.turn.before.expect("a ring has several buffers");
                let mut builder = Builder::before(module, op);
                let is_later = compare(&mut builder, CmpIPredicate::Sgt, counter, lower);
                arrive(&mut builder, ring.empty, before, Some(is_later));
                if release.loops.len() > 1 {
                    release_last(module, inner, ring.empty, before);
                }
            }
        }
    }
}

/// Says behind a loop that its last iteration has read its buffer, if it had any.
fn release_last(module: &mut Module, inner: Op, empty: Value, before: Value) {
    let of = ForOp::new(module, inner);
    let (body, lower, upper) = (of.body(), of.lower(), of.upper());
    let number = module.args(body).iter().position(|&arg| arg == before).expect("the body's") - 1;
    let index = module.result(inner, number);
    let mut builder = Builder::before(module, behind_waits(module, inner));
    let has_any = compare(&mut builder, CmpIPredicate::Slt, lower, upper);
    arrive(&mut builder, empty, index, Some(has_any));
}

/// Every warp says for itself that it has read a buffer.
fn arrive(builder: &mut Builder<'_>, barriers: Value, index: Value, condition: Option<Value>) {
    let barrier = barrier_at(builder, barriers, index);
    let operands: Vec<Value> = [barrier].into_iter().chain(condition).collect();
    builder.build_effect(&ARRIVE_BARRIER, &operands, &ArriveBarrierOp::attrs(1, true));
}

/// Where an iteration of a loop has read views of buffers.
fn read(module: &Module, inner: Op, views: &[Value]) -> Read {
    let of = ForOp::new(module, inner);
    let (body, last) = (of.body(), of.terminator());
    let mut dots = Vec::new();
    let is_read_by_dots_alone = views.iter().all(|&view| readers(module, body, view, &mut dots));
    let ends: Vec<(bool, Op)> = dots.iter().map(|&dot| over(module, body, dot)).collect();
    let is_late = ends.iter().any(|&(is_late, _)| is_late);
    let waits = ends.iter().filter(|end| end.0 == is_late).map(|end| end.1);
    match waits.max_by_key(|&wait| module.ops(body).position(|op| op == wait)) {
        Some(wait) if is_late => Read::InNextBefore(module.next(wait).unwrap_or(last)),
        Some(wait) if is_read_by_dots_alone => Read::Before(module.next(wait).unwrap_or(last)),
        _ => Read::Before(last),
    }
}

/// Collects the products of groups of warps that read a view; whether nothing else does.
fn readers(module: &Module, body: Block, view: Value, dots: &mut Vec<Op>) -> bool {
    let mut is_all = true;
    for &(user, _) in module.uses(view) {
        if module.is(user, &WARP_GROUP_DOT) && module.block_of(user) == Some(body) {
            dots.push(user);
        } else if module.is(user, &WARP_GROUP_DOT_WAIT) {
        } else if let [other] = module.results(user)
            && memdesc(module.ty(*other)).is_some()
        {
            is_all &= readers(module, body, *other, dots);
        } else {
            is_all = false;
        }
    }
    is_all
}

/// The wait of a body at which a product is over, and whether that is one of the next iteration.
fn over(module: &Module, body: Block, dot: Op) -> (bool, Op) {
    let ops: Vec<Op> = module.ops(body).collect();
    let behind = ops.iter().position(|&op| op == dot).expect("it is in the body") + 1;
    let mut newer = 0;
    for (is_late, part) in [(false, &ops[behind..]), (true, &ops[..])] {
        for &op in part {
            newer += u32::from(module.is(op, &WARP_GROUP_DOT));
            if WarpGroupDotWaitOp::of(module, op).is_some_and(|wait| wait.pendings() <= newer) {
                return (is_late, op);
            }
        }
    }
    unreachable!("every product of a loop is waited for in it")
}

/// What stands behind a loop and the waits for its dots.
fn behind_waits(module: &Module, op: Op) -> Op {
    let mut next = module.next(op).expect("a loop is followed by a terminator");
    while module.is(next, &WARP_GROUP_DOT_WAIT) {
        next = module.next(next).expect("a wait is followed by a terminator");
    }
    next
}
