//! Warp groups that take turns with the matrix units, so that one computes what lies between its dots while
//! another's are made.
//!
//! ```text
//!                                         wait for the turn
//! scf.for … {                             scf.for … {
//!   %s = dot %q, %k                         %s = dot %q, %k       (and the last %o of the iteration before)
//!   %p = f(%s)                       =>     give the turn away ; wait for %s
//!   %o = dot %p, %v, %acc                   %p = f(%s)
//! }                                         wait for the turn
//!                                           %o = dot %p, %v, %acc
//!                                         }
//!                                         give the turn away
//! ```
//!
//! Without turns, warp groups that begin together stay together: the matrix units rest while all of them compute.
//! For loops whose warps wait for memory alone ([`super::roles`]), with two dots of which the second one goes on
//! into the next iteration. Left out: loops with conditions, loads and stores in them, as their lanes may wait for each
//! other across groups.

use crate::ops::barrier::{ARRIVE_BARRIER, WAIT_BARRIER};
use crate::ops::group_dot::{
    WARP_GROUP_DOT, WARP_GROUP_DOT_WAIT, WarpGroupDotOp, WarpGroupDotWaitOp, block_shape,
};
use crate::ops::turns::{GIVE_TURN, GiveTurnOp, Giving, WAIT_TURN};
use crate::passes::context::Context;
use ir::{Builder, Module, Op, Traits};
use ttir::ops::control::ForOp;
use ttir::ops::reduce::CombineOp;

/// Warps of a group that makes dots together.
const GROUP: u32 = 4;

/// Lets the warp groups of a loop take turns, if its dots and what lies between them allow it; gives where they
/// wait for it in the loop.
pub(super) fn take_turns(module: &mut Module, op: Op, context: &Context) -> Option<Op> {
    let least = context.machine.turns.filter(|_| context.config.num_warps == 2 * GROUP)?;
    let (first, second) = dots(module, op).filter(|&(first, _)| is_long(module, first, least))?;
    Builder::before(module, op).build_effect(&GIVE_TURN, &[], &GiveTurnOp::attrs(Giving::Begin));
    Builder::before(module, op).build_effect(&WAIT_TURN, &[], &[]);
    let behind = module.next(first).expect("a dot is followed by its wait");
    Builder::before(module, behind).build_effect(&GIVE_TURN, &[], &GiveTurnOp::attrs(Giving::Each));
    Builder::before(module, second).build_effect(&WAIT_TURN, &[], &[]);
    let end = module.next(op).expect("a loop is followed by a terminator");
    Builder::before(module, end).build_effect(&GIVE_TURN, &[], &GiveTurnOp::attrs(Giving::End));
    module.prev(second)
}

/// Whether the sums of a dot are long enough for others to compute meanwhile. With short ones there is more to
/// compute than to multiply, and groups that wait for each other lose by it.
fn is_long(module: &Module, dot: Op, least: u32) -> bool {
    let left = WarpGroupDotOp::new(module, dot).a();
    block_shape(module, left).last().is_some_and(|&k| k >= i64::from(least))
}

/// The dots of a loop whose warp groups can take turns.
fn dots(module: &Module, op: Op) -> Option<(Op, Op)> {
    let body = ForOp::new(module, op).body();
    let allowed = |op: Op| {
        let is_pure = module.has(op, Traits::PURE) && module.regions(op).is_empty();
        let rows = [&WARP_GROUP_DOT, &WARP_GROUP_DOT_WAIT, &ARRIVE_BARRIER, &WAIT_BARRIER];
        let computes = is_pure || CombineOp::reduction(module, op).is_some();
        computes || module.has(op, Traits::TERMINATOR) || rows.iter().any(|row| module.is(op, row))
    };
    if !module.ops(body).all(allowed) {
        return None;
    }
    let steps: Vec<(Op, Option<u32>)> = module
        .ops(body)
        .filter_map(|op| match WarpGroupDotWaitOp::of(module, op) {
            Some(wait) => Some((op, Some(wait.pendings()))),
            None => module.is(op, &WARP_GROUP_DOT).then_some((op, None)),
        })
        .collect();
    // The first is waited for at once, together with the second one of the iteration before.
    match steps[..] {
        [(first, None), (_, Some(0)), (second, None)] => Some((first, second)),
        _ => None,
    }
}
