//! Several iterations at once, with all their loads in front.
//!
//! ```text
//! scf.for %i = %a to %b step %s {        scf.for %i = %a to %m step 2 * %s {
//!   %x = tt.load %p(%i)                    %x = tt.load %p(%i) ; %y = tt.load %p(%i + %s)
//!   use(%x)                        =>      use(%x) ; use(%y)
//! }                                      }
//!                                        scf.for %i = %m to %b step %s { … as before … }
//! ```
//!
//! Only where a lane loads little in an iteration, so that it would wait for memory most of the time. What the loop stores
//! must not be what its later iterations load: [`Apart`] asks when the program runs, and if it may be, the first of the two
//! loops does not run. Left out: loops with dots, loops around loops, loops whose step is not known or that say themselves
//! how they are to run.

use super::apart::Apart;
use super::expand::{Values, compare, integer, place};
use super::plan::{Ahead, is_dot};
use super::registers::{bytes_of_lane, is_candidate};
use crate::passes::context::Context;
use ir::pass::PassRow;
use ir::{Attr, Builder, Diagnostic, Module, Op, OpInit, Place, Traits, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_int::{ADDI, ANDI, DIVUI, MULI, SUBI};
use ttir::ops::compare::SELECT;
use ttir::ops::control::{FOR, NUM_STAGES, UNROLL, WARP_SPECIALIZE, YIELD};
use ttir::ops::memory::{LOAD, STORE, load_attr};
use ttir::types::{is_tensor, numel};

/// Several iterations at once.
pub static UNROLL_LOADS: PassRow = PassRow {
    name: "unroll-loads",
    doc: "Repeats the body of loops that load little in an iteration, and puts the loads in front.",
    run,
};

/// Bytes that a lane should load at once where more can be loaded ahead.
const WANTED: u64 = 32;
/// Bytes that a lane should load at once where a loop writes, so that nothing is loaded ahead.
const WANTED_BESIDE_STORES: u64 = 64;
/// Iterations at once, at most.
const MOST_COPIES: u64 = 8;
/// Operations of an unrolled body, at most.
const MOST_OPS: u64 = 400;
/// Elements of a lane in any value of the body, at most.
const MOST_ELEMENTS: u64 = 16;
/// The longest step, so that several of them are a number of the counter's type.
const LONGEST_STEP: i64 = 1 << 20;

/// What to do with a loop.
struct Plan {
    copies: u64,
    step: i64,
    loads: Vec<Op>,
    ahead: Ahead,
    apart: Vec<Apart>,
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let lanes = u64::from(context.config.num_warps * context.config.threads_per_warp);
    for op in module.walk(module.top()) {
        if module.is(op, &FOR)
            && let Some(plan) = plan(module, op, lanes)
        {
            unroll(module, op, &plan);
        }
    }
    Ok(())
}

fn plan(module: &Module, op: Op, lanes: u64) -> Option<Plan> {
    let says = [&NUM_STAGES, &UNROLL, &WARP_SPECIALIZE];
    let step = module.constant(module.operand(op, 2)).and_then(Attr::as_int)?;
    if says.iter().any(|key| module.extra_attr(op, key.name).is_some()) || !(1..=LONGEST_STEP).contains(&step)
    {
        return None;
    }
    let body = module.entry(module.region(op, 0));
    let inside: Vec<Op> = module.walk(op).into_iter().filter(|&inner| inner != op).collect();
    if inside.iter().any(|&inner| is_barred(module, op, inner, lanes)) {
        return None;
    }
    let loads: Vec<Op> = module.ops(body).filter(|&inner| is_candidate(module, body, inner)).collect();
    let ahead = Ahead::of(module, body, &loads)?;
    if loads.is_empty() || ahead.slice.iter().any(|&inner| module.is(inner, &LOAD)) {
        return None;
    }
    let stores: Vec<Op> = module.ops(body).filter(|&inner| module.is(inner, &STORE)).collect();
    let wanted = if stores.is_empty() { WANTED } else { WANTED_BESIDE_STORES };
    let bytes: u64 = loads.iter().map(|&load| bytes_of_lane(module, load, lanes)).sum();
    let by_size = MOST_OPS / inside.len() as u64;
    let by_count = iterations(module, op, step).map_or(MOST_COPIES, |count| count / 2);
    let most = (wanted / bytes).min(MOST_COPIES).min(by_size).min(by_count);
    if most < 2 {
        return None;
    }
    let copies = 1 << most.ilog2();
    let apart = Apart::of(module, op, &loads, &stores, step, copies)?;
    Some(Plan { copies, step, loads, ahead, apart })
}

/// Whether a loop with this in it stays as it is.
fn is_barred(module: &Module, around: Op, op: Op, lanes: u64) -> bool {
    let is_wide = |&value: &Value| {
        let ty = module.ty(value);
        is_tensor(ty) && numel(ty) as u64 > lanes * MOST_ELEMENTS
    };
    let plain_store = module.is(op, &STORE) && module.parent_op(op) == Some(around);
    let volatile =
        module.is(op, &LOAD) && module.attr(op, load_attr::VOLATILE).and_then(Attr::as_bool) == Some(true);
    (module.has(op, Traits::WRITES) && !plain_store)
        || volatile
        || is_dot(module, op)
        || module.has(op, Traits::LOOP)
        || module.has(op, Traits::CALL)
        || module.results(op).iter().any(is_wide)
}

/// How often a loop runs, where that is known.
fn iterations(module: &Module, op: Op, step: i64) -> Option<u64> {
    let [lower, upper] =
        [0, 1].map(|slot| module.constant(module.operand(op, slot)).and_then(Attr::as_int).map(i128::from));
    let count = (upper? - lower? + i128::from(step) - 1) / i128::from(step);
    u64::try_from(count.max(0)).ok()
}

/// Where the loop over several iterations ends and the one over the rest begins.
fn split(builder: &mut Builder<'_>, op: Op, plan: &Plan) -> Value {
    let [lower, upper, step] = [0, 1, 2].map(|slot| builder.module.operand(op, slot));
    let ty = builder.module.ty(step);
    let [zero, one, whole] = [0, 1, -(plan.copies as i64)].map(|number| integer(builder, ty, number));
    // The difference of two numbers of a type is one without sign.
    let distance = builder.build(&SUBI, &[upper, lower], &[]);
    let last = builder.build(&SUBI, &[distance, one], &[]);
    let last = builder.build(&DIVUI, &[last, step], &[]);
    let count = builder.build(&ADDI, &[last, one], &[]);
    let mut runs = compare(builder, "slt", lower, upper);
    for apart in &plan.apart {
        let apart = apart.ask(builder);
        runs = builder.build(&ANDI, &[runs, apart], &[]);
    }
    let count = builder.build(&ANDI, &[count, whole], &[]);
    let count = builder.build(&SELECT, &[runs, count, zero], &[]);
    let length = builder.build(&MULI, &[count, step], &[]);
    builder.build(&ADDI, &[lower, length], &[])
}

fn unroll(module: &mut Module, op: Op, plan: &Plan) {
    let ty = module.ty(module.operand(op, 2));
    let mut builder = Builder::before(module, op);
    let middle = split(&mut builder, op, plan);
    let step = integer(&mut builder, ty, plan.step * plan.copies as i64);
    let wide = make_loop(&mut builder, op, [middle, step]);
    let block = builder.module.entry(builder.module.region(wide, 0));
    builder.place = Place::End(block);
    repeat(&mut builder, op, wide, plan);
    module.set_operand(op, 0, middle);
    for (index, result) in module.results(wide).to_vec().into_iter().enumerate() {
        module.set_operand(op, index + 3, result);
    }
    for (op, copies) in [(wide, plan.copies as i64), (op, 1)] {
        module.set_extra(op, UNROLL.key(), Some(Attr::int(copies, Type::int(32))));
    }
}

/// A loop like another one, with an empty body.
fn make_loop(builder: &mut Builder<'_>, op: Op, [upper, step]: [Value; 2]) -> Op {
    let mut operands = builder.module.operands(op).to_vec();
    operands[1] = upper;
    operands[2] = step;
    let types = |values: &[Value], module: &Module| -> Vec<Type> {
        values.iter().map(|&value| module.ty(value)).collect()
    };
    let results = types(builder.module.results(op), builder.module);
    let body = builder.module.entry(builder.module.region(op, 0));
    let args = types(builder.module.args(body), builder.module);
    let init = OpInit {
        operands: operands.into_iter().collect(),
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

/// The iterations, each with the loads of all in front.
fn repeat(builder: &mut Builder<'_>, op: Op, wide: Op, plan: &Plan) {
    let body = builder.module.entry(builder.module.region(op, 0));
    let block = builder.module.entry(builder.module.region(wide, 0));
    let old = builder.module.args(body).to_vec();
    let new = builder.module.args(block).to_vec();
    let ops: Vec<Op> = builder.module.ops(body).collect();
    let (&last, ops) = ops.split_last().expect("a verified body ends in a terminator");
    let yielded = builder.module.operands(last).to_vec();
    let early: FxHashSet<Op> = plan.ahead.slice.iter().chain(&plan.loads).copied().collect();
    let ty = builder.module.ty(old[0]);
    let mut states: Vec<Value> = plan.ahead.carried.iter().map(|&number| new[number + 1]).collect();
    let mut iterations: Vec<Values> = Vec::new();
    for copy in 0..plan.copies as i64 {
        let mut counter = new[0];
        if copy > 0 {
            let distance = integer(builder, ty, plan.step * copy);
            counter = builder.build(&ADDI, &[new[0], distance], &[]);
        }
        let carried =
            plan.ahead.carried.iter().zip(&states).map(|(&number, &state)| (old[number + 1], state));
        let mut values: Values = carried.chain([(old[0], counter)]).collect();
        for &inner in ops.iter().filter(|inner| early.contains(inner)) {
            let copy = builder.module.clone_op(inner, &mut values);
            place(builder, copy);
        }
        for (state, &number) in states.iter_mut().zip(&plan.ahead.carried) {
            *state = values.get(&yielded[number]).copied().unwrap_or(yielded[number]);
        }
        iterations.push(values);
    }
    let mut chained = new[1..].to_vec();
    for mut values in iterations {
        for (&arg, &value) in old[1..].iter().zip(&chained) {
            values.entry(arg).or_insert(value);
        }
        for &inner in ops.iter().filter(|inner| !early.contains(inner)) {
            let copy = builder.module.clone_op(inner, &mut values);
            place(builder, copy);
        }
        chained = yielded.iter().map(|value| values.get(value).copied().unwrap_or(*value)).collect();
    }
    builder.build_effect(&YIELD, &chained, &[]);
}
