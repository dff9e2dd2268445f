//! Regions that are inlined for each element: combining functions, elementwise calls. All of their values are scalars.

use super::element::Zeros;
use super::emitter::Emitter;
use super::error::{LowerError, Result};
use ir::{Block, Op, Traits, Value as IrValue};
use llir::{Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::control::{ForOp, IfOp, WhileOp};
use ttir::ops::{compare, constant, debug, reduce};

impl Emitter<'_> {
    /// The region of a reduction, a scan or an elementwise call on vectors (or scalars): what its terminator returns.
    pub(crate) fn inline_region(&mut self, block: Block, args: &[Value], zeros: Zeros) -> Result<Vec<Value>> {
        let module = self.module;
        if !reduce::is_plain(module, block) {
            return self.branching_region(block, args);
        }
        let mut known: FxHashMap<IrValue, Value> =
            module.args(block).iter().copied().zip(args.iter().copied()).collect();
        let lanes = args.iter().map(|&arg| self.b.ty(arg)).find(|ty| ty.is_vector()).map_or(1, Type::lanes);
        for op in module.ops(block) {
            let row = module.row(op);
            let operand = |cx: &mut Self, value: IrValue| match known.get(&value) {
                Some(&value) => Ok(value),
                None => cx.scalar(value),
            };
            let operands: Vec<Value> = module
                .operands(op)
                .iter()
                .map(|&value| operand(self, value))
                .collect::<Result<_>>()
                .map_err(|error| error.at(module, op))?;
            if row.traits.has(Traits::TERMINATOR) {
                return Ok(operands.into_iter().map(|value| self.widen_to(value, lanes)).collect());
            }
            if row.is(&constant::CONSTANT) {
                known.insert(module.result(op, 0), self.scalar(module.result(op, 0))?);
                continue;
            }
            let mixed = operands.iter().any(|&value| self.b.ty(value).is_vector());
            let first_may_stay = row.is(&compare::SELECT);
            let operands: Vec<Value> = operands
                .into_iter()
                .enumerate()
                .map(|(index, value)| {
                    let stays = !mixed || (index == 0 && first_may_stay);
                    if stays { value } else { self.widen_to(value, lanes) }
                })
                .collect();
            let result = self.apply(op, &operands, zeros).map_err(|error| error.at(module, op))?;
            known.insert(module.result(op, 0), result);
        }
        Err(LowerError::new("a combining function returns nothing"))
    }

    /// The region of a reduction or a scan on what was combined so far and the next values; the next values alone at
    /// the start, where nothing was combined yet: a region with effects does not run then.
    pub(crate) fn combine_unless(
        &mut self,
        is_start: Value,
        block: Block,
        [before, next]: [&[Value]; 2],
        zeros: Zeros,
    ) -> Result<Vec<Value>> {
        let args: Vec<Value> = before.iter().chain(next).copied().collect();
        let plain = reduce::is_plain(self.module, block);
        let mut branch = (!plain).then(|| {
            let combines = self.b.not(is_start);
            self.b.begin_if(combines)
        });
        let combined = self.inline_region(block, &args, zeros)?;
        let combined: Vec<Value> = combined
            .into_iter()
            .zip(next)
            .map(|(value, &like)| {
                let lanes = self.b.ty(like).lanes();
                if self.b.ty(like).is_vector() { self.widen_to(value, lanes) } else { value }
            })
            .collect();
        if let Some(mut branch) = branch.take() {
            self.b.begin_else(&mut branch, &combined);
            return Ok(self.b.end_if(branch, next).to_vec());
        }
        Ok(combined
            .into_iter()
            .zip(next)
            .map(|(value, &next)| self.b.select(is_start, next, value))
            .collect())
    }

    /// A region with control flow or effects, lane by lane.
    fn branching_region(&mut self, block: Block, args: &[Value]) -> Result<Vec<Value>> {
        let module = self.module;
        let last = module.last_op(block).ok_or_else(|| LowerError::new("a region does not end"))?;
        let lanes = args.iter().map(|&arg| self.b.ty(arg)).find(|ty| ty.is_vector()).map_or(1, Type::lanes);
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); module.operands(last).len()];
        for lane in 0..lanes {
            let results = self.in_region(self.here(), |cx| {
                for (&own, &arg) in module.args(block).iter().zip(args) {
                    let scalar = cx.b.extract(arg, lane);
                    cx.scalars.insert(own, scalar);
                }
                cx.scalar_block(block)?;
                module.operands(last).iter().map(|&value| cx.scalar(value)).collect::<Result<Vec<Value>>>()
            })?;
            for (column, result) in columns.iter_mut().zip(results) {
                column.push(result);
            }
        }
        Ok(columns.iter().map(|column| if lanes == 1 { column[0] } else { self.b.vector(column) }).collect())
    }

    /// The operations of a block on scalars, up to its terminator.
    fn scalar_block(&mut self, block: Block) -> Result<()> {
        let module = self.module;
        for op in module.ops(block).filter(|&op| !module.has(op, Traits::TERMINATOR)) {
            self.scalar_step(op).map_err(|error| error.at(module, op))?;
        }
        Ok(())
    }

    fn scalar_step(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let body = &mut |cx: &mut Self, block: Block| cx.scalar_block(block);
        if let Some(of) = ForOp::of(module, op) {
            self.for_loop(of, body)
        } else if let Some(of) = IfOp::of(module, op) {
            self.branches(of, body)
        } else if let Some(of) = WhileOp::of(module, op) {
            self.while_loop(of, body)
        } else if module.is(op, &debug::PRINT) {
            self.print(op, &mut |cx, operand, buffer| cx.store_printed(operand, buffer))
        } else if module.has(op, Traits::MARKER) || self.scalar_op(op)? {
            Ok(())
        } else {
            self.unsupported(op, "there is no lowering for it on scalars yet")
        }
    }

    fn widen_to(&mut self, value: Value, lanes: u32) -> Value {
        if lanes > 1 && !self.b.ty(value).is_vector() { self.b.splat(value, lanes) } else { value }
    }
}
