//! Several iterations at once, with all their loads in front.
//!
//! ```text
//! scf.for %i = %a to %b step %s {        scf.for %i = %a to %b step 2 * %s {
//!   %x = tt.load %p(%i)                    %more = %b - %i > %s
//!   use(%x)                        =>      %x = tt.load %p(%i) ; %y = tt.load %p(%i + %s), %more
//! }                                        use(%x) ; use(%y) where %more
//!                                        }
//! ```
//!
//! Only where a lane loads little in an iteration, so that it would wait for memory most of the time. Iterations that
//! the loop does not have read and write nothing, and carried values pass them by: no second loop is needed for the
//! rest. What the loop stores must not be what its later iterations load: [`Apart`] asks when the program runs, and if
//! it may be, each iteration of the new loop is one of the old. A loop that is known to have a few iterations is
//! unrolled as a whole; where it may load what it stores, its iterations stay in order. Left out: loops with dots,
//! loops around loops, loops whose step is not known or that say themselves how they are to run.

use super::apart::Apart;
use super::copies::{Values, compare, guard, integer, place, with_condition};
use super::motion::Motion;
use super::plan::{AddressSlice, is_dot};
use super::registers::{bytes_of_lane, is_candidate};
use crate::passes::context::Context;
use ir::pass::PassRow;
use ir::{Attr, Block, Builder, CostClass, Diagnostic, Module, Op, OpInit, Place, Traits, Type, Value};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int::{ADDI, ANDI, SUBI};
use ttir::ops::compare::{CmpIPredicate, SELECT, SelectOp};
use ttir::ops::constant::splat_bits;
use ttir::ops::control::{FOR, ForOp, NUM_STAGES, UNROLL, WARP_SPECIALIZE, YIELD};
use ttir::ops::forms::BinaryOp;
use ttir::types::{is_tensor, numel};

/// Several iterations at once.
pub static UNROLL_LOADS: PassRow = PassRow {
    name: "unroll-loads",
    doc: "Repeats the body of loops that load little in an iteration, and puts the loads in front.",
    run,
};

/// Bytes that a lane should load at once.
const WANTED: u64 = 32;
/// The same where an iteration stores, or computes elementary functions, of which each copy is long.
const WANTED_OF_LONG: u64 = 16;
/// Bytes that a lane loads in an iteration, at most, where several of them are worth it.
const WIDEST: u64 = 8;
/// Loads that bring at most so small a share of what the widest brings do not count.
const SMALL_SHARE: u64 = 4;
/// Iterations at once, at most.
const MOST_COPIES: u64 = 4;
/// Iterations of a loop that is unrolled as a whole, at most.
const MOST_WHOLE: u64 = 8;
/// Bytes that a lane loads in all iterations of such a loop, at most. With 256 a norm of rows had too few programs on a
/// multiprocessor.
const MOST_OF_WHOLE: u64 = 128;
/// Operations of an unrolled body, at most, and of a loop that is unrolled as a whole.
const MOST_OPS: u64 = 400;
const MOST_OPS_OF_WHOLE: u64 = 800;
/// Elements of a lane in any value of the body, at most.
const MOST_ELEMENTS: u64 = 16;
/// The longest step, so that several of them are a number of the counter's type.
const LONGEST_STEP: i64 = 1 << 20;

/// What to do with a loop.
struct UnrollPlan {
    copies: u64,
    step: i64,
    loads: Vec<Op>,
    ahead: AddressSlice,
    apart: Vec<Apart>,
    /// Whether every iteration of the new loop has all of the old.
    whole: bool,
    /// Whether the loads of all iterations stand in front.
    in_front: bool,
}

/// What a loop over several iterations computes before it begins.
struct Unrolled {
    /// Whether an iteration of the new loop may have several of the old.
    several: Value,
    /// How far an iteration of the new loop goes.
    step: Value,
}

/// What its body is made with.
struct Copies {
    /// For each iteration that is copied, whether the loop has it, where that is not known.
    conditions: Vec<Option<Value>>,
    /// How carried addresses move in an iteration of the new loop, by their numbers.
    motions: BTreeMap<usize, Motion>,
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let lanes = context.lanes();
    for op in module.walk(module.top()) {
        if module.is(op, &FOR)
            && let Some(plan) = plan(module, op, lanes)
        {
            unroll(module, op, &plan);
        }
    }
    Ok(())
}

fn plan(module: &Module, op: Op, lanes: u64) -> Option<UnrollPlan> {
    let says = [&NUM_STAGES, &UNROLL, &WARP_SPECIALIZE];
    let of = ForOp::new(module, op);
    let step = module.constant(of.step()).and_then(Attr::as_int)?;
    if says.iter().any(|key| module.extra_attr(op, key.name).is_some()) || !(1..=LONGEST_STEP).contains(&step)
    {
        return None;
    }
    let body = of.body();
    let inside: Vec<Op> = module.walk(op).into_iter().filter(|&inner| inner != op).collect();
    if inside.iter().any(|&inner| is_barred(module, op, inner, lanes)) {
        return None;
    }
    let loads: Vec<Op> = module.ops(body).filter(|&inner| is_candidate(module, body, inner)).collect();
    let ahead = AddressSlice::of(module, body, &loads)?;
    if loads.is_empty() || ahead.slice.iter().any(|&inner| !module.has(inner, Traits::PURE)) {
        return None;
    }
    let stores: Vec<Op> =
        module.ops(body).filter(|&inner| AccessOp::store(module, inner).is_some()).collect();
    let of_loads: Vec<u64> = loads.iter().map(|&load| bytes_of_lane(module, load, lanes)).collect();
    let (bytes, main) = (of_loads.iter().sum::<u64>(), main_bytes(&of_loads));
    let by_size = MOST_OPS / inside.len() as u64;
    let count = iterations(of, step);
    let is_long = !stores.is_empty() || inside.iter().any(|&inner| is_elementary(module, inner));
    let wanted = if is_long { WANTED_OF_LONG } else { WANTED };
    let by_count = count.map_or(MOST_COPIES, |count| count / 2);
    let most = (wanted / main).min(MOST_COPIES).min(by_size).min(by_count);
    let most = if main > WIDEST { 0 } else { most };
    let most_whole = MOST_WHOLE.min(MOST_OPS_OF_WHOLE / inside.len() as u64);
    let few = |&count: &u64| (2..=most_whole).contains(&count) && bytes * count <= MOST_OF_WHOLE;
    if let Some(copies) = count.filter(few) {
        let in_front =
            Apart::of(module, op, &loads, &stores, step, copies).is_some_and(|apart| apart.is_empty());
        if in_front || most < 2 {
            return Some(UnrollPlan { copies, step, loads, ahead, apart: Vec::new(), whole: true, in_front });
        }
    }
    if most < 2 {
        return None;
    }
    let copies = 1 << most.ilog2();
    let apart = Apart::of(module, op, &loads, &stores, step, copies)?;
    let whole = apart.is_empty() && count.is_some_and(|count| count % copies == 0);
    Some(UnrollPlan { copies, step, loads, ahead, apart, whole, in_front: true })
}

/// Bytes of the loads that fill memory's time: a row that all rows of a block share brings little.
fn main_bytes(loads: &[u64]) -> u64 {
    let widest = loads.iter().max().copied().unwrap_or(0);
    loads.iter().filter(|&&bytes| bytes > widest / SMALL_SHARE).sum::<u64>().max(1)
}

/// Whether a loop with this in it stays as it is.
fn is_barred(module: &Module, around: Op, op: Op, lanes: u64) -> bool {
    let is_wide = |&value: &Value| {
        let ty = module.ty(value);
        is_tensor(ty) && numel(ty) as u64 > lanes * MOST_ELEMENTS
    };
    // What is read in an iteration that the loop does not have is masked off; only loads of the body itself can be.
    let is_own = module.parent_op(op) == Some(around);
    let plain_store = is_own && AccessOp::store(module, op).is_some();
    let plain_load = is_own && AccessOp::load(module, op).is_some_and(|load| !load.volatile());
    (module.row(op).writes() && !plain_store)
        || (module.row(op).reads() && !plain_load)
        || (module.has(op, Traits::NO_SPECULATION) && !has_positive_divisor(module, op))
        || is_dot(module, op)
        || module.has(op, Traits::LOOP)
        || module.has(op, Traits::CALL)
        || module.results(op).iter().any(is_wide)
}

fn is_elementary(module: &Module, op: Op) -> bool {
    module.row(op).cost == CostClass::Function
}

fn has_positive_divisor(module: &Module, op: Op) -> bool {
    let bits = module.constant(BinaryOp::new(module, op).rhs()).and_then(splat_bits);
    bits.is_some_and(|bits| (1..=LONGEST_STEP as u64).contains(&bits))
}

/// How often a loop runs, where that is known.
fn iterations(of: ForOp<'_>, step: i64) -> Option<u64> {
    let bound = |value| of.module.constant(value).and_then(Attr::as_int).map(i128::from);
    let (lower, upper) = (bound(of.lower()), bound(of.upper()));
    let count = (upper? - lower? + i128::from(step) - 1) / i128::from(step);
    u64::try_from(count.max(0)).ok()
}

/// How carried addresses move in an iteration of the new loop.
fn motions(
    builder: &mut Builder<'_>,
    op: Op,
    unrolled: &Unrolled,
    plan: &UnrollPlan,
) -> BTreeMap<usize, Motion> {
    let numbers = plan.ahead.carried.iter();
    let motion = |&number| Some((number, Motion::of(builder, op, number, unrolled.several, plan.copies)?));
    numbers.filter_map(motion).collect()
}

/// What the loop over several iterations computes before it begins.
fn unrolled(builder: &mut Builder<'_>, op: Op, plan: &UnrollPlan) -> Unrolled {
    let of = ForOp::new(builder.module, op);
    let (upper, step) = (of.upper(), of.step());
    let ty = builder.module.ty(step);
    let long = plan.step * plan.copies as i64;
    // The counter of the last iteration must be a number of its type.
    let largest = ty.as_int().map_or(i64::MAX, |bits| i64::MAX >> (64 - bits.clamp(1, 64)));
    let highest = integer(builder, ty, largest - long);
    let mut several = compare(builder, CmpIPredicate::Sle, upper, highest);
    for apart in &plan.apart {
        let apart = apart.ask(builder);
        several = builder.build(&ANDI, &[several, apart], &[]);
    }
    let long = integer(builder, ty, long);
    let step = builder.build(&SELECT, &[several, long, step], &[]);
    Unrolled { several, step }
}

fn unroll(module: &mut Module, op: Op, plan: &UnrollPlan) {
    let mut builder = Builder::before(module, op);
    let unrolled = if plan.whole { None } else { Some(unrolled(&mut builder, op, plan)) };
    let upper = ForOp::new(builder.module, op).upper();
    let ty = builder.module.ty(upper);
    let step = match &unrolled {
        Some(unrolled) => unrolled.step,
        None => integer(&mut builder, ty, plan.step * plan.copies as i64),
    };
    let motions =
        unrolled.as_ref().map(|unrolled| motions(&mut builder, op, unrolled, plan)).unwrap_or_default();
    let wide = make_loop(&mut builder, op, [upper, step]);
    let block = builder.module.entry_of(wide);
    builder.place = Place::End(block);
    let conditions = match &unrolled {
        Some(unrolled) => conditions(&mut builder, block, upper, unrolled, plan),
        None => vec![None; plan.copies as usize],
    };
    repeat(&mut builder, op, wide, plan, &Copies { conditions, motions });
    let results = module.results(wide).to_vec();
    for (old, new) in module.results(op).to_vec().into_iter().zip(results) {
        module.replace_uses(old, new);
    }
    module.erase(op);
    module.set_extra(wide, UNROLL.key(), Some(Attr::int(plan.copies as i64, Type::int(32))));
}

/// Whether the loop has each iteration that is copied; it has the first.
fn conditions(
    builder: &mut Builder<'_>,
    block: Block,
    upper: Value,
    unrolled: &Unrolled,
    plan: &UnrollPlan,
) -> Vec<Option<Value>> {
    let counter = builder.module.args(block)[0];
    let ty = builder.module.ty(counter);
    let zero = integer(builder, ty, 0);
    // The difference of two numbers of a type is one without sign.
    let left = builder.build(&SUBI, &[upper, counter], &[]);
    let left = builder.build(&SELECT, &[unrolled.several, left, zero], &[]);
    let later = (1..plan.copies as i64).map(|copy| {
        let distance = integer(builder, ty, plan.step * copy);
        Some(compare(builder, CmpIPredicate::Ugt, left, distance))
    });
    let later: Vec<Option<Value>> = later.collect();
    std::iter::once(None).chain(later).collect()
}

/// A loop like another one, with an empty body.
fn make_loop(builder: &mut Builder<'_>, op: Op, [upper, step]: [Value; 2]) -> Op {
    let of = ForOp::new(builder.module, op);
    let operands = [of.lower(), upper, step].into_iter().chain(of.inits().iter().copied()).collect();
    let types = |values: &[Value], module: &Module| -> Vec<Type> {
        values.iter().map(|&value| module.ty(value)).collect()
    };
    let results = types(builder.module.results(op), builder.module);
    let body = builder.module.entry_of(op);
    let args = types(builder.module.args(body), builder.module);
    let init = OpInit {
        operands,
        results: results.into_iter().collect(),
        attrs: builder.module.attrs(op).iter().cloned().collect(),
        regions: 1,
    };
    let extra = builder.module.extra(op).to_vec();
    let copy = builder.insert(&FOR, init);
    for (key, attr) in extra {
        builder.module.set_extra(copy, key, Some(attr));
    }
    let block = builder.module.add_block(builder.module.region(copy, 0));
    for ty in args {
        builder.module.add_arg(block, ty);
    }
    copy
}

/// The iterations, each with the loads of all in front, and the condition that the loop has it.
fn repeat(builder: &mut Builder<'_>, op: Op, wide: Op, plan: &UnrollPlan, copies: &Copies) {
    let body = builder.module.entry_of(op);
    let block = builder.module.entry_of(wide);
    let old = builder.module.args(body).to_vec();
    let new = builder.module.args(block).to_vec();
    let ops: Vec<Op> = builder.module.ops(body).collect();
    let (&last, ops) = ops.split_last().expect("a verified body ends in a terminator");
    let yielded = builder.module.operands(last).to_vec();
    let (early, moving): (FxHashSet<Op>, &[usize]) = match plan.in_front {
        true => (plan.ahead.slice.iter().chain(&plan.loads).copied().collect(), &plan.ahead.carried),
        false => (FxHashSet::default(), &[]),
    };
    let ty = builder.module.ty(old[0]);
    let mut states: Vec<Value> = moving.iter().map(|&number| new[number + 1]).collect();
    let mut iterations: Vec<Values> = Vec::new();
    for (copy, &condition) in copies.conditions.iter().enumerate() {
        let mut counter = new[0];
        if copy > 0 {
            let distance = integer(builder, ty, plan.step * copy as i64);
            counter = builder.build(&ADDI, &[new[0], distance], &[]);
        }
        let carried = moving.iter().zip(&states).map(|(&number, &state)| (old[number + 1], state));
        let mut values: Values = carried.chain([(old[0], counter)]).collect();
        for &inner in ops.iter().filter(|inner| early.contains(inner)) {
            copy_of(builder, inner, &mut values, condition);
        }
        for (state, &number) in states.iter_mut().zip(moving) {
            *state = ir::mapped(&values, yielded[number]);
        }
        iterations.push(values);
    }
    let mut chained = new[1..].to_vec();
    for (mut values, &condition) in iterations.into_iter().zip(&copies.conditions) {
        for (&arg, &value) in old[1..].iter().zip(&chained) {
            values.entry(arg).or_insert(value);
        }
        for &inner in ops.iter().filter(|inner| !early.contains(inner)) {
            copy_of(builder, inner, &mut values, condition);
        }
        for (number, &next) in yielded.iter().enumerate() {
            let next = ir::mapped(&values, next);
            let condition = condition.filter(|_| !copies.motions.contains_key(&number));
            chained[number] = either(builder, condition, next, chained[number]);
        }
    }
    for (number, motion) in &copies.motions {
        chained[*number] = motion.on(builder, new[number + 1]);
    }
    builder.build_effect(&YIELD, &chained, &[]);
}

/// An operation of an iteration that the loop may not have.
fn copy_of(builder: &mut Builder<'_>, op: Op, values: &mut Values, condition: Option<Value>) {
    let copy = builder.module.clone_op(op, values);
    place(builder, copy);
    if let Some(condition) = condition
        && AccessOp::of(builder.module, copy).is_some()
    {
        guard(builder, copy, condition);
    }
}

/// What is carried behind an iteration: what it hands on if the loop has it, else what was carried before.
fn either(builder: &mut Builder<'_>, condition: Option<Value>, next: Value, before: Value) -> Value {
    match condition {
        Some(condition) if next != before => {
            // What is chosen in place of what was carried is chosen where the loop has the iteration as well.
            if let Some(choice) = SelectOp::def(builder.module, next)
                && choice.false_value() == before
                && builder.module.uses(next).is_empty()
                && is_tensor(builder.module.ty(choice.condition())) == is_tensor(builder.module.ty(next))
            {
                let (mask, chosen) = (choice.condition(), choice.true_value());
                let both = with_condition(builder, condition, Some(mask), next);
                return builder.build(&SELECT, &[both, chosen, before], &[]);
            }
            let whole = with_condition(builder, condition, None, next);
            builder.build(&SELECT, &[whole, next, before], &[])
        }
        _ => next,
    }
}
