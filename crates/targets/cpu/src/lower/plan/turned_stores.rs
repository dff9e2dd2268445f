//! Matrices that are loaded along one dimension and stored along the other.
//!
//! Input:  a loop over rows that loads `%x` and stores it along columns
//! Output: a loop over rows that keeps `%x` in memory that is near, a loop over columns that stores it
//!
//! In one loop either the loads or the stores would be one by one, each to a cache line of its own and far from the one
//! before. Of a matrix that is made of loads along both dimensions, those along the other one are kept, and turned as a
//! whole (`x + x.t()` of 2048×2048 in tiles of 32×32, two cores of a Xeon: 2.0 to 2.7 ms, 1.3 to 1.6). A matrix that is
//! only copied gains nothing by that.

use super::{Planner, RegionStep, Root, Visit, Why};
use crate::lower::{strides, types};
use ir::{Op, Traits, Value};
use ttir::ops::access::AccessOp;

/// The shortest side of a matrix that is kept.
const SHORTEST: i64 = 8;

/// The most bytes of one: it stays in the second cache.
const MOST_BYTES: i64 = 256 << 10;

impl Planner<'_, '_> {
    /// Keeps the matrix that a store writes along one dimension, if it is loaded along the other one alone, or else the
    /// loads in it that are.
    pub(super) fn keep_turned(&mut self, op: Op) {
        let module = self.module;
        let store = AccessOp::store(module, op).map(|store| (store.ptr(), store.value()));
        let Some((ptr, Some(value))) = store else { return };
        let is_planned = self.ready.contains_key(&value) || self.home.contains_key(&value);
        if !self.is_near(value) || is_planned || !self.is_own(value) {
            return;
        }
        let Some(stored) = self.only_along(&[ptr]) else { return };
        let mut visit = Visit::new(Why::Apart);
        self.look(value, true, &mut visit);
        let loads = visit.fresh.iter().filter_map(|&value| {
            let load = AccessOp::load(module, module.def_op(value)?)?;
            Some((value, load.ptr()))
        });
        let loads: Vec<(Value, Value)> = loads.collect();
        let pointers: Vec<Value> = loads.iter().map(|&(_, ptr)| ptr).collect();
        if self.only_along(&pointers).is_some_and(|loaded| loaded != stored) {
            if visit.homed.is_empty() && visit.fresh.contains(&value) {
                self.force(value, Why::Apart);
            }
            return;
        }
        for (value, ptr) in loads {
            let is_across = self.only_along(&[ptr]).is_some_and(|loaded| loaded != stored);
            // The address of another one may have been made of it.
            let is_planned = self.ready.contains_key(&value) || self.home.contains_key(&value);
            if is_across && !is_planned && self.is_near(value) && self.is_turned_whole(value) {
                self.force(value, Why::Apart);
                self.crossed.insert(value);
            }
        }
    }

    /// Whether a matrix is large enough to be kept, and stays near.
    fn is_near(&self, value: Value) -> bool {
        let ty = self.module.ty(value);
        let &[rows, columns] = types::shape(ty) else { return false };
        let bytes = rows * columns * i64::from(types::memory(ttir::types::elem(ty)).lane_bytes());
        rows.min(columns) >= SHORTEST && bytes <= MOST_BYTES
    }

    /// Whether registers turn a matrix, and nobody needs it as it was.
    fn is_turned_whole(&self, value: Value) -> bool {
        let module = self.module;
        let ty = module.ty(value);
        let is_used_alone = module.uses(value).iter().all(|&(user, _)| {
            module.has(user, Traits::ELEMENTWISE) || AccessOp::store(module, user).is_some()
        });
        let are_powers = types::shape(ty).iter().all(|&size| size > 0 && size.count_ones() == 1);
        is_used_alone && are_powers && matches!(types::memory(ttir::types::elem(ty)).lane_bytes(), 4 | 8)
    }

    /// Lets matrices that are to be turned lie in memory as they are loaded, to be turned as a whole.
    pub(super) fn turn_crossed(&mut self) {
        for number in 0..self.plan.steps.len() {
            let RegionStep::Group(group) = &self.plan.steps[number] else { continue };
            if group.shape.len() != 2 || group.axis.is_some() {
                continue;
            }
            let kept = group.roots.iter().filter_map(|root| match root {
                Root::Keep(value, _) => Some(*value),
                _ => None,
            });
            let turned: Vec<Value> =
                kept.filter(|value| self.crossed.contains(value) && self.is_turned_whole(*value)).collect();
            let RegionStep::Group(group) = &mut self.plan.steps[number] else { continue };
            for root in &mut group.roots {
                if let Root::Keep(value, buffer) = root
                    && turned.contains(value)
                    && group.along == Some(0)
                {
                    *buffer = self.given.arena.along(self.module.ty(*value), 0);
                }
            }
            group.turned = turned;
        }
    }

    /// The dimension along which addresses of matrices are neighbours, where they are along no other one.
    fn only_along(&self, pointers: &[Value]) -> Option<usize> {
        let is_along = |&pointer: &Value, dim| {
            types::shape(self.module.ty(pointer)).len() == 2
                && strides::stride(self.module, pointer, dim, strides::DEPTH) == Some(1)
        };
        let mut dims = (0..2).filter(|&dim| pointers.iter().any(|pointer| is_along(pointer, dim)));
        dims.next().filter(|_| dims.next().is_none())
    }
}
