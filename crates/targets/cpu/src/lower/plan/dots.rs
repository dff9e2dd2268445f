//! Operands of dots in memory: in the type that is multiplied in, and in the order that they were loaded in.

use super::{Planner, RegionStep, Root};
use crate::lower::scratch::Buffer;
use crate::lower::subtarget::Subtarget;
use crate::lower::{operands, types};
use ir::{Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::ops::control;
use ttir::ops::dot::MatmulOp;

impl Planner<'_, '_> {
    /// Operands of `dot` that are loaded column by column stay so in memory: they are turned as a whole.
    pub(super) fn turn_columns(&mut self) {
        let module = self.module;
        for step in &mut self.plan.steps {
            let RegionStep::Group(group) = step else { continue };
            if group.shape.len() != 2 || group.along != Some(0) || group.axis.is_some() {
                continue;
            }
            for root in &mut group.roots {
                let (value, buffer) = match root {
                    Root::Keep(value, buffer) | Root::KeepWide(value, buffer) => (*value, buffer),
                    _ => continue,
                };
                let is_large = types::memory(buffer.elem).lane_bytes() >= 4;
                let is_turned = |op: Op| {
                    let multiplied = operands::multiplied(module, self.given.machine, op);
                    is_large || multiplied.is_some_and(|(operands, _)| operands.group() > 1)
                };
                let is_operand = |&(op, index): &(Op, u32)| {
                    MatmulOp::of(module, op).is_some() && index < 2 && is_turned(op)
                };
                if module.uses(value).iter().all(is_operand) {
                    let turned = self.given.arena.block(&[group.shape[1], group.shape[0]], buffer.elem);
                    buffer.strides = vec![turned.strides[1], turned.strides[0]];
                    buffer.offset = turned.offset;
                }
            }
        }
    }

    /// Blocks that only dots use, which all multiply them in one wider type, are kept in that type alone, by the group
    /// that makes them: nobody reads them as they were.
    pub(super) fn keep_wide_alone(&mut self) {
        let mut wide: FxHashMap<Value, SmallVec<[(usize, Buffer); 1]>> = FxHashMap::default();
        for (number, root) in self.roots() {
            if let Root::KeepWide(value, buffer) = root {
                wide.entry(*value).or_default().push((number, buffer.clone()));
            }
        }
        let mut homes: FxHashMap<Value, usize> = FxHashMap::default();
        for (number, step) in self.plan.steps.iter_mut().enumerate() {
            let RegionStep::Group(group) = step else { continue };
            for root in &mut group.roots {
                let Root::Keep(value, _) = *root else { continue };
                if let Some([(later, buffer)]) = wide.get(&value).map(SmallVec::as_slice)
                    && *later > number
                    && is_only_multiplied(self.module, self.given.machine, value, buffer.elem)
                {
                    *root = Root::KeepWide(value, buffer.clone());
                    homes.insert(value, number);
                }
            }
        }
        for (number, step) in self.plan.steps.iter_mut().enumerate() {
            let RegionStep::Group(group) = step else { continue };
            let is_elsewhere = |value: &Value| homes.get(value).is_some_and(|home| *home != number);
            group.roots.retain(|root| !matches!(root, Root::KeepWide(value, _) if is_elsewhere(value)));
        }
    }

    /// All roots, each with the number of its step.
    fn roots(&self) -> impl Iterator<Item = (usize, &Root)> {
        self.plan.steps.iter().enumerate().flat_map(|(number, step)| {
            let roots: &[Root] = if let RegionStep::Group(group) = step { &group.roots } else { &[] };
            roots.iter().map(move |root| (number, root))
        })
    }

    /// Operands of a `dot` that are multiplied in another type are kept in that one by the group that makes them; those
    /// of the `dot`s in a loop that come from outside of it are converted once, in front of it.
    pub(super) fn widen_operands(&mut self, op: Op) {
        let module = self.module;
        let is_dot = |&inner: &Op| MatmulOp::of(module, inner).is_some();
        if is_dot(&op) {
            let kept = self.given.tiles.get(&op).map(|tiles| operands::source(module, tiles.operand).0);
            let loaded = sources(module, op).into_iter().filter(|&value| Some(value) != kept);
            return loaded.for_each(|value| self.widen(value, op));
        }
        if !module.is(op, &control::FOR) && !module.is(op, &control::WHILE) {
            return;
        }
        let packs = |around: Op| self.given.dot_loops.contains_key(&around);
        let is_plain = |&inner: &Op| is_dot(&inner) && !module.parent_op(inner).is_some_and(packs);
        let dots: Vec<Op> = module.walk(op).into_iter().filter(is_plain).collect();
        for dot in dots {
            for value in sources(module, dot) {
                if self.is_own(value) {
                    self.widen(value, dot);
                }
            }
        }
    }

    /// Whether an operand is loaded where the dot is made.
    pub(super) fn is_tile(&self, op: Op, value: Value) -> bool {
        self.given.tiles.get(&op).is_some_and(|tiles| tiles.operand == value)
    }

    /// Keeps an operand in the type that a dot multiplies it in.
    fn widen(&mut self, value: Value, dot: Op) {
        let ty = self.module.ty(value);
        let Some((_, wide)) = operands::multiplied(self.module, self.given.machine, dot) else { return };
        let is_there = self.given.wide.contains_key(&(value, wide)) || self.widened(value, wide);
        if wide != ttir::types::elem(ty) && !is_there {
            let buffer = self.given.arena.block(types::shape(ty), wide);
            let shape = types::shape(ty).to_vec();
            let group = self.root(&[value], &shape, None, 0);
            self.push_root(group, Root::KeepWide(value, buffer));
        }
    }

    fn widened(&self, value: Value, wide: Type) -> bool {
        let is_it = |root: &Root| matches!(root, Root::KeepWide(own, to) if *own == value && to.elem == wide);
        self.plan.steps.iter().any(|step| match step {
            RegionStep::Group(group) => group.roots.iter().any(is_it),
            RegionStep::Single(_) => false,
        })
    }
}

/// Whether a block is nothing but an operand of dots that multiply it in this type, of whole registers' elements.
fn is_only_multiplied(module: &ir::Module, machine: &Subtarget, value: Value, wide: Type) -> bool {
    types::memory(wide).lane_bytes() >= 4
        && module.uses(value).iter().all(|&(op, index)| {
            // Dots with scales make operands of their own.
            let multiplied =
                operands::added_to(module, op).and_then(|_| operands::multiplied(module, machine, op));
            index < 2 && multiplied.is_some_and(|(_, own)| own == wide)
        })
}

/// The matrices that a `dot` multiplies.
fn sources(module: &ir::Module, dot: Op) -> [Value; 2] {
    let dot = MatmulOp::new(module, dot);
    [dot.a(), dot.b()].map(|value| crate::lower::operands::source(module, value).0)
}
