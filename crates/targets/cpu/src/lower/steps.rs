//! The steps of a plan, one after the other; blocks that control flow carries live in scratch memory.

use super::chunk::{Assumed, Chunks, Memo};
use super::emitter::{Emitter, Kept};
use super::error::Result;
use super::plan::{Group, RegionPlan, RegionStep, Root};
use super::scratch::Buffer;
use super::types;
use super::value::Index;
use ir::{Op, Value as IrValue};
use ttir::ops::shape::UnsplatOp;

impl<'a> Emitter<'a> {
    /// Runs a plan, with the scalars in front of its steps. `control` makes the steps that are control flow and answers
    /// whether a step is.
    pub(crate) fn run_plan(
        &mut self,
        plan: &RegionPlan,
        mut control: impl FnMut(&mut Self, Op) -> Result<bool>,
    ) -> Result<()> {
        let module = self.module;
        let mut by_step: Vec<Vec<Op>> = vec![Vec::new(); plan.steps.len() + 1];
        for &(op, step) in &plan.scalars {
            by_step[step].push(op);
        }
        for (number, ops) in by_step.iter().enumerate() {
            for &op in ops {
                self.plain_scalar(op).map_err(|error| error.at(module, op))?;
            }
            match plan.steps.get(number) {
                // What it was for is kept by another one.
                Some(RegionStep::Group(group)) if group.roots.is_empty() => {}
                Some(RegionStep::Group(group)) => {
                    self.note_kept(plan, group);
                    self.group(group)?;
                }
                Some(RegionStep::Single(op)) => {
                    let made =
                        control(self, *op).and_then(|made| if made { Ok(()) } else { self.single(*op) });
                    made.map_err(|error| error.at(module, *op))?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Writes down which blocks a group keeps in memory, and why.
    fn note_kept(&mut self, plan: &RegionPlan, group: &Group) {
        for root in &group.roots {
            if let Root::Keep(value, buffer) = root
                && let (Some(op), Some(&why)) = (self.module.def_op(*value), plan.kept.get(value))
            {
                self.kept.push(Kept { op, offset: buffer.offset, why });
            }
        }
    }

    fn plain_scalar(&mut self, op: Op) -> Result<()> {
        if let Some(of) = UnsplatOp::of(self.module, op) {
            return self.unsplat(of);
        }
        match self.scalar_op(op)? {
            true => Ok(()),
            false => self.unsupported(op, "there is no lowering for it on scalars yet"),
        }
    }

    /// The only element of a block.
    fn unsplat(&mut self, of: UnsplatOp<'_>) -> Result<()> {
        let dims = types::shape(self.module.ty(of.src())).iter().map(|_| Index::constant(0, 1)).collect();
        let at = self.at(dims);
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        let element =
            Chunks::new(self, &mut memo, &assumed, 1).scoped(|chunks| chunks.eval_vector(of.src(), &at))?;
        self.scalars.insert(of.result(), element);
        Ok(())
    }

    /// Buffers for the blocks among these values.
    pub(crate) fn buffers_for(&mut self, values: &[IrValue]) -> Vec<Buffer> {
        let types: Vec<ir::Type> = values
            .iter()
            .filter(|&&value| self.is_block(value))
            .map(|&value| self.module.ty(value))
            .collect();
        types.into_iter().map(|ty| self.arena.of(ty)).collect()
    }

    /// Says that the blocks among these values are in these buffers.
    pub(crate) fn place_in(&mut self, values: &[IrValue], buffers: &[Buffer]) {
        let own: Vec<IrValue> = values.iter().copied().filter(|&value| self.is_block(value)).collect();
        for (value, buffer) in own.into_iter().zip(buffers) {
            self.buffers.insert(value, buffer.clone());
        }
    }

    /// Copies the blocks among these values into buffers. When several change at once, values go through buffers of
    /// their own first, as one may be computed from another's old contents.
    pub(crate) fn fill(&mut self, values: &[IrValue], buffers: &[Buffer]) -> Result<()> {
        let own: Vec<IrValue> = values.iter().copied().filter(|&value| self.is_block(value)).collect();
        let moves: Vec<(IrValue, Buffer)> = own
            .into_iter()
            .zip(buffers.iter().cloned())
            .filter(|(value, buffer)| self.buffers.get(value) != Some(buffer))
            .collect();
        if moves.len() <= 1 {
            for (value, buffer) in &moves {
                self.copy_block(*value, buffer)?;
            }
            return Ok(());
        }
        let mut staged = Vec::new();
        for (value, buffer) in moves {
            let is_target = |own: &Buffer| buffers.iter().any(|other| other.offset == own.offset);
            let is_safe = match self.buffers.get(&value) {
                Some(own) => !is_target(own),
                None => self.virtuals.cost(self.module, value).is_some(),
            };
            if is_safe {
                staged.push((value, buffer, None));
            } else {
                let own = self.arena.of(self.module.ty(value));
                self.copy_block(value, &own)?;
                staged.push((value, buffer, Some(own)));
            }
        }
        for (value, buffer, own) in staged {
            let before = self.buffers.get(&value).cloned();
            if let Some(own) = own {
                self.buffers.insert(value, own);
            }
            let copied = self.copy_block(value, &buffer);
            match before {
                Some(before) => self.buffers.insert(value, before),
                None => self.buffers.remove(&value),
            };
            copied?;
        }
        Ok(())
    }

    /// A step of its own that is not control flow.
    fn single(&mut self, op: Op) -> Result<()> {
        match SINGLES.iter().find(|(row, _)| self.module.is(op, row)) {
            Some((_, emit)) => emit(self, op),
            None if self.scalar_op(op)? => Ok(()),
            None => self.no_lowering(op),
        }
    }

    /// Writes an operand of a print to memory.
    fn write_printed(&mut self, operand: IrValue, buffer: &Buffer) -> Result<()> {
        if !self.is_block(operand) {
            return self.store_printed(operand, buffer);
        }
        if buffer.elem == ttir::types::elem(self.module.ty(operand)) {
            return self.copy_block(operand, buffer);
        }
        let lanes = self.machine.lanes();
        let shape = types::shape(self.module.ty(operand));
        self.each_chunk(shape, lanes, |chunks, at| chunks.keep_wide(operand, buffer, at))
    }
}

/// How a step of its own is lowered.
type Single = fn(&mut Emitter<'_>, Op) -> Result<()>;

/// The operations on blocks, and prints, that are steps of their own.
const SINGLES: &[(&ir::OpRow, Single)] = &[
    (&ttir::ops::dot::DOT, |cx, op| cx.dot(op)),
    (&ttir::ops::dot::DOT_SCALED, |cx, op| cx.dot_scaled(op)),
    (&ttir::ops::reduce::SCAN, |cx, op| cx.scan(op)),
    (&ttir::ops::reduce::MAP_ELEMENTWISE, |cx, op| cx.map_packed(op)),
    (&ttir::ops::reduce::HISTOGRAM, |cx, op| cx.histogram(op)),
    (&ttir::ops::shape::GATHER, |cx, op| cx.gather_block(op)),
    (&ttir::ops::shape::CAT, |cx, op| cx.cat(op)),
    (&ttir::ops::shape::JOIN, |cx, op| cx.join(op)),
    (&ttir::ops::shape::UNSPLAT, |cx, op| cx.plain_scalar(op)),
    (&ttir::ops::debug::PRINT, |cx, op| {
        cx.print(op, &mut |cx, operand, buffer| cx.write_printed(operand, buffer))
    }),
];
