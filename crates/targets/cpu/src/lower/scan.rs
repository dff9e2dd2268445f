//! Scans: all partial results along an axis.
//!
//! Lanes run along another dimension where there is one, so that each carries its own scan. A block of one dimension is
//! walked in chunks: within a chunk, lanes are combined with those 1, 2, 4, … before them; what comes before the chunk is
//! combined with all of them. The loop carries that alone, which takes one combination a chunk. Combining functions
//! with control flow are walked element by element.

use super::combine;
use super::cx::Cx;
use super::error::Result;
use super::nest::Nest;
use super::scratch::Buffer;
use super::types;
use super::value::{At, Linear, Val};
use ir::Op;
use llir::{IntCompare, Type, Value};
use ttir::ops::reduce::ScanOp;

impl Cx<'_> {
    /// `tt.scan`.
    pub(crate) fn scan(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let scan = ScanOp::new(module, op);
        let (shape, axis) = (types::shape(module.ty(scan.srcs()[0])).to_vec(), scan.axis());
        let others = (0..shape.len()).filter(|&dim| dim != axis && shape[dim] > 1);
        let vector = others.max_by_key(|&dim| (shape[dim], dim));
        let is_flat = vector.is_none() && combine::has_plain_region(module, op);
        let most = if vector.is_some() || is_flat { self.machine.lanes() } else { 1 };
        let nest = Nest::new(&shape, vector.unwrap_or(axis), Some(axis), most);
        let buffers: Vec<Buffer> =
            module.results(op).iter().map(|&result| self.new_buffer(module.ty(result))).collect();
        let lanes = std::mem::replace(&mut self.lanes, nest.lanes);
        let result = self.scan_nest(op, &nest, axis, &buffers);
        self.lanes = lanes;
        result?;
        for (&result, buffer) in module.results(op).iter().zip(buffers) {
            self.buffers.insert(result, buffer);
        }
        Ok(())
    }

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

    fn scan_nest(&mut self, op: Op, nest: &Nest, axis: usize, buffers: &[Buffer]) -> Result<()> {
        let module = self.module;
        let reverse = ScanOp::new(module, op).reverse();
        let mut linears = vec![Linear::default(); nest.offsets.len()];
        let mut opened = Vec::new();
        for one in &nest.loops {
            let var = self.new_loop(one.step, one.end);
            let (start, end, step) = (self.b.i64(0), self.b.i64(one.end), self.b.i64(one.step));
            let inits: Vec<Value> = if one.dim == axis { self.scan_start(op) } else { Vec::new() };
            let inner = self.b.begin_for(start, end, step, &inits);
            self.loops[var.0 as usize].counter = Some(inner.iv);
            linears[one.dim] = match one.dim == axis && reverse {
                true => Linear::counter(var).scale(-1).add(&Linear::constant(one.end - one.step)),
                false => Linear::counter(var),
            };
            opened.push(inner);
        }
        self.enter();
        let at = self.position(nest, &linears);
        let inner = opened.last().map(|inner| (inner.iv, inner.carried.to_vec()));
        let (counter, carried) = inner.unwrap_or_else(|| (self.b.i64(0), Vec::new()));
        let is_along_lanes = nest.loops.iter().any(|one| one.dim == axis && one.step > 1);
        let result = match is_along_lanes {
            true => self.scan_chunk(op, &at, counter, &carried).and_then(|(all, next)| {
                for (value, buffer) in all.into_iter().zip(buffers) {
                    self.write(buffer, value, &at)?;
                }
                Ok(next)
            }),
            false => self.scan_step(op, &at, counter, &carried, buffers),
        };
        self.leave();
        let mut yields = result?;
        for inner in opened.into_iter().rev() {
            self.b.end_for(inner, &yields);
            yields.clear();
        }
        Ok(())
    }

    /// What is carried into the first chunk: the neutral element, if there is one.
    pub(crate) fn scan_start(&mut self, op: Op) -> Vec<Value> {
        let module = self.module;
        if let Some(neutral) = self.neutral(op) {
            return vec![self.spread(neutral)];
        }
        module
            .operands(op)
            .iter()
            .map(|&operand| {
                let lane = types::register(ttir::types::elem(module.ty(operand)));
                self.b.zero(self.vector_type(lane))
            })
            .collect()
    }

    fn scan_step(
        &mut self,
        op: Op,
        at: &At,
        counter: Value,
        carried: &[Value],
        buffers: &[Buffer],
    ) -> Result<Vec<Value>> {
        let module = self.module;
        let block = module.entry(module.region(op, 0));
        let next: Vec<Value> = module
            .operands(op)
            .iter()
            .map(|&operand| self.eval_vector(operand, at))
            .collect::<Result<_>>()?;
        let args: Vec<Value> = carried.iter().chain(&next).copied().collect();
        let combined = self.inline_region(block, &args)?;
        let zero = self.b.i64(0);
        let is_start = self.b.icmp(IntCompare::Eq, counter, zero);
        let mut results = Vec::new();
        for ((value, first), buffer) in combined.into_iter().zip(next).zip(buffers) {
            let value = self.spread(value);
            let value = self.b.select(is_start, first, value);
            self.write(buffer, value, at)?;
            results.push(value);
        }
        Ok(results)
    }

    /// A chunk whose lanes run along the axis, and what is carried on: the combination of all chunks so far, in every lane.
    fn scan_chunk(
        &mut self,
        op: Op,
        at: &At,
        counter: Value,
        carried: &[Value],
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let module = self.module;
        let scan = ScanOp::new(module, op);
        let block = module.entry(module.region(op, 0));
        let mut sums: Vec<Value> =
            scan.srcs().iter().map(|&source| self.eval_vector(source, at)).collect::<Result<_>>()?;
        let mut distance = 1;
        while distance < self.lanes {
            sums = self.scan_lanes(op, sums, distance)?;
            distance *= 2;
        }
        let last = if scan.reverse() { 0 } else { self.lanes - 1 };
        let totals: Vec<Value> = sums
            .iter()
            .map(|&sum| {
                if self.lanes == 1 {
                    sum
                } else {
                    self.b.permute(sum, &vec![last as i32; self.lanes as usize])
                }
            })
            .collect();
        let all = self.combined(block, carried, &sums)?;
        let all = self.unless_first(op, counter, all, &sums);
        let next = self.combined(block, carried, &totals)?;
        Ok((all, self.unless_first(op, counter, next, &totals)))
    }

    /// What was combined with what is carried, or, at the first position, what there is without it.
    fn unless_first(&mut self, op: Op, counter: Value, combined: Vec<Value>, first: &[Value]) -> Vec<Value> {
        if combine::neutral(self.module, op).is_some() {
            return combined;
        }
        let zero = self.b.i64(0);
        let is_start = self.b.icmp(IntCompare::Eq, counter, zero);
        combined.into_iter().zip(first).map(|(value, &first)| self.b.select(is_start, first, value)).collect()
    }

    /// Combines each lane with the one so far before it: where there is none with the neutral element, or not at all.
    fn scan_lanes(&mut self, op: Op, sums: Vec<Value>, distance: u32) -> Result<Vec<Value>> {
        let (module, lanes) = (self.module, self.lanes as i32);
        let block = module.entry(module.region(op, 0));
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
        let results = self.inline_region(block, &args)?;
        let spread = |value| if self.b.ty(value).is_vector() { value } else { self.spread(value) };
        Ok(results.into_iter().map(spread).collect())
    }
}
