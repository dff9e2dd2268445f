//! Lets dots of warp groups go on while the loop does.
//!
//! A dot that only adds up from iteration to iteration is waited for one iteration later, or, if its left operand comes
//! from registers, before these get the next iteration's. One whose sum is changed in between is waited for together
//! with the first other dot of the next iteration. All others are waited for in front of their first user; dots that
//! begin meanwhile go on. Where that leaves registers for fewer programs on an SM, they are waited for at once.
//!
//! A dot whose operands are there when an earlier one begins, begins right behind that one (`begin_early`):
//!
//! ```text
//! %s = dot %k, %q                        %s = dot %k, %q
//! wait %s                                %t = dot %v, %d
//! %p = exp %s                       =>   wait %s {pendings = 1}
//! %u = dot %p, %d, %sum                  %p = exp %s
//! %t = dot %v, %d                        %u = dot %p, %d, %sum
//! wait %t                                wait %t {pendings = 1}
//! ```

use super::dots::{adds_up, carried_number, is_view, make_wait, memory_of, wait_behind};
use super::expand::Expanded;
use super::next_dot::begin_next;
use super::plan::{PipelinePlan, outlives_iteration};
use crate::ops::group_dot::{WARP_GROUP_DOT, WarpGroupDotOp, WarpGroupDotWaitOp};
use crate::passes::residency::{Residency, dots_of, loop_words};
use ir::{Block, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::types::is_tensor;

/// Registers of the loop ([`loop_words`]) beyond which dots begin where they stand and are waited for at once (8-bit
/// floats with scaled blocks, 128×128 of 4 warps: 208 bytes spilled in place of 436).
const MOST_WORDS: u64 = 232;
/// Registers that it takes to wait for a dot later than at once (gradients of keys, 64×64 blocks of 4 warps: 176 in
/// place of 160).
const LATER: u64 = 16;

/// Makes the dots of a loop asynchronous. `ring` are the views of buffers that copies fill ahead; with what `pipelined`
/// says of them the first dot may begin an iteration earlier.
pub(super) fn overlap(
    module: &mut Module,
    op: Op,
    ring: &FxHashSet<Value>,
    residency: &Residency,
    pipelined: Option<(&PipelinePlan, &Expanded)>,
) {
    let body = module.entry_of(op);
    let words = loop_words(module, op);
    // Another program on the SM is worth more, and so is what would be spilled.
    let is_free = residency.stays(words + LATER) && words <= MOST_WORDS;
    let mut next = None;
    if is_free {
        begin_early(module, op);
        next = pipelined.and_then(|pipelined| begin_next(module, op, pipelined, residency));
    }
    let dots = dots_of(module, op);
    let mut late = Vec::new();
    for dot in dots {
        WarpGroupDotOp::set_is_async(module, dot, true);
        if next == Some(dot) {
            wait_at_end(module, body, dot);
            continue;
        }
        match carried_number(module, body, dot).filter(|_| may_go_on(module, body, dot, ring)) {
            Some(number) if adds_up(module, body, dot, number) => {
                match first_write(module, body, dot, next.is_some()) {
                    Some(first) => wait_before(module, first, module.args(body)[number + 1]),
                    None => _ = wait_behind(module, dot, 1),
                }
                wait_after_loop(module, op, number);
            }
            Some(number) => late.push((dot, number)),
            None if is_free => wait_when_needed(module, dot),
            None => _ = wait_behind(module, dot, 0),
        }
    }
    for (dot, number) in late {
        if wait_with_another(module, body, number) {
            wait_after_loop(module, op, number);
        } else {
            wait_behind(module, dot, 0);
        }
    }
}

/// Lets dots begin right behind the first one of the body that has all their operands in front of it.
fn begin_early(module: &mut Module, op: Op) {
    for dot in dots_of(module, op).into_iter().skip(1) {
        let Some(Early { behind, with }) = Early::of(module, dot) else { continue };
        let mut last = behind;
        for op in with.into_iter().chain([dot]) {
            module.detach(op);
            module.insert_after(last, op);
            last = op;
        }
    }
}

/// Where a dot could begin.
struct Early {
    /// The dot behind which.
    behind: Op,
    /// The views of memory that must be there before it.
    with: Vec<Op>,
}

impl Early {
    /// The first dot in front of another one between which nothing stands that the latter needs, or that memory is
    /// written by.
    fn of(module: &Module, dot: Op) -> Option<Early> {
        let mut needed: FxHashSet<Value> = module.operands(dot).iter().copied().collect();
        let (mut with, mut found) = (Vec::new(), None);
        for op in std::iter::successors(module.prev(dot), |&op| module.prev(op)) {
            let is_needed = module.results(op).iter().any(|result| needed.contains(result));
            if module.is(op, &WARP_GROUP_DOT) {
                if is_needed {
                    break;
                }
                found = Some(Early { behind: op, with: with.iter().rev().copied().collect() });
            } else if is_needed {
                if !is_view(module, op) {
                    break;
                }
                needed.extend(module.operands(op));
                with.push(op);
            } else if !module.regions(op).is_empty() || module.row(op).writes() {
                break;
            }
        }
        found
    }
}

/// Waits for a dot where its result is needed, or its memory may be written; dots that begin in between go on.
fn wait_when_needed(module: &mut Module, dot: Op) {
    let result = module.result(dot, 0);
    let uses = |op: Op| module.walk(op).iter().any(|&inner| module.operands(inner).contains(&result));
    let is_wait = |op: Op| WarpGroupDotWaitOp::of(module, op).is_some();
    let ends = |op: Op| uses(op) || module.has(op, Traits::TERMINATOR);
    let (mut between, mut at) = (0, dot);
    loop {
        at = module.next(at).expect("a block ends with a terminator");
        if ends(at) {
            break;
        }
        if module.is(at, &WARP_GROUP_DOT) {
            between += 1;
        } else if module.row(at).writes() && !is_wait(at) {
            break;
        }
    }
    let wait = wait_behind(module, dot, between);
    module.move_before(at, wait);
}

/// Waits for a dot at the end of the body; those that begin behind it go on.
fn wait_at_end(module: &mut Module, body: Block, dot: Op) {
    let behind = std::iter::successors(module.next(dot), |&op| module.next(op));
    let behind = behind.filter(|&op| module.is(op, &WARP_GROUP_DOT)).count() as u32;
    let wait = wait_behind(module, dot, behind);
    let last = module.terminator(body);
    module.move_before(last, wait);
}

/// Whether the memory that a dot reads stays as it is until the next iteration.
fn may_go_on(module: &Module, body: Block, dot: Op, ring: &FxHashSet<Value>) -> bool {
    memory_of(module, dot).into_iter().all(|view| outlives_iteration(module, body, view, ring))
}

/// The first operation of an iteration that may write registers which the dot of the iteration before reads: one that
/// its left operand depends on, other than dots if these are not to be waited with.
fn first_write(module: &Module, body: Block, dot: Op, goes_on: bool) -> Option<Op> {
    let mut stack = vec![WarpGroupDotOp::new(module, dot).a()];
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    while let Some(value) = stack.pop() {
        let Some(def) = module.def_op(value).filter(|&def| module.block_of(def) == Some(body)) else {
            continue;
        };
        let in_registers = module.results(def).iter().any(|&result| is_tensor(module.ty(result)));
        if in_registers && seen.insert(def) {
            stack.extend(module.operands(def));
        }
    }
    module.ops(body).find(|&op| seen.contains(&op) && !(goes_on && module.is(op, &WARP_GROUP_DOT)))
}

/// Waits for the dots of the iteration before in front of an operation; what uses the carried sum uses what the wait
/// gives.
fn wait_before(module: &mut Module, op: Op, carried: Value) {
    let begun = std::iter::successors(module.prev(op), |&op| module.prev(op));
    let begun = begun.filter(|&op| module.is(op, &WARP_GROUP_DOT)).count() as u32;
    let wait = make_wait(module, op, &[carried], begun);
    module.insert_before(op, wait);
    let whole = module.result(wait, 0);
    module.replace_uses_if(carried, whole, |_, user, _| user != wait);
}

fn wait_after_loop(module: &mut Module, op: Op, number: usize) {
    let result = module.result(op, number);
    let wait = make_wait(module, op, &[result], 0);
    module.insert_after(op, wait);
    let whole = module.result(wait, 0);
    module.replace_uses_if(result, whole, |_, user, _| user != wait);
}

/// Lets the first wait of the body that waits for all dots also give out the carried value, if it stands in front
/// of every use of it.
fn wait_with_another(module: &mut Module, body: Block, number: usize) -> bool {
    let carried = module.args(body)[number + 1];
    let is_whole = |op: Op| WarpGroupDotWaitOp::of(module, op).is_some_and(|wait| wait.pendings() == 0);
    let Some(wait) = module.ops(body).find(|&op| is_whole(op)) else { return false };
    let uses_before = module
        .ops(body)
        .take_while(|&op| op != wait)
        .any(|op| module.walk(op).iter().any(|&inner| module.operands(inner).contains(&carried)));
    if uses_before {
        return false;
    }
    module.push_operand(wait, carried);
    let ty = module.ty(carried);
    let whole = module.push_result(wait, ty);
    module.replace_uses_if(carried, whole, |_, user, _| user != wait);
    true
}
