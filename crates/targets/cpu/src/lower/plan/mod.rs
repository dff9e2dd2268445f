//! The plan of a region: which operations run together in one loop nest, which values are kept in memory.
//!
//! Operations fall into four kinds:
//! - *virtual* ones (ranges, constants, splats, index arithmetic, moves of these) are recomputed wherever they are
//!   used;
//! - *lazy* ones (loads, elementwise arithmetic) run in the group of the first operation that needs them;
//! - *roots* (stores, reductions, atomics, values that must be kept) open a group or join one with the same iteration
//!   space, as early as what they need and the order of memory accesses allow;
//! - everything else (control flow, `dot`, scans, …) is a step of its own, whose blocks are kept before it.
//!
//! A value that is needed outside of its group, or at other positions than those of its group, is kept in scratch
//! memory. Scalars run in front of the first step that may need them.

mod coalesce;
mod dots;
pub(super) mod kinds;
mod look;
mod rematerialize;
mod size;
mod turned_stores;
mod virtuals;
mod why;

pub(crate) use coalesce::{Carried, coalesce};
use kinds::{is_elementwise_effect, is_inlined, is_lazy, is_packed, needs_blocks};
pub(crate) use virtuals::Virtuals;
pub(crate) use why::Why;

use super::accesses::{self as access, Access, Accesses};
use super::combine;
use super::dot_loop::{DotLoop, Tiles};
use super::scoped::Scoped;
use super::scratch::{Arena, Buffer};
use super::strides;
use super::subtarget::Subtarget;
use super::types;
use ir::{Block, Def, Op, Traits, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::ops::access::AccessOp;
use ttir::ops::reduce;
use ttir::ops::reduce::CombineOp;

/// Why a group runs.
#[derive(Clone, Debug)]
pub(crate) enum Root {
    /// `tt.store`.
    Store(Op),
    /// `tt.reduce`, and where its results go if they are blocks.
    Reduce(Op, Vec<Buffer>),
    /// An operation with effects on each element, such as an atomic; its result is lazy.
    Effect(Op),
    /// `tt.scan` of a block of one dimension, forward; its results are there for what comes behind it.
    Scan(Op),
    /// A value is written to a buffer.
    Keep(Value, Buffer),
    /// A value of narrow floats is written to a buffer of binary32.
    KeepWide(Value, Buffer),
}

/// Operations that share a loop nest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// The iteration space.
    pub(crate) shape: Vec<i64>,
    /// The axis of its reductions, if there are any.
    pub(crate) axis: Option<usize>,
    /// Why it runs, in order.
    pub(crate) roots: Vec<Root>,
    /// Lazy operations that run in it.
    pub(crate) members: Vec<Op>,
    /// The dimension along which its addresses are neighbours.
    pub(crate) along: Option<usize>,
    /// Which of the matrices that it keeps are turned behind it.
    pub(crate) turned: Vec<Value>,
}

/// A step of a region.
#[derive(Clone, Debug)]
pub(crate) enum RegionStep {
    /// A loop nest.
    Group(Group),
    /// An operation by itself.
    Single(Op),
}

/// The plan of a region.
#[derive(Debug, Default)]
pub(crate) struct RegionPlan {
    /// The steps.
    pub(crate) steps: Vec<RegionStep>,
    /// Scalar operations in order, each with the number of the step in front of which it runs.
    pub(crate) scalars: Vec<(Op, usize)>,
    /// Why values are kept.
    pub(crate) kept: FxHashMap<Value, Why>,
}

/// What looking at the operands of a root found.
struct Visit {
    /// Why a value is kept that must be.
    why: Why,
    /// Lazy values that have no group yet.
    fresh: Vec<Value>,
    /// Lazy values that run in a group, with its number.
    homed: Vec<(Value, usize)>,
    /// Answers so far.
    known: FxHashMap<(Value, bool), usize>,
}

/// What planning a region goes by, and what it takes.
pub(crate) struct Planning<'p, 'a> {
    /// What is lowered.
    pub(crate) module: &'a ir::Module,
    /// Loops that only add dots.
    pub(crate) dot_loops: &'p FxHashMap<Op, DotLoop>,
    /// Right operands of dots that are loaded where these are made.
    pub(crate) tiles: &'p FxHashMap<Op, Tiles>,
    /// Which values are virtual.
    pub(crate) virtuals: &'p mut Virtuals,
    /// Where values that are kept go.
    pub(crate) arena: &'p mut Arena,
    /// Blocks that are there in the type that they are multiplied in.
    pub(crate) wide: &'p Scoped<Buffer, (Value, Type)>,
    /// The processor.
    pub(crate) machine: &'a Subtarget,
}

impl Visit {
    fn new(why: Why) -> Visit {
        Visit { why, fresh: Vec::new(), homed: Vec::new(), known: FxHashMap::default() }
    }
}

/// The state of planning.
struct Planner<'p, 'a> {
    given: Planning<'p, 'a>,
    module: &'a ir::Module,
    block: Block,
    plan: RegionPlan,
    accesses: Vec<Accesses>,
    /// What the store or effect that is being planned accesses.
    current: Vec<Access>,
    /// Scalars, and blocks in memory: the first step that may use them.
    ready: FxHashMap<Value, usize>,
    /// The groups of lazy values.
    home: FxHashMap<Value, usize>,
    /// The first step in which a load may run.
    floors: FxHashMap<Op, usize>,
    /// Loads without a group.
    pending: Vec<Op>,
    /// Matrices that are kept to be turned.
    crossed: FxHashSet<Value>,
}

/// Plans a region's block, its terminator included.
pub(crate) fn plan(given: Planning<'_, '_>, block: Block) -> RegionPlan {
    let mut planner = Planner::new(given, block);
    for op in planner.module.ops(block) {
        planner.visit_op(op);
    }
    planner.keep_wide_alone();
    planner.turn_columns();
    planner.turn_crossed();
    planner.plan
}

/// Plans some operations of a block, to have one value, if any, written to memory in the type that it is multiplied in.
pub(crate) fn slice(
    given: Planning<'_, '_>,
    block: Block,
    ops: &FxHashSet<Op>,
    written: Option<(Value, Buffer)>,
) -> RegionPlan {
    let mut planner = Planner::new(given, block);
    for op in planner.module.ops(block).filter(|op| ops.contains(op)) {
        planner.visit_op(op);
    }
    if let Some((value, buffer)) = written {
        let shape = types::shape(planner.module.ty(value)).to_vec();
        let group = planner.root(&[value], &shape, None, 0);
        planner.push_root(group, Root::KeepWide(value, buffer));
    }
    planner.plan
}

impl<'p, 'a> Planner<'p, 'a> {
    fn new(given: Planning<'p, 'a>, block: Block) -> Planner<'p, 'a> {
        Planner {
            module: given.module,
            given,
            block,
            plan: RegionPlan::default(),
            accesses: Vec::new(),
            current: Vec::new(),
            ready: FxHashMap::default(),
            home: FxHashMap::default(),
            floors: FxHashMap::default(),
            pending: Vec::new(),
            crossed: FxHashSet::default(),
        }
    }
}

impl Planner<'_, '_> {
    fn is_block(&self, value: Value) -> bool {
        ttir::types::is_tensor(self.module.ty(value))
    }

    fn visit_op(&mut self, op: Op) {
        let (module, row) = (self.module, self.module.row(op));
        // What a virtual value costs follows from its operands: asked in order, no answer goes deep.
        for &result in module.results(op) {
            self.given.virtuals.cost(module, result);
        }
        let operand_blocks = module.operands(op).iter().any(|&value| self.is_block(value));
        let result_blocks = module.results(op).iter().any(|&value| self.is_block(value));
        if row.traits.has(Traits::TERMINATOR) {
            let values = module.operands(op).to_vec();
            self.available(&values, Why::Leaving);
        } else if row.traits.has(Traits::MARKER) {
        } else if combine::scans_in_chunks(module, op) {
            self.scan(op);
        } else if (!module.regions(op).is_empty() && !is_inlined(row)) || is_packed(module, op) {
            self.single(op);
        } else if reduce::is_reduction(row) {
            self.reduction(op);
        } else if AccessOp::store(module, op).is_some() && operand_blocks {
            self.store(op);
        } else if is_elementwise_effect(module, op) && operand_blocks {
            self.effect(op);
        } else if AccessOp::load(module, op).is_some() && operand_blocks {
            let access = access::of(module, op);
            let floor = self.floor(&access);
            self.floors.insert(op, floor);
            self.pending.push(op);
        } else if AccessOp::load(module, op).is_some() {
            self.scalar_load(op);
        } else if is_lazy(row) && result_blocks {
            // It runs where it is needed.
        } else if row.traits.has(Traits::PURE) && !result_blocks && !needs_blocks(row) {
            self.scalar(op, 0);
        } else {
            self.single(op);
        }
    }

    /// A scalar operation, not before a step.
    fn scalar(&mut self, op: Op, floor: usize) {
        let values = self.module.operands(op).to_vec();
        let step = self.available(&values, Why::Whole(self.module.row(op).name)).max(floor);
        for &result in self.module.results(op) {
            self.ready.insert(result, step);
        }
        self.plan.scalars.push((op, step));
    }

    fn scalar_load(&mut self, op: Op) {
        let access = access::of(self.module, op);
        let is_volatile = access.iter().any(|access| access.is_write);
        if is_volatile {
            return self.single(op);
        }
        let floor = self.floor(&access);
        self.scalar(op, floor);
        // Later stores must not run in a step before it.
        let step = self.ready[&self.module.result(op, 0)];
        if let Some(before) = step.checked_sub(1) {
            self.accesses[before].extend(&access);
        }
    }

    /// The first step that may use all of these values anywhere.
    fn available(&mut self, values: &[Value], why: Why) -> usize {
        let mut visit = Visit::new(why);
        values.iter().map(|&value| self.look(value, false, &mut visit)).max().unwrap_or(0)
    }

    /// Keeps a value that runs in a group.
    fn keep(&mut self, value: Value, home: usize, why: Why) {
        if self.ready.contains_key(&value) {
            return;
        }
        let buffer = self.given.arena.of(self.module.ty(value));
        self.plan.kept.insert(value, why);
        self.push_root(home, Root::Keep(value, buffer));
        self.ready.insert(value, home + 1);
    }

    fn push_root(&mut self, group: usize, root: Root) {
        if let RegionStep::Group(group) = &mut self.plan.steps[group] {
            group.roots.push(root);
        }
    }

    /// Finds or opens the group for a root with these operands; what was lazy in them runs there.
    fn root(&mut self, operands: &[Value], shape: &[i64], axis: Option<usize>, floor: usize) -> usize {
        self.root_of(operands, shape, axis, floor, None)
    }

    /// The same for a store to an address.
    fn root_of(
        &mut self,
        operands: &[Value],
        shape: &[i64],
        axis: Option<usize>,
        floor: usize,
        store: Option<Value>,
    ) -> usize {
        let mut visit = Visit::new(Why::Apart);
        let mut step = floor;
        for &operand in operands {
            let same = types::shape(self.module.ty(operand)) == shape;
            step = step.max(self.look(operand, same, &mut visit));
        }
        self.group_of(&mut visit, shape, axis, step, store)
    }

    /// Finds or opens the group for what looking at operands found, not before a step; what was lazy runs there.
    fn group_of(
        &mut self,
        visit: &mut Visit,
        shape: &[i64],
        axis: Option<usize>,
        step: usize,
        store: Option<Value>,
    ) -> usize {
        let along = self.along(&visit.fresh, store, shape.len());
        let group = self.group(shape, axis, along, step);
        for value in std::mem::take(&mut visit.fresh) {
            self.home.insert(value, group);
            let Some(op) = self.module.def_op(value) else { continue };
            self.add_member(group, op);
            if AccessOp::load(self.module, op).is_some() {
                self.pending.retain(|&load| load != op);
                self.accesses[group].extend(&access::of(self.module, op));
            }
        }
        for (value, home) in std::mem::take(&mut visit.homed) {
            if home != group && !self.rematerialize(value, group) {
                self.keep(value, home, Why::Apart);
            }
        }
        group
    }

    /// Lets a lazy operation run in a group.
    fn add_member(&mut self, group: usize, op: Op) {
        if let RegionStep::Group(group) = &mut self.plan.steps[group]
            && !group.members.contains(&op)
        {
            group.members.push(op);
        }
    }

    /// The dimension along which the addresses of new loads and of a store are neighbours.
    fn along(&self, fresh: &[Value], store: Option<Value>, rank: usize) -> Option<usize> {
        let module = self.module;
        let loads =
            fresh.iter().filter_map(|&value| Some(AccessOp::load(module, module.def_op(value)?)?.ptr()));
        strides::contiguous_dim(module, &loads.chain(store).collect::<Vec<_>>(), rank)
    }

    /// The first group from a step on that has this iteration space and direction, or a new one.
    fn group(&mut self, shape: &[i64], axis: Option<usize>, along: Option<usize>, from: usize) -> usize {
        let fits =
            |own: Option<usize>, wanted: Option<usize>| own.is_none() || wanted.is_none() || own == wanted;
        for number in from..self.plan.steps.len() {
            if let RegionStep::Group(group) = &mut self.plan.steps[number]
                && group.shape == shape
                && fits(group.axis, axis)
                && fits(group.along, along)
            {
                group.axis = group.axis.or(axis);
                group.along = group.along.or(along);
                return number;
            }
        }
        let group = Group { shape: shape.to_vec(), axis, along, ..Group::default() };
        self.push_step(RegionStep::Group(group))
    }

    fn push_step(&mut self, step: RegionStep) -> usize {
        self.plan.steps.push(step);
        self.accesses.push(Accesses::default());
        self.plan.steps.len() - 1
    }

    fn reduction(&mut self, op: Op) {
        let module = self.module;
        let operands = module.operands(op).to_vec();
        let outer = self.available(&self.captured(op), Why::Whole(module.row(op).name));
        let combine = CombineOp::new(module, op);
        let shape = types::shape(module.ty(combine.srcs()[0])).to_vec();
        let group = self.root(&operands, &shape, Some(combine.axis()), outer);
        let results = module.results(op).to_vec();
        let blocks: Vec<Value> = results.iter().copied().filter(|&value| self.is_block(value)).collect();
        let buffers = blocks.iter().map(|&value| self.given.arena.of(module.ty(value))).collect();
        self.push_root(group, Root::Reduce(op, buffers));
        for result in results {
            self.ready.insert(result, group + 1);
        }
    }

    /// The first step in which accesses may run after all those before them.
    fn floor(&self, accesses: &[Access]) -> usize {
        let mut floor = 0;
        for (number, earlier) in self.accesses.iter().enumerate() {
            let is_group = matches!(self.plan.steps[number], RegionStep::Group(_));
            for access in accesses {
                if let Some(same) = earlier.conflict(self.module, access) {
                    floor = floor.max(if same && is_group { number } else { number + 1 });
                }
            }
        }
        floor
    }

    /// Loads that have not run yet run before a write that may change what they read, unless they are part of it.
    fn settle(&mut self, writes: &[Access], own: &[Value]) {
        for load in self.pending.clone() {
            let result = self.module.result(load, 0);
            let reads = access::of(self.module, load);
            let conflicts = reads.iter().any(|read| writes.iter().any(|write| read.may_touch(write)));
            let is_part = own.contains(&result)
                && reads.iter().all(|read| writes.iter().all(|write| read.is_same(self.module, write)));
            if conflicts && !is_part && !self.home.contains_key(&result) {
                self.force(result, Why::Overwritten);
            }
        }
    }

    fn store(&mut self, op: Op) {
        let module = self.module;
        let access = access::of(module, op);
        let (operands, ptr) = (module.operands(op).to_vec(), AccessOp::new(module, op).ptr());
        let shape = types::shape(module.ty(ptr)).to_vec();
        self.keep_turned(op);
        let mut visit = Visit::new(Why::Apart);
        for &operand in &operands {
            self.look(operand, true, &mut visit);
        }
        self.settle(&access, &visit.fresh);
        let floor = self.floor(&access);
        self.current = access;
        let group = self.root_of(&operands, &shape, None, floor, Some(ptr));
        let access = std::mem::take(&mut self.current);
        self.accesses[group].extend(&access);
        self.push_root(group, Root::Store(op));
    }

    fn effect(&mut self, op: Op) {
        let module = self.module;
        let access = access::of(module, op);
        self.settle(&access, &[]);
        let floor = self.floor(&access);
        let operands = module.operands(op).to_vec();
        let shape = types::shape(module.ty(operands[0])).to_vec();
        self.current = access;
        let group = self.root(&operands, &shape, None, floor);
        let access = std::mem::take(&mut self.current);
        self.accesses[group].extend(&access);
        self.push_root(group, Root::Effect(op));
        for &result in module.results(op) {
            self.home.insert(result, group);
        }
    }

    fn scan(&mut self, op: Op) {
        let module = self.module;
        let operands = module.operands(op).to_vec();
        let outer = self.available(&self.captured(op), Why::Whole(module.row(op).name));
        let shape = types::shape(module.ty(CombineOp::new(module, op).srcs()[0])).to_vec();
        let group = self.root(&operands, &shape, None, outer);
        self.push_root(group, Root::Scan(op));
        for &result in module.results(op) {
            self.home.insert(result, group);
        }
    }

    /// A step of its own.
    fn single(&mut self, op: Op) {
        let module = self.module;
        let access = access::of(module, op);
        let mut values = module.operands(op).to_vec();
        values.extend(self.captured(op));
        self.settle(&access, &[]);
        let loaded = if module.is(op, &reduce::SCAN) { self.loads_of(&values) } else { Vec::new() };
        values.retain(|value| !module.def_op(*value).is_some_and(|load| loaded.contains(&load)));
        values.retain(|&value| !self.is_tile(op, value));
        self.available(&values, Why::Whole(module.row(op).name));
        self.widen_operands(op);
        let step = self.push_step(RegionStep::Single(op));
        for load in loaded {
            self.pending.retain(|&other| other != load);
            let access = access::of(module, load);
            self.accesses[step].extend(&access);
        }
        self.accesses[step].extend(&access);
        for &result in module.results(op) {
            self.ready.insert(result, step + 1);
        }
    }

    /// Whether a value comes from this block.
    fn is_own(&self, value: Value) -> bool {
        match self.module.def(value) {
            Def::Result(op, _) => self.module.block_of(op) == Some(self.block),
            Def::Arg(block, _) => block == self.block,
        }
    }
}
