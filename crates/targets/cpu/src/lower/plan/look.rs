//! When a value can be had: in which step, and what must run or be kept before.
//!
//! Expressions may be as deep as they like: what is being looked at is a list, not the stack of the thread. A value
//! that must be run by itself and kept opens a list of its own, since it gets a group of its own.

use super::{Planner, Root, Visit, Why};
use crate::lower::scratch::Buffer;
use crate::lower::types;
use ir::{Def, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::{constant, shape};

/// A value whose operands are looked at in turn.
struct Open {
    /// The value, and whether it is wanted at the positions of the group; `None` for what the caller asks for.
    key: Option<(Value, bool)>,
    operands: Vec<Value>,
    /// Whether the operands are wanted at the positions of the group.
    same: bool,
    /// The operand that is next.
    next: usize,
    /// The first step that has all operands so far.
    step: usize,
}

/// A group that is looked for: what was found for it so far.
struct Search {
    visit: Visit,
    open: Vec<Open>,
    /// The value that the group is opened to keep, if it is, and where.
    kept: Option<(Value, Buffer, Why)>,
}

/// What is found out about a value.
enum Found {
    /// The first step that can use it.
    RegionStep(usize),
    /// It follows from its operands.
    Open(Open),
    /// It must be run by itself and kept.
    Force,
}

/// What comes of looking at the next operand.
enum Next {
    /// There is more to look at.
    More,
    /// A value must be run by itself and kept first.
    Force(Value),
    /// Everything is known.
    Done(usize),
}

impl Search {
    fn new(value: Value, same: bool, visit: Visit) -> Search {
        let open = Open { key: None, operands: vec![value], same, next: 0, step: 0 };
        Search { visit, open: vec![open], kept: None }
    }
}

impl Planner<'_, '_> {
    /// The first step at which a value can be had; lazy values at the positions of the group (`same`), or at any.
    pub(super) fn look(&mut self, value: Value, same: bool, visit: &mut Visit) -> usize {
        if let Some(step) = self.known(value, same, visit) {
            return step;
        }
        let own = std::mem::replace(visit, Visit::new(visit.why));
        let (step, own) = self.search(Search::new(value, same, own));
        *visit = own;
        step
    }

    /// Runs a lazy value in a group of its own shape and keeps it.
    pub(super) fn force(&mut self, value: Value, why: Why) {
        let search = self.forced(value, why);
        self.search(search);
    }

    /// The search for the group of a value's own shape that runs it and keeps it.
    fn forced(&mut self, value: Value, why: Why) -> Search {
        let buffer = self.given.arena.of(self.module.ty(value));
        Search { kept: Some((value, buffer, why)), ..Search::new(value, true, Visit::new(Why::Apart)) }
    }

    /// Looks until everything is known; answers the first step that has what was asked for.
    fn search(&mut self, first: Search) -> (usize, Visit) {
        let mut searches = vec![first];
        loop {
            let top = searches.last_mut().expect("a search goes on until its end");
            match self.next(top) {
                Next::More => {}
                Next::Force(value) => {
                    let why = top.visit.why.moved();
                    searches.push(self.forced(value, why));
                }
                Next::Done(step) => {
                    let mut done = searches.pop().expect("the search that is done");
                    if let Some(kept) = done.kept.take() {
                        self.run_and_keep(kept, step, &mut done.visit);
                    }
                    if searches.is_empty() {
                        return (step, done.visit);
                    }
                }
            }
        }
    }

    /// Looks at the next operand of the value on top.
    fn next(&mut self, search: &mut Search) -> Next {
        let top = search.open.last_mut().expect("a search ends with its last value");
        if let Some(&operand) = top.operands.get(top.next) {
            match self.find(operand, top.same, &mut search.visit) {
                Found::RegionStep(step) => {
                    (top.next, top.step) = (top.next + 1, top.step.max(step));
                }
                Found::Open(open) => search.open.push(open),
                Found::Force => return Next::Force(operand),
            }
            return Next::More;
        }
        let step = top.step;
        if let Some(key) = top.key {
            search.visit.known.insert(key, step);
        }
        search.open.pop();
        if search.open.is_empty() { Next::Done(step) } else { Next::More }
    }

    /// What was found out about a value before.
    fn known(&self, value: Value, same: bool, visit: &Visit) -> Option<usize> {
        self.ready.get(&value).or_else(|| visit.known.get(&(value, same))).copied()
    }

    /// What is found out about a value before its operands are looked at.
    fn find(&mut self, value: Value, same: bool, visit: &mut Visit) -> Found {
        if let Some(step) = self.known(value, same, visit) {
            return Found::RegionStep(step);
        }
        let module = self.module;
        let own = module.def_op(value).filter(|&op| module.block_of(op) == Some(self.block));
        let Some(op) = own.filter(|_| self.is_block(value)) else { return Found::RegionStep(0) };
        let row = module.row(op);
        let is_moved = row.traits.has(Traits::VIEW) || row.is(&shape::SPLAT) || row.is(&constant::CONSTANT);
        if is_moved || self.given.virtuals.cost(module, value).is_some() {
            return Found::Open(self.open(op, (value, same), false, 0));
        }
        match (self.home.get(&value), same) {
            (Some(&home), true) => {
                visit.homed.push((value, home));
                visit.known.insert((value, same), home);
                Found::RegionStep(home)
            }
            (Some(&home), false) => {
                self.keep(value, home, visit.why.moved());
                Found::RegionStep(home + 1)
            }
            (None, true) => {
                visit.fresh.push(value);
                let floor = self.floors.get(&op).copied().unwrap_or(0);
                Found::Open(self.open(op, (value, same), true, floor))
            }
            (None, false) => Found::Force,
        }
    }

    /// An operation whose operands are looked at, and what its regions use; not before a step.
    fn open(&self, op: Op, key: (Value, bool), same: bool, floor: usize) -> Open {
        let mut operands = self.module.operands(op).to_vec();
        if !self.module.regions(op).is_empty() {
            operands.extend(self.captured(op));
        }
        Open { key: Some(key), operands, same, next: 0, step: floor }
    }

    /// Runs a value in a group of its own shape and keeps it, once what it needs is known.
    fn run_and_keep(&mut self, (value, buffer, why): (Value, Buffer, Why), step: usize, visit: &mut Visit) {
        let shape = types::shape(self.module.ty(value)).to_vec();
        let group = self.group_of(visit, &shape, None, step, None);
        self.plan.kept.insert(value, why);
        self.push_root(group, Root::Keep(value, buffer));
        self.ready.insert(value, group + 1);
    }

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
}
