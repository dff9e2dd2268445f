//! Scans as steps of their own.
//!
//! Lanes run along another dimension where there is one, so that each carries its own scan. A block of one dimension is
//! walked in chunks. Combining functions with control flow are walked element by element.

use super::chunk::{Assumed, Chunks, Memo};
use super::combine;
use super::emitter::Emitter;
use super::error::Result;
use super::nest::Nest;
use super::scratch::Buffer;
use super::types;
use super::value::Linear;
use ir::Op;
use llir::Value;
use ttir::ops::reduce::ScanOp;

impl Emitter<'_> {
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
            module.results(op).iter().map(|&result| self.arena.of(module.ty(result))).collect();
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        Chunks::new(self, &mut memo, &assumed, nest.lanes).scan_nest(op, &nest, axis, &buffers)?;
        self.place_results(op, &buffers);
        Ok(())
    }
}

impl Chunks<'_, '_> {
    fn scan_nest(&mut self, op: Op, nest: &Nest, axis: usize, buffers: &[Buffer]) -> Result<()> {
        let reverse = ScanOp::new(self.module, op).reverse();
        let mut linears = vec![Linear::default(); nest.offsets.len()];
        let mut opened = Vec::new();
        for one in &nest.loops {
            let (start, end, step) = (self.b.i64(0), self.b.i64(one.end), self.b.i64(one.step));
            let inits: Vec<Value> = if one.dim == axis { self.starts(op) } else { Vec::new() };
            let inner = self.b.begin_for(start, end, step, &inits);
            let position = Linear::counter(self.counted_loop(one.step, one.end, inner.iv));
            linears[one.dim] = match one.dim == axis && reverse {
                true => position.scale(-1).add(&Linear::constant(one.end - one.step)),
                false => position,
            };
            opened.push(inner);
        }
        let inner = opened.last().map(|inner| (inner.iv, inner.carried.to_vec()));
        let (counter, carried) = inner.unwrap_or_else(|| (self.b.i64(0), Vec::new()));
        let is_along_lanes = nest.loops.iter().any(|one| one.dim == axis && one.step > 1);
        let mut yields = self.scoped(|chunks| {
            let at = chunks.position(nest, &linears);
            if !is_along_lanes {
                return chunks.scan_step(op, &at, counter, &carried, buffers);
            }
            let (all, next) = chunks.scan_chunk(op, &at, counter, &carried)?;
            for (value, buffer) in all.into_iter().zip(buffers) {
                chunks.write(buffer, value, &at);
            }
            Ok(next)
        })?;
        for inner in opened.into_iter().rev() {
            self.b.end_for(inner, &yields);
            yields.clear();
        }
        Ok(())
    }
}
