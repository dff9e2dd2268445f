//! Begins loads iterations before their values are used.
//!
//! ```text
//! scf.for … {                                  begin copies of the first iterations into buffers
//!   %a = tt.load %p, %m                        scf.for … {
//!   use(%a)                              =>      wait for the copy of this iteration
//!   %p2 = tt.addptr %p, %s                       %a = ttg.local_load of its buffer ; use(%a)
//! }                                              begin the copy of a later iteration, if there is one
//!                                              }
//!                                              wait for all copies
//! ```
//!
//! Loads that feed dots, those of the next iteration too, and all wide enough loads of loops that name `tt.num_stages`
//! and have no dot, become `ttg.async_copy_global_to_local` into a ring of buffers, in layouts that suit copies
//! ([`widen`]); what addresses and masks depend on is computed ahead with them, an `scf.if` that only chooses between
//! such values too. On machines that load through registers these are loads an iteration ahead ([`staged`]), or copies
//! that pass by registers ([`direct`]). Dots of warp groups
//! (`ttng.warp_group_dot`) are left going on until their results or buffers are needed, and the first of an iteration
//! may begin in the one before ([`next_dot`]). Where a loop says `tt.warp_specialize`, warps of their own begin the
//! copies ([`roles`]). A loop says with `tt.num_stages` how many iterations are in flight. Bulk copies of a loop in
//! another one that says `tt.flatten` go on across the iterations of that one ([`across`]). Left out: other loops
//! around loops, loads of fewer than four bytes that lie together, loads whose addresses depend on dots.

mod across;
mod apart;
mod copies;
mod direct;
mod dots;
mod expand;
mod group_dots;
mod motion;
mod nest;
mod next_dot;
mod plan;
mod producer;
mod registers;
mod roles;
mod staged;
mod turns;
mod unroll;
mod widen;

pub(crate) use plan::{PipelinedLoad, copy_of, feeds_dot, is_dot};
pub use registers::PREFETCH_LOADS;
pub(super) use staged::memory_between;
pub use unroll::UNROLL_LOADS;

use super::context::Context;
use super::residency::{FEW_STAGES, Residency};
use crate::machine::Roles;
use crate::module::{NO_ROLES, ask_for_programs};
use ir::pass::PassRow;
use ir::{Attr, Diagnostic, Module, Op};
use rustc_hash::FxHashSet;
use ttir::axis::AxisTable;
use ttir::ops::control::{FOR, ForOp, NUM_STAGES};
use ttir::ops::func::FUNC;

/// Begins loads iterations before their values are used.
pub static PIPELINE_LOOPS: PassRow = PassRow {
    name: "pipeline-loops",
    doc: "Begins loads iterations before their values are used, and lets dots of warp groups go on.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let residency = Residency::of(module, &context);
    for function in module.ops(module.body()).filter(|&op| module.is(op, &FUNC)).collect::<Vec<_>>() {
        let loops: Vec<Op> = module.walk(function).into_iter().filter(|&op| module.is(op, &FOR)).collect();
        if loops.is_empty() {
            continue;
        }
        // Loops of a single stage ask nothing.
        let is_staged = |&op: &Op| ForOp::new(module, op).stages() > 1;
        let mut axis = match loops.iter().any(is_staged) {
            true => ttir::axis::analyze(module, function),
            false => AxisTable::default(),
        };
        if widen::widen(module, function, &loops, &context, &axis) {
            axis = ttir::axis::analyze(module, function);
        }
        let mut done = FxHashSet::default();
        for op in loops {
            if !done.contains(&op) {
                done.extend(pipeline(module, op, (&context, &residency), &axis));
            }
        }
    }
    Ok(())
}

/// Pipelines a loop; gives those that were pipelined with it.
fn pipeline(
    module: &mut Module,
    op: Op,
    (context, residency): (&Context, &Residency),
    axis: &AxisTable,
) -> Vec<Op> {
    let stages = ForOp::new(module, op).stages();
    module.set_extra(op, NUM_STAGES.key(), None);
    if context.machine.staged_loads {
        if stages >= 2 && module.walk(op).iter().any(|&inner| is_dot(module, inner)) {
            load_ahead(module, op, stages as usize, context, axis);
        }
        return Vec::new();
    }
    let stages = if context.machine.async_copy() { stages as usize } else { 1 };
    let Some(plan) = plan::plan(module, op, stages, axis, context.machine) else {
        if !plan::has_inner_loop(module, ForOp::new(module, op).body()) {
            let reason = match stages {
                1 => "it has a single stage (`num_stages`)",
                _ => "it has no loads whose copies can be begun ahead",
            };
            refuse_roles(module, op, context, reason);
        }
        group_dots::overlap(module, op, &FxHashSet::default(), residency, None);
        return Vec::new();
    };
    registers::prefetch_beside(module, op, &plan, context.lanes());
    let Some(nest) = nest(module, op, &plan, (context, residency), axis) else {
        if plan.stages <= FEW_STAGES && residency.may_hold_two(module, op) {
            ask_for_programs(module, 2);
        }
        let ring = expand::expand(module, op, &plan);
        group_dots::overlap(module, op, &ring.views, residency, Some((&plan, &ring)));
        return Vec::new();
    };
    let readers = roles::split(module, &nest, context);
    for reader in &readers {
        module.set_extra(reader.op, NUM_STAGES.key(), None);
        group_dots::overlap(module, reader.op, &reader.views, residency, None);
        let turn = turns::take_turns(module, reader.op, context);
        reader.release(module, turn);
    }
    readers.into_iter().map(|reader| reader.op).collect()
}

/// Begins loads of a loop with dots ahead on a machine that loads through registers: as copies that pass by them where
/// it can.
fn load_ahead(module: &mut Module, op: Op, stages: usize, context: &Context, axis: &AxisTable) {
    let Some(plan) = plan::plan(module, op, stages, axis, context.machine) else { return };
    match direct::plan(module, op, plan, context) {
        Ok(plan) => _ = expand::expand(module, op, &plan),
        Err(plan) if context.config.num_ctas == 1 => staged::stage(module, op, &plan, context.machine),
        Err(_) => {}
    }
}

/// The loops whose warps get roles together with those of a plan. Where that is asked for and cannot be, the loop says
/// why.
fn nest(
    module: &mut Module,
    op: Op,
    plan: &plan::PipelinePlan,
    (context, residency): (&Context, &Residency),
    axis: &AxisTable,
) -> Option<nest::Nest> {
    let asked = context.machine.roles == Roles::All || nest::says(module, op);
    if !roles::should_have(module, op, context)
        || !asked && nest::takes_a_program(module, op, plan, (context, residency))
    {
        return None;
    }
    let wants = |other| roles::should_have(module, other, context);
    match nest::Nest::of(module, op, plan, (context, axis), &wants) {
        Ok(nest) => Some(nest),
        Err(reason) => {
            refuse_roles(module, op, context, reason);
            None
        }
    }
}

/// Writes down why the warps of a loop have no roles, where somebody asked for them.
fn refuse_roles(module: &mut Module, op: Op, context: &Context, reason: &str) {
    if context.machine.roles != Roles::None && nest::says(module, op) {
        module.set_extra(op, NO_ROLES.key(), Some(Attr::str(reason)));
    }
}
