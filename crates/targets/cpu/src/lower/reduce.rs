//! Reductions: partial results per lane and per unrolled chunk, combined when the loop over the axis ends.
//!
//! Where the combining function has a neutral element, partials start from it. With any other function, each starts
//! from the first element that it meets, by a selection in the loop.
//!
//! A function that may tell the order of its arguments combines neighbours alone: the partials and the next chunk, one
//! behind the other, are pairs of neighbours, and these are the partials then. So are lanes in the end.

use super::chunk::Chunks;
use super::combine;
use super::element::Zeros;
use super::error::{LowerError, Result};
use super::nest::{Accumulators, Run};
use super::plan::Root;
use super::value::{At, Index, Lanes};
use ir::Op;
use llir::{IntCompare, Value};
use ttir::ops::reduce::{self, CombineOp};

impl Chunks<'_, '_> {
    /// Partials in front of the loop: per reduction, per result, per unrolled chunk.
    pub(crate) fn initial(&mut self, run: &Run<'_>, unroll: usize) -> Accumulators {
        let module = self.module;
        let ops: Vec<Op> = run.group.carriers().collect();
        ops.into_iter()
            .map(|op| {
                let chunks = if reduce::is_reduction(module.row(op)) { unroll } else { 1 };
                self.starts(op).into_iter().map(|start| vec![start; chunks]).collect()
            })
            .collect()
    }

    /// Combines chunks into the partials of a reduction, given whether it goes along their lanes.
    pub(crate) fn accumulate(
        &mut self,
        op: Op,
        (chunks, is_along): (&[At], bool),
        partials: &mut [Vec<Value>],
        counter: Option<Value>,
    ) -> Result<()> {
        let module = self.module;
        let block = module.entry_of(op);
        let begins_with_first = CombineOp::new(module, op).neutral().is_none();
        let of_neighbours = is_along && self.lanes > 1 && combine::keeps_order(module, op);
        let extreme = if partials.len() > module.results(op).len() { self.extreme(op) } else { None };
        for (number, at) in chunks.iter().enumerate() {
            let next: Vec<Value> = module
                .operands(op)
                .iter()
                .map(|&operand| self.eval_vector(operand, at))
                .collect::<Result<_>>()?;
            if let Some(extreme) = extreme {
                self.follow(extreme, partials, number, next[0]);
                continue;
            }
            let is_start = match counter {
                Some(counter) if begins_with_first => {
                    let zero = self.b.i64(0);
                    Some(self.b.icmp(IntCompare::Eq, counter, zero))
                }
                None if begins_with_first => Some(self.b.bool(true)),
                _ => None,
            };
            let before: Vec<Value> = partials.iter().map(|partial| partial[number]).collect();
            let combined = match is_start {
                Some(is_start) if of_neighbours => {
                    let pairs: Vec<[Value; 2]> =
                        before.iter().zip(&next).map(|(&old, &new)| self.neighbours([old, new])).collect();
                    let args = [0, 1].map(|which| pairs.iter().map(|pair| pair[which]).collect::<Vec<_>>());
                    let combined = self.combine(block, &args.concat())?;
                    let both = combined.into_iter().zip(&next);
                    both.map(|(value, &next)| {
                        let value = self.spread_like(value, next);
                        self.b.select(is_start, next, value)
                    })
                    .collect()
                }
                Some(is_start) => self.combine_unless(is_start, block, [&before, &next], Zeros::Free)?,
                None => {
                    let args: Vec<Value> = before.iter().chain(&next).copied().collect();
                    let combined = self.combine(block, &args)?;
                    combined
                        .into_iter()
                        .zip(&next)
                        .map(|(value, &next)| self.spread_like(value, next))
                        .collect()
                }
            };
            for (partial, value) in partials.iter_mut().zip(combined) {
                partial[number] = value;
            }
        }
        Ok(())
    }

    pub(crate) fn spread_like(&mut self, value: Value, like: Value) -> Value {
        let lanes = self.b.ty(like).lanes();
        if self.b.ty(like).is_vector() && !self.b.ty(value).is_vector() {
            return self.b.splat(value, lanes);
        }
        value
    }

    /// One partial per result out of those of all chunks.
    pub(crate) fn merge(&mut self, run: &Run<'_>, mut accumulators: Accumulators) -> Result<Accumulators> {
        let ops: Vec<Op> = run.group.carriers().collect();
        for (op, results) in ops.into_iter().zip(&mut accumulators) {
            let block = self.module.entry_of(op);
            while results.first().is_some_and(|partials| partials.len() > 1) {
                let half = results[0].len().div_ceil(2);
                for number in 0..results[0].len() - half {
                    let mut args: Vec<Value> = results.iter().map(|partials| partials[number]).collect();
                    args.extend(results.iter().map(|partials| partials[number + half]));
                    let combined = self.combine(block, &args)?;
                    for (partials, value) in results.iter_mut().zip(combined) {
                        partials[number] = value;
                    }
                }
                for partials in results.iter_mut() {
                    partials.truncate(half);
                }
            }
        }
        Ok(accumulators)
    }

    /// Partials of wide chunks as those of the chunks that run now.
    pub(crate) fn narrow_partials(
        &mut self,
        run: &Run<'_>,
        mut merged: Accumulators,
    ) -> Result<Accumulators> {
        let ops: Vec<Op> = run.group.carriers().collect();
        for (op, results) in ops.into_iter().zip(&mut merged) {
            let values: Vec<Value> = results.iter().map(|partials| partials[0]).collect();
            let values = self.fold_to(op, values, self.lanes)?;
            for (partials, value) in results.iter_mut().zip(values) {
                partials[0] = value;
            }
        }
        Ok(merged)
    }

    /// Writes the results of the reductions of a finished inner loop.
    pub(crate) fn finish_reductions(&mut self, run: &Run<'_>, merged: &Accumulators) -> Result<()> {
        let mut partials = merged.iter();
        for root in &run.group.roots {
            let results = match root {
                Root::Reduce(..) | Root::Scan(_) => partials.next(),
                _ => None,
            };
            let (Root::Reduce(op, buffers), Some(results)) = (root, results) else { continue };
            let values: Vec<Value> = results.iter().map(|partials| partials[0]).collect();
            self.finish_one(run, *op, buffers, values).map_err(|error| error.at(self.module, *op))?;
        }
        Ok(())
    }

    fn finish_one(
        &mut self,
        run: &Run<'_>,
        op: Op,
        buffers: &[super::scratch::Buffer],
        values: Vec<Value>,
    ) -> Result<()> {
        let Some(axis) = run.group.axis else { return Err(LowerError::new("a reduction has no axis")) };
        let is_along_lanes = run.nest.loops[run.nest.vector].dim == axis;
        if is_along_lanes && self.put_off(run, op, buffers, &values)? {
            return Ok(());
        }
        let values = if is_along_lanes { self.fold_lanes(op, values)? } else { values };
        if buffers.is_empty() {
            for (&result, value) in self.module.results(op).iter().zip(values) {
                let value = if is_along_lanes { value } else { self.b.extract(value, 0) };
                self.scalars.insert(result, value);
            }
            return Ok(());
        }
        let dims = (0..run.linears.len())
            .filter(|&dim| dim != axis)
            .map(|dim| {
                let offsets = if is_along_lanes { Lanes::uniform(1) } else { run.nest.offsets[dim].clone() };
                Index::Known(run.linears[dim].clone(), offsets)
            })
            .collect();
        let at = self.at(dims);
        let mut chunks = self.of_lanes(if is_along_lanes { 1 } else { run.nest.lanes });
        for (buffer, value) in buffers.iter().zip(values) {
            chunks.write(buffer, value, &at);
        }
        Ok(())
    }

    /// Combines the lanes of each value into one scalar.
    fn fold_lanes(&mut self, op: Op, values: Vec<Value>) -> Result<Vec<Value>> {
        self.fold_to(op, values, 1)
    }

    /// Combines the lanes of each value until so many are left.
    pub(crate) fn fold_to(&mut self, op: Op, mut values: Vec<Value>, left: u32) -> Result<Vec<Value>> {
        let block = self.module.entry_of(op);
        let keeps_order = combine::keeps_order(self.module, op);
        let mut lanes = self.b.ty(values[0]).lanes();
        while lanes > left {
            lanes /= 2;
            if keeps_order {
                let [even, odd] = [0, 1].map(|first| {
                    values.iter().map(|&value| self.every_second(value, first, lanes)).collect::<Vec<_>>()
                });
                values = self.combine(block, &[even, odd].concat())?;
                continue;
            }
            let low: Vec<Value> = values.iter().map(|&value| self.half(value, 0, lanes)).collect();
            let high: Vec<Value> = values.iter().map(|&value| self.half(value, lanes, lanes)).collect();
            let args: Vec<Value> = low.into_iter().chain(high).collect();
            values = self.combine(block, &args)?;
        }
        Ok(values)
    }

    /// The combining function of a reduction, whose order is open, so that the sign of a zero is free.
    pub(crate) fn combine(&mut self, block: ir::Block, args: &[Value]) -> Result<Vec<Value>> {
        self.inline_region(block, args, Zeros::Free)
    }

    /// The lanes of two vectors, one behind the other, as pairs of neighbours: all first ones, all second ones.
    fn neighbours(&mut self, [before, next]: [Value; 2]) -> [Value; 2] {
        let lanes = self.b.ty(next).lanes() as i32;
        [0, 1].map(|first| {
            let mask: Vec<i32> = (0..lanes).map(|lane| 2 * lane + first).collect();
            self.b.shuffle(before, next, &mask)
        })
    }

    /// Every second lane of a vector, so many from the given one on; one as a scalar.
    fn every_second(&mut self, value: Value, first: u32, lanes: u32) -> Value {
        if lanes == 1 {
            return self.b.extract(value, first);
        }
        let mask: Vec<i32> = (0..lanes).map(|lane| (2 * lane + first) as i32).collect();
        self.b.shuffle(value, value, &mask)
    }

    /// Some lanes of a vector, one as a scalar.
    fn half(&mut self, value: Value, start: u32, lanes: u32) -> Value {
        if lanes == 1 { self.b.extract(value, start) } else { self.b.slice(value, start, lanes) }
    }
}
