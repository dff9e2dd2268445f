//! A loop that may run in any order, and is followed by a loop with the same bounds that reads the same memory, runs
//! from its end to its begin.
//!
//! ```text
//! scf.for %i = %a to %b step %s {        %sum = %a + the last of the counters
//!   use(%i)                              scf.for %i = %a to %b step %s {
//! }                                        %j = arith.subi %sum, %i
//!                                  =>      use(%j)
//!                                        }
//! scf.for … { … as before … }            scf.for … { … as before … }
//! ```
//!
//! What the first of the two reads last is what the second reads first, and so it is still in a cache where the whole
//! of it does not fit. Of several such loops in a row every other one is turned. Left out: loops whose step is not
//! known.

use crate::passes::reading::{loops_behind, origins};
use ir::{Attr, Builder, Module, Op, Place, Traits, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_int::{ADDI, DIVUI, MULI, SUBI};
use ttir::ops::constant::CONSTANT;
use ttir::ops::control::ForOp;

/// Reverses some of the loops that may run in any order.
pub(super) fn reverse(module: &mut Module, any_order: &[Op]) {
    let mut turned: FxHashSet<Op> = FxHashSet::default();
    let mut loops = any_order.to_vec();
    loops.sort_by_cached_key(|&op| std::cmp::Reverse(position(module, op)));
    for op in loops {
        let next = loops_behind(module, op).next();
        if let Some(next) = next
            && !turned.contains(&next)
            && may_be_reversed(module, op)
            && ForOp::new(module, op).same_bounds(ForOp::new(module, next))
            && !origins(module, op).is_disjoint(&origins(module, next))
        {
            mirror(module, op);
            turned.insert(op);
        }
    }
}

/// How many operations stand before one in its block.
fn position(module: &Module, op: Op) -> usize {
    std::iter::successors(module.prev(op), |&before| module.prev(before)).count()
}

/// Whether nothing but the carried values tells in which order the iterations run.
fn may_be_reversed(module: &Module, op: Op) -> bool {
    let step = ForOp::new(module, op).step();
    let counts = module.ty(step).as_int().is_some();
    let step = module.constant(step).and_then(Attr::as_int);
    let acts = |&inner: &Op| module.row(inner).writes() || module.has(inner, Traits::CALL);
    counts && step.is_some_and(|step| step > 0) && !module.walk(op).iter().any(acts)
}

fn mirror(module: &mut Module, op: Op) {
    let of = ForOp::new(module, op);
    let (body, counter) = (of.body(), of.counter());
    let (lower, upper, step) = (of.lower(), of.upper(), of.step());
    let ty = module.ty(step);
    let mut builder = Builder::before(module, op);
    let one = one(&mut builder, ty);
    // The difference of two numbers of a type is one without sign. Without an iteration nothing of this is used.
    let distance = builder.build(&SUBI, &[upper, lower], &[]);
    let distance = builder.build(&SUBI, &[distance, one], &[]);
    let steps = builder.build(&DIVUI, &[distance, step], &[]);
    let length = builder.build(&MULI, &[steps, step], &[]);
    let last = builder.build(&ADDI, &[lower, length], &[]);
    let sum = builder.build(&ADDI, &[lower, last], &[]);
    let anchor = module.first_op(body).expect("a verified body ends in a terminator");
    let mut builder = Builder { loc: module.loc(anchor), place: Place::Before(anchor), module };
    let mirrored = builder.build(&SUBI, &[sum, counter], &[]);
    let own = module.def_op(mirrored);
    module.replace_uses_if(counter, mirrored, |_, user, _| Some(user) != own);
}

fn one(builder: &mut Builder<'_>, ty: Type) -> Value {
    builder.build_as(&CONSTANT, &[], &[Some(Attr::int(1, ty))], ty)
}
