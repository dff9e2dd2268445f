//! Matrices that are loaded along one dimension and stored along the other.
//!
//! Input:  a loop over rows that loads `%x` and stores it along columns
//! Output: a loop over rows that keeps `%x` in memory that is near, a loop over columns that stores it
//!
//! In one loop either the loads or the stores would be one by one, each to a cache line of its own and far from the one
//! before.

use super::{Planner, Visit, Why};
use crate::lower::{strides, types};
use ir::{Op, Value};
use ttir::ops::access::AccessOp;

/// The shortest side of a matrix that is kept.
const SHORTEST: i64 = 8;

/// The most bytes of one: it stays in the second cache.
const MOST_BYTES: i64 = 256 << 10;

impl Planner<'_, '_> {
    /// Keeps the matrix that a store writes along one dimension, if it is loaded along the other one alone.
    pub(super) fn keep_turned(&mut self, op: Op) {
        let module = self.module;
        let store = AccessOp::store(module, op).map(|store| (store.ptr(), store.value()));
        let Some((ptr, Some(value))) = store else { return };
        let &[rows, columns] = types::shape(module.ty(ptr)) else { return };
        let bytes =
            rows * columns * i64::from(types::memory(ttir::types::elem(module.ty(value))).lane_bytes());
        let is_planned = self.ready.contains_key(&value) || self.home.contains_key(&value);
        if rows.min(columns) < SHORTEST || bytes > MOST_BYTES || is_planned || !self.is_own(value) {
            return;
        }
        let Some(stored) = self.only_along(&[ptr]) else { return };
        let mut visit = Visit::new(Why::Apart);
        self.look(value, true, &mut visit);
        let loads = visit.fresh.iter().filter_map(|&value| AccessOp::load(module, module.def_op(value)?));
        let loads: Vec<Value> = loads.map(|load| load.ptr()).collect();
        let is_apart = self.only_along(&loads).is_some_and(|loaded| loaded != stored);
        if is_apart && visit.homed.is_empty() && visit.fresh.contains(&value) {
            self.force(value, Why::Apart);
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
