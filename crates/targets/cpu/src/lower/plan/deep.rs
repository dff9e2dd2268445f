//! What recursion would do where expressions are too deep for it: the same answers, the deepest first.

use super::{Planner, Visit, Why};
use crate::lower::rows::is_view;
use ir::{Def, Op, Value};
use rustc_hash::FxHashSet;
use ttir::ops::{constant, shape};

/// What looking at a value asks next.
enum Needs {
    /// Nothing.
    Nothing,
    /// These values, at the same positions or at any.
    Values(Vec<Value>, bool),
    /// That the value is run by itself and kept.
    Force,
}

impl Planner<'_, '_> {
    /// Values of this block that the regions of an operation use.
    pub(super) fn captured(&self, op: Op) -> Vec<Value> {
        let module = self.module;
        let mut found = FxHashSet::default();
        let mut values = Vec::new();
        for inner in module.walk(op).into_iter().skip(1) {
            for &value in module.operands(inner) {
                let is_result = matches!(module.def(value), Def::Result(..));
                if is_result && self.is_own(value) && found.insert(value) {
                    values.push(value);
                }
            }
        }
        values
    }

    /// Looks at all that looking at a value asks for.
    pub(super) fn look_below(&mut self, value: Value, same: bool, visit: &mut Visit) {
        let mut open = vec![(value, same)];
        while let Some(&(top, top_same)) = open.last() {
            let next = match self.needs(top, top_same) {
                Needs::Values(values, same) => values
                    .into_iter()
                    .map(|value| (value, same))
                    .find(|key| !self.ready.contains_key(&key.0) && !visit.known.contains_key(key)),
                Needs::Nothing | Needs::Force => None,
            };
            if let Some(next) = next {
                open.push(next);
                continue;
            }
            open.pop();
            if !open.is_empty() {
                let step = self.look_anew(top, top_same, visit);
                visit.known.insert((top, top_same), step);
            }
        }
    }

    /// Runs and keeps all that must be kept before a value can run.
    pub(super) fn force_below(&mut self, value: Value, why: Why) {
        let mut open = vec![value];
        while let Some(&top) = open.last() {
            if let Some(next) = self.first_forced(top) {
                open.push(next);
                continue;
            }
            open.pop();
            if !open.is_empty() {
                self.force_now(top, why);
            }
        }
    }

    /// The first value that running another makes necessary to keep.
    fn first_forced(&mut self, value: Value) -> Option<Value> {
        let (mut open, mut seen) = (vec![(value, true)], FxHashSet::default());
        while let Some((value, same)) = open.pop() {
            if self.ready.contains_key(&value) || !seen.insert((value, same)) {
                continue;
            }
            match self.needs(value, same) {
                Needs::Nothing => {}
                Needs::Force => return Some(value),
                Needs::Values(values, same) => {
                    open.extend(values.into_iter().rev().map(|value| (value, same)))
                }
            }
        }
        None
    }

    /// The same distinctions as [`Planner::look_anew`] draws.
    fn needs(&mut self, value: Value, same: bool) -> Needs {
        let module = self.module;
        let Def::Result(op, _) = module.def(value) else { return Needs::Nothing };
        if module.block_of(op) != Some(self.block) || !self.is_block(value) {
            return Needs::Nothing;
        }
        let row = module.row(op);
        let mut operands = module.operands(op).to_vec();
        if !module.regions(op).is_empty() {
            operands.extend(self.captured(op));
        }
        let is_moved = is_view(row) || row.is(&shape::SPLAT) || row.is(&constant::CONSTANT);
        if is_moved || self.given.virtuals.cost(module, value).is_some() {
            return Needs::Values(operands, false);
        }
        match (self.home.contains_key(&value), same) {
            (true, _) => Needs::Nothing,
            (false, true) => Needs::Values(operands, true),
            (false, false) => Needs::Force,
        }
    }
}
