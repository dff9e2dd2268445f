//! Operands of dots in memory: in the type that is multiplied in, and in the order that they were loaded in.

use super::{Planner, Root, Step};
use crate::lower::types;
use ir::{Op, Value};
use ttir::ops::control;
use ttir::ops::dot::MatmulOp;

impl Planner<'_, '_> {
    /// Operands of `dot` that are loaded column by column stay so in memory: they are turned as a whole.
    pub(super) fn turn_columns(&mut self) {
        let module = self.module;
        for step in &mut self.plan.steps {
            let Step::Group(group) = step else { continue };
            if group.shape.len() != 2 || group.along != Some(0) || group.axis.is_some() {
                continue;
            }
            for root in &mut group.roots {
                let (value, buffer) = match root {
                    Root::Keep(value, buffer) | Root::KeepWide(value, buffer) => (*value, buffer),
                    _ => continue,
                };
                let is_operand = |&(op, index): &(Op, u32)| MatmulOp::of(module, op).is_some() && index < 2;
                let is_large = types::memory(buffer.elem).lane_bytes() >= 4;
                if is_large && module.uses(value).iter().all(is_operand) {
                    let turned = self.given.arena.block(&[group.shape[1], group.shape[0]], buffer.elem);
                    buffer.strides = vec![turned.strides[1], turned.strides[0]];
                    buffer.offset = turned.offset;
                }
            }
        }
    }

    /// Operands of a `dot` whose floats are narrow are kept as binary32 by the group that makes them; those of the
    /// `dot`s in a loop that come from outside of it are widened once, in front of it.
    pub(super) fn widen_operands(&mut self, op: Op) {
        let module = self.module;
        let is_dot = |&inner: &Op| MatmulOp::of(module, inner).is_some();
        if is_dot(&op) {
            return sources(module, op).into_iter().for_each(|value| self.widen(value));
        }
        if !module.is(op, &control::FOR) && !module.is(op, &control::WHILE) {
            return;
        }
        let packs = |around: Op| self.given.dot_loops.contains_key(&around);
        let is_plain = |&inner: &Op| is_dot(&inner) && !module.parent_op(inner).is_some_and(packs);
        let dots: Vec<Op> = module.walk(op).into_iter().filter(is_plain).collect();
        for value in dots.into_iter().flat_map(|dot| sources(module, dot)) {
            if self.is_own(value) {
                self.widen(value);
            }
        }
    }

    /// Keeps a block of narrow floats as binary32.
    fn widen(&mut self, value: Value) {
        let ty = self.module.ty(value);
        let wide = types::dot_operand(ttir::types::elem(ty));
        if wide != ttir::types::elem(ty) && !self.given.wide.contains_key(&value) && !self.widened(value) {
            let buffer = self.given.arena.block(types::shape(ty), wide);
            let shape = types::shape(ty).to_vec();
            let group = self.root(&[value], &shape, None, 0);
            self.push_root(group, Root::KeepWide(value, buffer));
        }
    }

    fn widened(&self, value: Value) -> bool {
        self.plan.steps.iter().any(|step| match step {
            Step::Group(group) => {
                group.roots.iter().any(|root| matches!(root, Root::KeepWide(own, _) if *own == value))
            }
            Step::Single(_) => false,
        })
    }
}

/// The matrices that a `dot` multiplies.
fn sources(module: &ir::Module, dot: Op) -> [Value; 2] {
    let dot = MatmulOp::new(module, dot);
    [dot.a(), dot.b()].map(|value| crate::lower::operands::source(module, value).0)
}
