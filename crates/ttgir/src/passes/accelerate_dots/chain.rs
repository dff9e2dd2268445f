//! Which dots feed which.

use ir::{Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::dot::MatmulOp;
use ttir::ops::reduce::CombineOp;

/// How far results are followed.
const LIMIT: usize = 256;

/// Whether the result of a dot becomes an operand of another dot in its block, or one of its operands comes from
/// another's result.
pub(super) fn is_chained(module: &Module, dot: Op) -> bool {
    feeds_dot(module, dot) || (0..2).any(|slot| comes_from_dot(module, dot, module.operand(dot, slot)))
}

fn stays_in_registers(module: &Module, op: Op) -> bool {
    let row = module.row(op);
    !row.traits.has(Traits::TERMINATOR) && !row.writes() && row.access.is_none()
}

fn feeds_dot(module: &Module, dot: Op) -> bool {
    let mut stack = vec![module.result(dot, 0)];
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    while let Some(value) = stack.pop() {
        for &(user, slot) in module.uses(value) {
            if MatmulOp::of(module, user).is_some() && user != dot && slot < 2 {
                return true;
            }
            let near = module.block_of(user) == module.block_of(dot) && stays_in_registers(module, user);
            if near && CombineOp::reduction(module, user).is_none() && seen.len() < LIMIT && seen.insert(user)
            {
                stack.extend(module.results(user));
            }
        }
    }
    false
}

/// Whether a value is computed from the result of a dot in the same block.
pub(super) fn comes_from_dot(module: &Module, dot: Op, value: Value) -> bool {
    let mut stack = vec![value];
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    while let Some(value) = stack.pop() {
        let Some(def) = module.def_op(value) else { continue };
        if module.block_of(def) != module.block_of(dot) {
            continue;
        }
        if MatmulOp::of(module, def).is_some() {
            return true;
        }
        if stays_in_registers(module, def) && seen.len() < LIMIT && seen.insert(def) {
            stack.extend(module.operands(def));
        }
    }
    false
}
