//! Loads that feed dots, an iteration ahead through registers.
//!
//! ```text
//!                                              %v = tt.load of the first iteration ; ttg.local_store %v, %m
//! scf.for … {                                  scf.for … but for the last iteration {
//!   %a = tt.load %p                              %n = tt.load of the next iteration
//!   %x = ttg.convert_layout %a          =>       %x = ttg.local_load %m
//!   … = tt.dot %x, …                             … = tt.dot %x, …
//! }                                              ttg.local_store %n, %m
//!                                              }
//!                                              the last iteration, if there is one
//! ```
//!
//! Global memory is read while the dots of an iteration are made, and shared memory is written when they are. The last
//! iteration stands behind the loop, so that no load of the loop needs a condition. Elements lie in shared memory such
//! that both sides move wide vectors without bank conflicts. Left out: more than one iteration ahead, clusters.

use super::copies::{Values, bind, compare, copy_slice, guard, place};
use super::plan::{PipelinePlan, PipelinedLoad};
use crate::Machine;
use crate::ops::convert::ConvertLayoutOp;
use crate::ops::shared::{LOCAL_STORE, allocate, load_from};
use crate::passes::carried::{carry, yield_as};
use crate::types::memdesc_type;
use crate::{BasisList, Encoding, SharedEncoding};
use ir::{Block, Builder, Module, Op, OpInit, Place, Type, Value};
use layout::convert::{ConvertFacts, memory_order};
use layout::{Dim, LinearLayout};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::ops::arith_int::{ADDI, SUBI};
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::control::{ForOp, IF, YIELD};
use ttir::types::{elem, elem_bytes, shape};

/// The place of the bound among the operands of a loop.
const UPPER: usize = 1;

/// Carries out a plan.
pub(super) fn stage(module: &mut Module, op: Op, plan: &PipelinePlan, machine: &Machine) {
    let body = ForOp::new(module, op).body();
    let buffers: Vec<Value> = plan.copies.iter().map(|copy| make_buffer(module, op, copy, machine)).collect();
    let args = module.args(body).to_vec();
    let of = ForOp::new(module, op);
    let (lower, upper, step) = (of.lower(), of.upper(), of.step());
    let numbers = plan.ahead.carried.clone();
    let states: Vec<Value> = numbers.iter().map(|&number| of.inits()[number]).collect();
    let yielded = of.yielded().to_vec();
    let next = |values: &Values, number: usize| ir::mapped(values, yielded[number]);

    let mut builder = Builder::before(module, op);
    let has_any = compare(&mut builder, CmpIPredicate::Slt, lower, upper);
    let limit = builder.build(&SUBI, &[upper, step], &[]);
    let mut values = bind(&args, &numbers, lower, &states);
    let first = loads(&mut builder, plan, &mut values, Some(has_any));
    store(&mut builder, plan, &first, &buffers);
    let states: Vec<Value> = numbers.iter().map(|&number| next(&values, number)).collect();

    read(module, plan, &buffers);
    // The last iteration is numbered like the others.
    let counter = carry(module, op, body, lower);
    let last = module.terminator(body);
    let mut builder = Builder::before(module, last);
    let following = builder.build(&ADDI, &[args[0], step], &[]);
    yield_as(module, body, counter, following);
    let number = module.results(op).len() - 1;
    finish(module, op, body, has_any, number);

    module.set_operand(op, UPPER, limit);
    let states: Vec<Value> = states.iter().map(|&state| carry(module, op, body, state)).collect();
    let anchor = module.first_op(body).expect("a verified body ends in a terminator");
    let mut builder = Builder { loc: module.loc(anchor), place: Place::Before(anchor), module };
    let following = builder.build(&ADDI, &[args[0], step], &[]);
    let mut values = bind(&args, &numbers, following, &states);
    let loaded = loads(&mut builder, plan, &mut values, None);
    for (&number, &state) in numbers.iter().zip(&states) {
        let next = next(&values, number);
        yield_as(module, body, state, next);
    }
    let last = module.terminator(body);
    let mut builder = Builder::before(module, last);
    store(&mut builder, plan, &loaded, &buffers);
    for copy in &plan.copies {
        module.erase(copy.load);
    }
}

fn make_buffer(module: &mut Module, op: Op, copy: &PipelinedLoad, machine: &Machine) -> Value {
    let ty = module.ty(module.result(copy.load, 0));
    let encoding = memory_of(module, copy, machine).unwrap_or_else(|| copy.shared.clone());
    let memory = memdesc_type(shape(ty), elem(ty), &encoding, true);
    allocate(&mut Builder::before(module, op), memory)
}

/// Where the elements of a load lie in shared memory on their way to the layout in which a dot takes them.
fn memory_of(module: &Module, copy: &PipelinedLoad, machine: &Machine) -> Option<SharedEncoding> {
    let value = module.result(copy.load, 0);
    let ty = module.ty(value);
    let user = module.uses(value).iter().find_map(|&(user, _)| ConvertLayoutOp::of(module, user))?;
    memory_between(ty, module.ty(user.result()), machine)
}

/// Where elements lie in shared memory on their way from one layout to another.
pub(in crate::passes) fn memory_between(ty: Type, to: Type, machine: &Machine) -> Option<SharedEncoding> {
    let (from, to) = (Encoding::of(ty)?, Encoding::of(to)?);
    let facts = ConvertFacts {
        banks: machine.banks,
        bank_bytes: machine.bank_bytes,
        max_vector_bytes: machine.vector_bytes,
        ..ConvertFacts::default()
    };
    let bits = elem_bytes(elem(ty)) as u32 * 8;
    let order = memory_order(&from.to_linear(shape(ty)), &to.to_linear(shape(ty)), bits, &facts).ok()?;
    Some(SharedEncoding::SharedLinear { offset: offsets(&order), block: BasisList::new(), alignment: 16 })
}

fn offsets(order: &LinearLayout) -> BasisList {
    order.bases(Dim::OFFSET).iter().map(|basis| basis.iter().map(|part| part.1).collect()).collect()
}

/// The loads of another iteration; with a condition, they read only where it holds.
fn loads(
    builder: &mut Builder<'_>,
    plan: &PipelinePlan,
    values: &mut Values,
    condition: Option<Value>,
) -> Vec<Value> {
    match condition {
        Some(condition) => copy_slice(builder, &plan.ahead.slice, values, condition),
        None => {
            for &op in &plan.ahead.slice {
                let copy = builder.module.clone_op(op, values);
                place(builder, copy);
            }
        }
    }
    let mut loaded = Vec::new();
    for copy in &plan.copies {
        let load = builder.module.clone_op(copy.load, &mut values.clone());
        place(builder, load);
        if let Some(condition) = condition {
            guard(builder, load, condition);
        }
        loaded.push(builder.module.result(load, 0));
    }
    loaded
}

fn store(builder: &mut Builder<'_>, plan: &PipelinePlan, values: &[Value], buffers: &[Value]) {
    for ((&value, &buffer), copy) in values.iter().zip(buffers).zip(&plan.copies) {
        builder.loc = builder.module.loc(copy.load);
        builder.build_effect(&LOCAL_STORE, &[value, buffer], &[]);
    }
}

/// Users of the loads read the buffers, each in the layout that it wants.
fn read(module: &mut Module, plan: &PipelinePlan, buffers: &[Value]) {
    for (copy, &buffer) in plan.copies.iter().zip(buffers) {
        let value = module.result(copy.load, 0);
        for (user, _) in module.uses(value).to_vec() {
            let Some(conversion) = ConvertLayoutOp::of(module, user) else { continue };
            let result = conversion.result();
            let ty = module.ty(result);
            let loaded = load_from(&mut Builder::before(module, user), buffer, None, ty);
            module.replace_uses(result, loaded);
            module.erase(user);
        }
        if !module.is_unused(value) {
            let ty = module.ty(value);
            let loaded = load_from(&mut Builder::before(module, copy.load), buffer, None, ty);
            module.replace_uses(value, loaded);
        }
    }
}

/// The last iteration behind the loop: the body as it is now, with the results of the loop.
fn finish(module: &mut Module, op: Op, body: Block, has_any: Value, counter: usize) {
    let results = module.results(op).to_vec();
    let args = module.args(body).to_vec();
    let loc = module.loc(op);
    let carried = results.len() - 1;
    let init = OpInit {
        operands: SmallVec::from_slice(&[has_any]),
        results: results[..carried].iter().map(|&value| module.ty(value)).collect(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let branch = module.create(&IF, init, loc);
    module.insert_after(op, branch);
    for (&old, new) in results[..carried].iter().zip(module.results(branch).to_vec()) {
        module.replace_uses_if(old, new, |_, user, _| user != branch);
    }
    let mut values: FxHashMap<Value, Value> =
        args[1..].iter().copied().zip(results.iter().copied()).collect();
    values.insert(args[0], results[counter]);
    let then = module.add_block(module.region(branch, 0));
    let last = module.terminator(body);
    for inner in module.ops(body).filter(|&inner| inner != last).collect::<Vec<_>>() {
        let copy = module.clone_op(inner, &mut values);
        module.append(then, copy);
    }
    let ends: Vec<Value> = module.operands(last)[..carried].to_vec();
    let ends: Vec<Value> = ends.iter().map(|&end| ir::mapped(&values, end)).collect();
    end(module, then, &ends, loc);
    let otherwise = module.add_block(module.region(branch, 1));
    end(module, otherwise, &results[..carried], loc);
}

fn end(module: &mut Module, block: Block, values: &[Value], loc: ir::Loc) {
    let init = OpInit {
        operands: SmallVec::from_slice(values),
        results: SmallVec::new(),
        attrs: SmallVec::new(),
        regions: 0,
    };
    let op = module.create(&YIELD, init, loc);
    module.append(block, op);
}
