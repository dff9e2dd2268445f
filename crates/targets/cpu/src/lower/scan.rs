//! Scans of chunks: all partial results along an axis.
//!
//! Within a chunk whose lanes run along the axis, lanes are combined with those 1, 2, 4, … before them; what comes
//! before the chunk is combined with all of them. The loop carries that alone, which takes one combination a chunk.

use super::chunk::Chunks;
use super::element::Zeros;
use super::error::Result;
use super::scratch::Buffer;
use super::value::{At, Val};
use ir::Op;
use llir::{IntCompare, Type, Value};
use ttir::ops::reduce::{CombineOp, ScanOp};

impl Chunks<'_, '_> {
    /// Scans chunks, one behind the other: their results are known from here on. What is carried is in every lane.
    pub(crate) fn scan_chunks(
        &mut self,
        op: Op,
        chunks: &[At],
        partials: &mut [Vec<Value>],
        counter: Option<Value>,
    ) -> Result<()> {
        let module = self.module;
        for (number, at) in chunks.iter().enumerate() {
            let counter = if number > 0 { self.b.i64(1) } else { counter.unwrap_or_else(|| self.b.i64(0)) };
            let carried: Vec<Value> = partials.iter().map(|partial| partial[0]).collect();
            let (all, next) = self.scan_chunk(op, at, counter, &carried)?;
            for (&result, value) in module.results(op).iter().zip(all) {
                self.remember(result, at, Val::Vector(value));
            }
            for (partial, value) in partials.iter_mut().zip(next) {
                partial[0] = value;
            }
        }
        Ok(())
    }

    pub(crate) fn scan_step(
        &mut self,
        op: Op,
        at: &At,
        counter: Value,
        carried: &[Value],
        buffers: &[Buffer],
    ) -> Result<Vec<Value>> {
        let module = self.module;
        let block = module.entry_of(op);
        let next: Vec<Value> = module
            .operands(op)
            .iter()
            .map(|&operand| self.eval_vector(operand, at))
            .collect::<Result<_>>()?;
        let zero = self.b.i64(0);
        let is_start = self.b.icmp(IntCompare::Eq, counter, zero);
        let results = self.combine_unless(is_start, block, [carried, &next], Zeros::Signed)?;
        for (&value, buffer) in results.iter().zip(buffers) {
            self.write(buffer, value, at);
        }
        Ok(results)
    }

    /// A chunk whose lanes run along the axis, and what is carried on: the combination of all chunks so far, in every
    /// lane.
    pub(crate) fn scan_chunk(
        &mut self,
        op: Op,
        at: &At,
        counter: Value,
        carried: &[Value],
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let module = self.module;
        let scan = ScanOp::new(module, op);
        let block = module.entry_of(op);
        let mut sums: Vec<Value> =
            scan.srcs().iter().map(|&source| self.eval_vector(source, at)).collect::<Result<_>>()?;
        let mut distance = 1;
        while distance < self.lanes {
            sums = self.scan_lanes(op, sums, distance)?;
            distance *= 2;
        }
        let last = if scan.reverse() { 0 } else { self.lanes - 1 };
        let last = vec![last as i32; self.lanes as usize];
        let totals: Vec<Value> =
            sums.iter().map(|&sum| if last.len() == 1 { sum } else { self.b.permute(sum, &last) }).collect();
        let all = self.combined(block, carried, &sums)?;
        let all = self.unless_first(op, counter, all, &sums);
        let next = self.combined(block, carried, &totals)?;
        Ok((all, self.unless_first(op, counter, next, &totals)))
    }

    /// What was combined with what is carried, or, at the first position, what there is without it.
    fn unless_first(&mut self, op: Op, counter: Value, combined: Vec<Value>, first: &[Value]) -> Vec<Value> {
        if CombineOp::new(self.module, op).neutral().is_some() {
            return combined;
        }
        let zero = self.b.i64(0);
        let is_start = self.b.icmp(IntCompare::Eq, counter, zero);
        combined.into_iter().zip(first).map(|(value, &first)| self.b.select(is_start, first, value)).collect()
    }

    /// Combines each lane with the one so far before it: where there is none with the neutral element, or not at all.
    fn scan_lanes(&mut self, op: Op, sums: Vec<Value>, distance: u32) -> Result<Vec<Value>> {
        let (module, lanes) = (self.module, self.lanes as i32);
        let block = module.entry_of(op);
        let by = if ScanOp::new(module, op).reverse() { distance as i32 } else { -(distance as i32) };
        let is_inside = |lane: &i32| (0..lanes).contains(&(lane + by));
        if let Some(neutral) = self.neutral(op) {
            let neutral = self.spread(neutral);
            let from: Vec<i32> =
                (0..lanes).map(|lane| lane + if is_inside(&lane) { by } else { lanes }).collect();
            let before: Vec<Value> = sums.iter().map(|&sum| self.b.shuffle(sum, neutral, &from)).collect();
            return self.combined(block, &before, &sums);
        }
        let from: Vec<i32> = (0..lanes).map(|lane| lane + if is_inside(&lane) { by } else { 0 }).collect();
        let marks: Vec<i64> = (0..lanes).map(|lane| i64::from(is_inside(&lane))).collect();
        let before: Vec<Value> = sums.iter().map(|&sum| self.b.permute(sum, &from)).collect();
        let combined = self.combined(block, &before, &sums)?;
        let inside = self.table(Type::I1, &marks);
        Ok(combined.into_iter().zip(sums).map(|(new, old)| self.b.select(inside, new, old)).collect())
    }

    /// The combining function on vectors.
    fn combined(&mut self, block: ir::Block, first: &[Value], second: &[Value]) -> Result<Vec<Value>> {
        let args: Vec<Value> = first.iter().chain(second).copied().collect();
        let results = self.inline_region(block, &args, Zeros::Signed)?;
        let spread = |value| if self.b.ty(value).is_vector() { value } else { self.spread(value) };
        Ok(results.into_iter().map(spread).collect())
    }
}
