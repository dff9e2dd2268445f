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
//! Loops that write nothing, so that no value can be read too early, and have no dot, load all that is narrow; the
//! narrower, the more iterations ahead. Loops whose blocks are copied ahead load what no copy brings one iteration
//! ahead ([`prefetch_beside`]): numbers, and elements too narrow or too far apart. Left out: loops around loops, loads
//! on whose values addresses depend, loops that say they are not to be unrolled.

use super::copies::{Values, bind, compare, copy_slice, guard, integer, place};
use super::plan::{AddressSlice, PipelinePlan, is_dot};
use crate::passes::carried::{carry, yield_as};
use crate::passes::context::Context;
use crate::passes::pressure::Pressure;
use crate::passes::touches::reads_what_is_written;
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

/// Bytes of a register.
const REGISTER: u64 = 4;
/// Bytes of a lane's registers for what a loop loads ahead beside its copies, at most.
const MOST_BESIDE: u64 = 32;

/// What to do with a loop.
struct PrefetchPlan {
    loads: Vec<Op>,
    ahead: AddressSlice,
    distance: usize,
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let lanes = context.lanes();
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
    let ahead = addresses(module, body, &loads)?;
    if loads.is_empty() {
        return None;
    }
    let bytes = |load: &Op| bytes_of_lane(module, *load, lanes);
    let each: u64 = loads.iter().map(bytes).sum();
    let distance = (WANTED / each).clamp(1, 2) as usize;
    loads.retain(|load| bytes(load) <= WIDEST);
    (!loads.is_empty() && each * distance as u64 <= MOST).then_some(PrefetchPlan { loads, ahead, distance })
}

/// What addresses are computed of, unless one is itself loaded: it would be waited for right away.
fn addresses(module: &Module, body: Block, loads: &[Op]) -> Option<AddressSlice> {
    let is_pure = |ahead: &AddressSlice| ahead.slice.iter().all(|&op| module.has(op, Traits::PURE));
    AddressSlice::of(module, body, loads).filter(is_pure)
}

/// Loads an iteration ahead what a lane needs few bytes of and the copies of a plan do not bring, unless the loop
/// writes it, or needs all registers anyway.
pub(super) fn prefetch_beside(module: &mut Module, op: Op, pipeline: &PipelinePlan, lanes: u64) {
    let body = module.entry_of(op);
    let inside = module.walk(op);
    let is_copied = |load: Op| pipeline.copies.iter().any(|copy| copy.load == load);
    let mut bytes = 0;
    let mut loads: Vec<Op> = Vec::new();
    for load in module.ops(body).filter(|&load| may_move(module, body, load)) {
        let own = bytes_of_lane(module, load, lanes).max(REGISTER);
        let fits = own <= WIDEST && bytes + own <= MOST_BESIDE;
        if fits
            && !is_copied(load)
            && !pipeline.ahead.slice.contains(&load)
            && addresses(module, body, &[load]).is_some()
            && !reads_what_is_written(module, load, &inside)
        {
            bytes += own;
            loads.push(load);
        }
    }
    let Some(ahead) = addresses(module, body, &loads).filter(|_| !loads.is_empty()) else { return };
    if !is_tight(module, op, pipeline.room) {
        prefetch(module, op, &PrefetchPlan { loads, ahead, distance: 1 });
    }
}

/// Whether the body of a loop needs more words of a lane's registers than there is room for.
fn is_tight(module: &Module, op: Op, room: u64) -> bool {
    let mut functions = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    let function = functions.find(|&op| module.has(op, Traits::SYMBOL));
    let tight = function.map(|function| Pressure::of(module, function).blocks_above(room));
    tight.is_some_and(|blocks| blocks.contains(&module.entry_of(op)))
}

/// Bytes that a lane loads.
pub(super) fn bytes_of_lane(module: &Module, load: Op, lanes: u64) -> u64 {
    let ty = module.ty(module.result(load, 0));
    (numel(ty) as u64 * elem_bytes(elem(ty))).div_ceil(lanes).max(1)
}

/// Whether a block that a body loads may be loaded earlier, once its address and mask are known.
pub(super) fn is_candidate(module: &Module, body: Block, op: Op) -> bool {
    may_move(module, body, op) && is_tensor(module.ty(module.result(op, 0)))
}

/// The same of a block or a number.
fn may_move(module: &Module, body: Block, op: Op) -> bool {
    // What stands where the mask does not hold is not computed ahead.
    let of_body = |value: Value| match module.def(value) {
        Def::Arg(block, _) => block == body,
        Def::Result(def, _) => module.block_of(def) == Some(body),
    };
    let load = AccessOp::load(module, op).filter(|load| load.result().is_some());
    load.is_some_and(|load| !load.volatile() && !load.other().is_some_and(of_body))
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
