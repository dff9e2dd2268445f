//! What is cheaper to load again than to keep: a row that is read in several passes is in the caches after the first,
//! and writing it to scratch memory takes the room of another row there.
//!
//! Input:  `group { x = load; max }  group { x from scratch; exp }`
//! Output: `group { x = load; max }  group { x = load; exp }`
//!
//! Legal where nothing was written in between or is written beside, but where it was loaded, and for addresses that
//! follow from ranges and scalars alone.

use super::Planner;
use crate::lower::accesses as access;
use crate::lower::strides;
use ir::{Op, Traits, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::shape;

/// The most operations, besides loads, that are done again.
const MOST: usize = 3;

impl Planner<'_, '_> {
    /// Lets a group compute a lazy value that runs in an earlier one; answers whether it may.
    pub(super) fn rematerialize(&mut self, value: Value, group: usize) -> bool {
        let mut ops = Vec::new();
        if !self.is_cheap(value, &mut ops) {
            return false;
        }
        let module = self.module;
        let homes = ops.iter().filter_map(|&op| self.home.get(&module.result(op, 0)).copied());
        let first = homes.min().unwrap_or(group);
        if self.accesses[first..=group].iter().any(access::Accesses::writes) {
            return false;
        }
        let is_written = |load: &access::Access| {
            let writes = self.current.iter().filter(|access| access.is_write && access.may_touch(load));
            writes.into_iter().any(|access| !access.is_same(module, load))
        };
        if ops.iter().any(|&op| access::of(module, op).iter().any(is_written)) {
            return false;
        }
        for op in ops {
            if access::is_plain_load(module, op) {
                self.accesses[group].extend(&access::of(module, op));
            }
            self.add_member(group, op);
        }
        true
    }

    /// The loads among the makers of values that nobody else reads and that may run in a step of its own.
    pub(super) fn loads_of(&mut self, values: &[Value]) -> Vec<Op> {
        let module = self.module;
        let loads =
            values.iter().filter_map(|&value| module.def_op(value).filter(|_| module.uses(value).len() == 1));
        let mut loads: Vec<Op> =
            loads.filter(|&op| module.block_of(op) == Some(self.block) && self.is_plain(op)).collect();
        loads.retain(|&op| {
            let value = module.result(op, 0);
            !self.ready.contains_key(&value) && !self.home.contains_key(&value)
        });
        loads
    }

    /// Whether an operation loads neighbouring elements, from addresses that follow from ranges and scalars.
    fn is_plain(&mut self, op: Op) -> bool {
        let module = self.module;
        access::is_plain_load(module, op)
            && strides::is_contiguous(module, AccessOp::new(module, op).ptr())
            && module.operands(op).iter().all(|&operand| self.given.virtuals.cost(module, operand).is_some())
    }

    /// Whether a value comes from loads of neighbouring elements by few operations, which are collected.
    fn is_cheap(&mut self, value: Value, ops: &mut Vec<Op>) -> bool {
        let module = self.module;
        if self.given.virtuals.cost(module, value).is_some() {
            return true;
        }
        let Some(op) = module.def_op(value).filter(|op| module.block_of(*op) == Some(self.block)) else {
            return false;
        };
        if ops.contains(&op) || module.is(op, &shape::SPLAT) {
            return true;
        }
        if self.ready.contains_key(&value) || !self.home.contains_key(&value) {
            return false;
        }
        let row = module.row(op);
        if access::is_plain_load(module, op) {
            ops.push(op);
            return self.is_plain(op);
        }
        let others = ops.iter().filter(|&&op| !access::is_plain_load(module, op)).count();
        if !row.traits.has(Traits::ELEMENTWISE) || row.traits.has(Traits::SERIES) || others == MOST {
            return false;
        }
        ops.push(op);
        module.operands(op).iter().all(|&operand| self.is_cheap(operand, ops))
    }
}
