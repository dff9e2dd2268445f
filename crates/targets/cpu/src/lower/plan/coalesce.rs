//! Lets what a loop yields for a carried block be computed right into the block's own memory.
//!
//! That is safe where nothing reads the carried block after the group that makes the yielded value, and where that
//! group reads it, if at all, at the same positions and not after the yielded value is written there.

use super::{Group, RegionPlan, RegionStep, Root};
use crate::lower::operands::added_to;
use crate::lower::scratch::Buffer;
use ir::{Block, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;

/// A block that a loop carries.
pub(crate) struct Carried {
    /// The argument of the body.
    pub(crate) value: Value,
    /// What is yielded for it.
    pub(crate) yielded: Value,
    /// Where it is.
    pub(crate) buffer: Buffer,
}

/// Redirects what can be.
pub(crate) fn coalesce(module: &Module, block: Block, plan: &mut RegionPlan, carried: &[Carried]) {
    for one in carried {
        let target = source_of(module, block, one.yielded);
        let Some((group, root)) = kept_in(plan, target) else { continue };
        let is_taken = carried.iter().filter(|other| other.yielded == one.yielded).count() > 1;
        if is_taken || !is_dead_after(module, block, plan, one.value, (group, root)) {
            continue;
        }
        if let RegionStep::Group(group) = &mut plan.steps[group]
            && let Root::Keep(_, buffer) = &mut group.roots[root]
            && buffer.elem == one.buffer.elem
        {
            *buffer = one.buffer.clone();
        }
    }
}

/// The value whose memory the yielded value ends up in: dots are added in place.
fn source_of(module: &Module, block: Block, yielded: Value) -> Value {
    let mut value = yielded;
    while let Some(op) = module.def_op(value) {
        let Some(c) = added_to(module, op) else { break };
        let is_local = module.def_op(c).is_some_and(|own| module.block_of(own) == Some(block));
        if !is_local || module.uses(c).len() != 1 {
            break;
        }
        value = c;
    }
    value
}

/// The group that keeps a value, and the number of that root.
fn kept_in(plan: &RegionPlan, value: Value) -> Option<(usize, usize)> {
    plan.steps.iter().enumerate().find_map(|(number, step)| match step {
        RegionStep::Group(group) => {
            let root =
                group.roots.iter().position(|root| matches!(root, Root::Keep(own, _) if *own == value));
            root.map(|root| (number, root))
        }
        RegionStep::Single(_) => None,
    })
}

/// Whether no step after `last` reads a value, and `last` itself only where it stands, for its roots up to one.
fn is_dead_after(
    module: &Module,
    block: Block,
    plan: &RegionPlan,
    value: Value,
    (last, root): (usize, usize),
) -> bool {
    let early = match &plan.steps[last] {
        RegionStep::Group(group) => computed_by(module, group, root),
        RegionStep::Single(_) => FxHashSet::default(),
    };
    module.uses(value).iter().all(|&(user, _)| {
        let is_read_in_place = || {
            module.block_of(user) == Some(block) && !module.has(user, Traits::VIEW) && early.contains(&user)
        };
        is_done_before(module, block, plan, user, last, 0) || is_read_in_place()
    })
}

/// The operations of a group that have run when a root has.
fn computed_by(module: &Module, group: &Group, root: usize) -> FxHashSet<Op> {
    let mut done = FxHashSet::default();
    let mut open: Vec<Op> = group.roots[..=root]
        .iter()
        .filter_map(|root| match root {
            Root::Store(op) | Root::Effect(op) | Root::Scan(op) | Root::Reduce(op, _) => Some(*op),
            Root::Keep(value, _) | Root::KeepWide(value, _) => module.def_op(*value),
        })
        .collect();
    while let Some(op) = open.pop() {
        if done.insert(op) {
            let makers = module.operands(op).iter().filter_map(|&operand| module.def_op(operand));
            open.extend(makers.filter(|maker| group.members.contains(maker)));
        }
    }
    done
}

/// Whether an operation has run before a step: a view has where whatever reads it has, at other positions.
fn is_done_before(
    module: &Module,
    block: Block,
    plan: &RegionPlan,
    user: Op,
    last: usize,
    depth: u32,
) -> bool {
    if depth > 8 {
        return false;
    }
    if module.block_of(user) != Some(block) {
        return ends_before(plan, outermost(module, block, user), last);
    }
    if module.has(user, Traits::VIEW) {
        return module.results(user).iter().all(|&moved| {
            module
                .uses(moved)
                .iter()
                .all(|&(next, _)| is_done_before(module, block, plan, next, last, depth + 1))
        });
    }
    step_of(plan, user).is_some_and(|step| step < last)
}

/// The operation of a block that an inner one stands in.
fn outermost(module: &Module, block: Block, op: Op) -> Option<Op> {
    std::iter::successors(Some(op), |&op| module.parent_op(op)).find(|&op| module.block_of(op) == Some(block))
}

fn ends_before(plan: &RegionPlan, op: Option<Op>, last: usize) -> bool {
    op.and_then(|op| step_of(plan, op)).is_some_and(|step| step < last)
}

/// The step that an operation runs in.
fn step_of(plan: &RegionPlan, op: Op) -> Option<usize> {
    plan.steps.iter().position(|step| match step {
        RegionStep::Single(own) => *own == op,
        RegionStep::Group(group) => {
            group.members.contains(&op)
                || group.roots.iter().any(|root| match root {
                    Root::Store(own) | Root::Effect(own) | Root::Scan(own) | Root::Reduce(own, _) => {
                        *own == op
                    }
                    Root::Keep(..) | Root::KeepWide(..) => false,
                })
        }
    })
}
