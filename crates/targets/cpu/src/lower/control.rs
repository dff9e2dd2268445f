//! Control flow of a program: what runs in regions is planned, and blocks that are carried live in scratch memory.

use super::carried_columns;
use super::emitter::Emitter;
use super::error::Result;
use super::plan::{self, Carried};
use super::scratch::Buffer;
use ir::{Block, Op};
use ttir::ops::control::{self, ForOp, IfOp, WhileOp};

impl Emitter<'_> {
    /// A region's block up to its terminator.
    pub(crate) fn block(&mut self, block: Block) -> Result<()> {
        self.loop_block(block, &[])
    }

    /// The same for the body of a loop that carries blocks.
    fn loop_block(&mut self, block: Block, carried: &[Carried]) -> Result<()> {
        let mut plan = plan::plan(self.planning(), block);
        plan::coalesce(self.module, block, &mut plan, carried);
        self.run_plan(&plan, |cx, op| cx.control_flow(op))
    }

    /// An operation with regions that run in order; answers whether it is one.
    fn control_flow(&mut self, op: Op) -> Result<bool> {
        let module = self.module;
        if let Some(of) = ForOp::of(module, op) {
            self.for_op(of)?;
        } else if let Some(of) = IfOp::of(module, op) {
            self.if_op(of)?;
        } else if let Some(of) = WhileOp::of(module, op) {
            self.while_op(of)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `scf.for`.
    fn for_op(&mut self, of: ForOp<'_>) -> Result<()> {
        if let Some(dot_loop) = self.program().dot_loops.get(&of.op) {
            return self.dot_loop(of, dot_loop);
        }
        let module = self.module;
        let (args, yields) = (of.carried(), of.yielded());
        let buffers = self.buffers_of_loop(of);
        self.fill(of.inits(), &buffers)?;
        self.begin_tiles(of)?;
        let blocks = args.iter().zip(yields).filter(|(value, _)| ttir::types::is_tensor(module.ty(**value)));
        let carried: Vec<Carried> = blocks
            .zip(&buffers)
            .map(|((&value, &yielded), buffer)| Carried { value, yielded, buffer: buffer.clone() })
            .collect();
        self.for_loop(of, &mut |cx, block| {
            cx.place_in(args, &buffers);
            cx.loop_block(block, &carried)?;
            cx.fill(yields, &buffers)
        })?;
        self.place_in(module.results(of.op), &buffers);
        Ok(())
    }

    /// Buffers for the blocks that a loop carries.
    fn buffers_of_loop(&mut self, of: ForOp<'_>) -> Vec<Buffer> {
        let module = self.module;
        let blocks = of.carried().iter().enumerate().filter(|&(_, &value)| self.is_block(value));
        let dims: Vec<_> = blocks
            .map(|(index, &value)| (module.ty(value), carried_columns::along(module, of, index)))
            .collect();
        let taken = dims.into_iter().map(|(ty, dim)| match dim {
            Some(dim) => self.arena.along(ty, dim),
            None => self.arena.of(ty),
        });
        taken.collect()
    }

    /// `scf.if`: the blocks of both branches go to the same buffers.
    fn if_op(&mut self, of: IfOp<'_>) -> Result<()> {
        let buffers = self.buffers_for(of.results());
        self.branches(of, &mut |cx, block| {
            cx.block(block)?;
            cx.fill(control::yielded(cx.module, block), &buffers)
        })?;
        self.place_in(of.results(), &buffers);
        Ok(())
    }

    /// `scf.while`.
    fn while_op(&mut self, of: WhileOp<'_>) -> Result<()> {
        let module = self.module;
        let (before, after) = (of.before(), of.after());
        let (args, passed) = (module.args(before), module.args(after));
        let (own, out) = (self.buffers_for(args), self.buffers_for(passed));
        self.fill(of.inits(), &own)?;
        self.while_loop(of, &mut |cx, block| {
            if block == before {
                cx.place_in(args, &own);
                cx.block(block)?;
                return cx.fill(of.condition().args(), &out);
            }
            cx.place_in(passed, &out);
            cx.block(block)?;
            cx.fill(of.yielded(), &own)
        })?;
        self.place_in(of.results(), &out);
        Ok(())
    }
}
