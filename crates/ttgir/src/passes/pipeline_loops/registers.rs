//! Loads into registers iterations before their values are used.
//!
//! ```text
//! scf.for … {                                  %v = tt.load of the first iteration
//!   %x = tt.load %p, %m                        scf.for … iter_args(%x = %v) {
//!   use(%x)                              =>      %n = tt.load of the next iteration, if there is one
//! }                                              use(%x)
//!                                                scf.yield %n
//!                                              }
//! ```
//!
//! Only in loops that write nothing, so that no value can be read too early, and that have no dot, whose operands go
//! through shared memory. The narrower the load, the more iterations it is ahead. Left out: loops around loops, loads
//! on whose values addresses depend, loops that say they are not to be unrolled.

use super::copies::{Values, bind, compare, copy_slice, guard, integer, place};
use super::plan::{AddressSlice, is_dot};
use crate::passes::carried::{carry, yield_as};
use crate::passes::context::Context;
use ir::pass::PassRow;
use ir::{Block, Builder, Def, Diagnostic, Module, Op, Place, Traits, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int::{ADDI, MULI, SUBI};
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::control::{FOR, ForOp, UNROLL, yielded};
use ttir::types::{elem, elem_bytes, is_tensor, numel};

/// Loads into registers ahead.
pub static PREFETCH_LOADS: PassRow = PassRow {
    name: "prefetch-loads",
    doc: "Loads what the next iterations of a loop without writes and dots need.",
    run,
};

/// Bytes of a lane that should be on their way.
const WANTED: u64 = 16;
/// Bytes of a lane's registers for what is on its way, at most.
const MOST: u64 = 64;
/// Bytes of a lane that one load gets, at most: wider ones keep memory busy by themselves, and a loop that has one of
/// them often runs once.
const WIDEST: u64 = 8;

/// What to do with a loop.
struct PrefetchPlan {
    loads: Vec<Op>,
    ahead: AddressSlice,
    distance: usize,
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let lanes = u64::from(context.config.num_warps * context.config.threads_per_warp);
    for op in module.walk(module.top()) {
        if module.is(op, &FOR)
            && let Some(plan) = plan(module, op, lanes)
        {
            prefetch(module, op, &plan);
        }
    }
    Ok(())
}

fn plan(module: &Module, op: Op, lanes: u64) -> Option<PrefetchPlan> {
    // A loop over several iterations has enough on its way, and one that is to stay as it is does.
    if module.extra_attr(op, UNROLL.name).is_some() {
        return None;
    }
    let body = module.entry_of(op);
    let inside = module.walk(op);
    let is_barred = |&inner: &Op| {
        module.row(inner).writes()
            || is_dot(module, inner)
            || (inner != op && module.has(inner, Traits::LOOP))
    };
    if inside.iter().any(is_barred) {
        return None;
    }
    let mut loads: Vec<Op> = module.ops(body).filter(|&inner| is_candidate(module, body, inner)).collect();
    let ahead = AddressSlice::of(module, body, &loads)?;
    // An address that is itself loaded would be waited for right away.
    if loads.is_empty() || ahead.slice.iter().any(|&inner| !module.has(inner, Traits::PURE)) {
        return None;
    }
    let bytes = |load: &Op| bytes_of_lane(module, *load, lanes);
    let each: u64 = loads.iter().map(bytes).sum();
    let distance = (WANTED / each).clamp(1, 2) as usize;
    loads.retain(|load| bytes(load) <= WIDEST);
    (!loads.is_empty() && each * distance as u64 <= MOST).then_some(PrefetchPlan { loads, ahead, distance })
}

/// Bytes that a lane loads.
pub(super) fn bytes_of_lane(module: &Module, load: Op, lanes: u64) -> u64 {
    let ty = module.ty(module.result(load, 0));
    (numel(ty) as u64 * elem_bytes(elem(ty))).div_ceil(lanes).max(1)
}

/// Whether a load of a body may be made earlier, once its address and mask are known.
pub(super) fn is_candidate(module: &Module, body: Block, op: Op) -> bool {
    // What stands where the mask does not hold is not computed ahead.
    let of_body = |value: Value| match module.def(value) {
        Def::Arg(block, _) => block == body,
        Def::Result(def, _) => module.block_of(def) == Some(body),
    };
    AccessOp::load(module, op).is_some_and(|load| {
        load.result().is_some_and(|loaded| is_tensor(module.ty(loaded)))
            && !load.volatile()
            && !load.other().is_some_and(of_body)
    })
}

/// The loads of another iteration, which only read where there is one.
fn load_for(
    builder: &mut Builder<'_>,
    plan: &PrefetchPlan,
    values: &mut Values,
    condition: Value,
) -> Vec<Value> {
    copy_slice(builder, &plan.ahead.slice, values, condition);
    let mut loaded = Vec::new();
    for &load in &plan.loads {
        let copy = builder.module.clone_op(load, &mut values.clone());
        place(builder, copy);
        guard(builder, copy, condition);
        loaded.push(builder.module.result(copy, 0));
    }
    loaded
}

fn prefetch(module: &mut Module, op: Op, plan: &PrefetchPlan) {
    let body = module.entry_of(op);
    let of = ForOp::new(module, op);
    let (lower, upper, step) = (of.lower(), of.upper(), of.step());
    let args = module.args(body).to_vec();
    let yielded = yielded(module, body).to_vec();
    let numbers = &plan.ahead.carried;
    let mut states: Vec<Value> = numbers.iter().map(|&number| of.inits()[number]).collect();
    let next = |values: &Values, number: usize| ir::mapped(values, yielded[number]);
    // The first iterations.
    let mut builder = Builder::before(module, op);
    let mut counter = lower;
    let mut first: Vec<Vec<Value>> = Vec::new();
    for _ in 0..plan.distance {
        let condition = compare(&mut builder, CmpIPredicate::Slt, counter, upper);
        let mut values = bind(&args, numbers, counter, &states);
        first.push(load_for(&mut builder, plan, &mut values, condition));
        states = numbers.iter().map(|&number| next(&values, number)).collect();
        counter = builder.build(&ADDI, &[counter, step], &[]);
    }
    let ty = builder.module.ty(step);
    let distance = integer(&mut builder, ty, plan.distance as i64);
    let reach = builder.build(&MULI, &[step, distance], &[]);
    let limit = builder.build(&SUBI, &[upper, reach], &[]);
    // What is on its way, and what addresses of later iterations depend on.
    let waiting: Vec<Vec<Value>> =
        first.iter().map(|loads| loads.iter().map(|&init| carry(module, op, body, init)).collect()).collect();
    let states: Vec<Value> = states.iter().map(|&state| carry(module, op, body, state)).collect();
    let anchor = module.first_op(body).expect("a verified body ends in a terminator");
    let mut builder = Builder { loc: module.loc(anchor), place: Place::Before(anchor), module };
    let condition = compare(&mut builder, CmpIPredicate::Slt, args[0], limit);
    let counter = builder.build(&ADDI, &[args[0], reach], &[]);
    let mut values = bind(&args, numbers, counter, &states);
    let loaded = load_for(&mut builder, plan, &mut values, condition);
    for (&number, &state) in numbers.iter().zip(&states) {
        let next = next(&values, number);
        yield_as(module, body, state, next);
    }
    for (at, &load) in plan.loads.iter().enumerate() {
        for stage in 0..plan.distance {
            let later = waiting.get(stage + 1).map_or(loaded[at], |stage| stage[at]);
            yield_as(module, body, waiting[stage][at], later);
        }
        let value = module.result(load, 0);
        module.replace_uses(value, waiting[0][at]);
        module.erase(load);
    }
}
