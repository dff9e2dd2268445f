//! Scans: all partial results along an axis.
//!
//! Lanes run along another dimension where there is one, so that each carries its own scan; a block of one dimension is
//! walked element by element.

use super::cx::Cx;
use super::error::Result;
use super::nest::Nest;
use super::scratch::Buffer;
use super::types;
use super::value::Linear;
use ir::Op;
use llir::{IntCompare, Value};
use ttir::ops::reduce::ScanOp;

impl Cx<'_> {
    /// `tt.scan`.
    pub(crate) fn scan(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let scan = ScanOp::new(module, op);
        let (shape, axis) = (types::shape(module.ty(scan.srcs()[0])).to_vec(), scan.axis());
        let others = (0..shape.len()).filter(|&dim| dim != axis && shape[dim] > 1);
        let vector = others.max_by_key(|&dim| (shape[dim], dim));
        let most = if vector.is_some() { self.machine.lanes() } else { 1 };
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
                true => Linear::counter(var).scale(-1).add(&Linear::constant(one.end - 1)),
                false => Linear::counter(var),
            };
            opened.push(inner);
        }
        self.enter();
        let at = self.position(nest, &linears);
        let inner = opened.last().map(|inner| (inner.iv, inner.carried.to_vec()));
        let (counter, carried) = inner.unwrap_or_else(|| (self.b.i64(0), Vec::new()));
        let result = self.scan_step(op, &at, counter, &carried, buffers);
        self.leave();
        let mut yields = result?;
        for inner in opened.into_iter().rev() {
            self.b.end_for(inner, &yields);
            yields.clear();
        }
        Ok(())
    }

    fn scan_start(&mut self, op: Op) -> Vec<Value> {
        let module = self.module;
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
        at: &super::value::At,
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
}
