//! Operations on whole blocks that are neither elementwise nor moves: joining, concatenating, picking, counting.

use super::element::Zeros;
use super::emitter::Emitter;
use super::error::Result;
use super::scratch::Buffer;
use super::types;
use super::value::Index;
use ir::Op;
use llir::{IntCompare, Type};
use ttir::ops::reduce::{HistogramOp, MapElementwiseOp};
use ttir::ops::shape::GatherOp;

impl Emitter<'_> {
    /// Part of a buffer: from an element on, with the strides of some dimensions.
    fn part(&self, buffer: &Buffer, element: i64, strides: &[i64]) -> Buffer {
        let bytes = u64::from(types::memory(buffer.elem).lane_bytes());
        Buffer {
            offset: buffer.offset + element as u64 * bytes,
            strides: strides.to_vec(),
            elem: buffer.elem,
            by: None,
            panels: None,
        }
    }

    /// `tt.cat`.
    pub(crate) fn cat(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let buffer = self.arena.of(module.ty(module.result(op, 0)));
        let mut rows = 0;
        for &operand in module.operands(op) {
            let part = self.part(&buffer, rows * buffer.strides[0], &buffer.strides);
            self.copy_block(operand, &part)?;
            rows += types::shape(module.ty(operand))[0];
        }
        self.buffers.insert(module.result(op, 0), buffer);
        Ok(())
    }

    /// `tt.join`.
    pub(crate) fn join(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let buffer = self.arena.of(module.ty(module.result(op, 0)));
        let last = buffer.strides.len() - 1;
        for (number, &operand) in module.operands(op).iter().enumerate() {
            let part = self.part(&buffer, number as i64, &buffer.strides[..last]);
            self.copy_block(operand, &part)?;
        }
        self.buffers.insert(module.result(op, 0), buffer);
        Ok(())
    }

    /// `tt.gather`. An index out of range is undefined; here it is cut to the size, which is a power of two.
    pub(crate) fn gather_block(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let gather = GatherOp::new(module, op);
        let (source, indices, axis) = (gather.src(), gather.indices(), gather.axis());
        let size = types::shape(module.ty(source))[axis];
        let buffer = self.arena.of(module.ty(module.result(op, 0)));
        let shape = types::shape(module.ty(indices)).to_vec();
        let lanes = self.machine.lanes();
        self.each_chunk(&shape, lanes, |cx, at| {
            let index = cx.eval_vector(indices, at)?;
            let wide = cx.b.ty(index).with_scalar(Type::I64);
            let index = cx.b.resize_signed(index, wide);
            let mask = cx.b.int(wide, size - 1);
            let index = cx.b.and(index, mask);
            let mut dims = at.dims.to_vec();
            dims[axis] = Index::Vector(index);
            let from = cx.at(dims);
            let picked = cx.eval_vector(source, &from)?;
            cx.write(&buffer, picked, at);
            Ok(())
        })?;
        self.buffers.insert(module.result(op, 0), buffer);
        Ok(())
    }

    /// `tt.histogram`.
    pub(crate) fn histogram(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let histogram = HistogramOp::new(module, op);
        let (source, mask, result) = (histogram.src(), histogram.mask(), histogram.result());
        let buffer = self.arena.of(module.ty(result));
        let lane = types::memory(buffer.elem);
        let bins = types::shape(module.ty(result))[0];
        let base = self.address(&buffer);
        let (zero, bytes) = (self.b.int(Type::I8, 0), self.b.i64(bins * i64::from(lane.lane_bytes())));
        self.b.memset(base, zero, bytes);
        let shape = types::shape(module.ty(source)).to_vec();
        self.each_chunk(&shape, 1, |cx, at| {
            let number = cx.eval_vector(source, at)?;
            let wide = cx.b.resize_signed(number, Type::I64);
            let limit = cx.b.i64(bins);
            let mut counts = cx.b.icmp(IntCompare::Ult, wide, limit);
            if let Some(mask) = mask {
                let active = cx.eval_vector(mask, at)?;
                counts = cx.b.and(counts, active);
            }
            let branch = cx.b.begin_if(counts);
            let place = cx.b.gep(lane, base, wide);
            let before = cx.b.load(lane, place, lane.lane_bytes());
            let one = cx.b.int(lane, 1);
            let after = cx.b.add(before, one);
            cx.b.store(after, place, lane.lane_bytes());
            cx.b.end_if(branch, &[]);
            Ok(())
        })?;
        self.buffers.insert(result, buffer);
        Ok(())
    }

    /// `tt.map_elementwise` on several neighbours at once.
    pub(crate) fn map_packed(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let map = MapElementwiseOp::new(module, op);
        let pack = map.pack() as u32;
        let buffers: Vec<Buffer> =
            module.results(op).iter().map(|&result| self.arena.of(module.ty(result))).collect();
        let shape = types::shape(module.ty(map.srcs()[0])).to_vec();
        let block = module.entry_of(op);
        self.each_chunk(&shape, pack, |cx, at| {
            if cx.lanes != pack {
                return cx.unsupported(op, "`pack` is larger than the block");
            }
            let mut args = Vec::new();
            for &operand in module.operands(op) {
                let vector = cx.eval_vector(operand, at)?;
                args.extend((0..pack).map(|lane| cx.b.extract(vector, lane)));
            }
            let results = cx.inline_region(block, &args, Zeros::Signed)?;
            for (parts, buffer) in results.chunks(pack as usize).zip(&buffers) {
                let vector = cx.b.vector(parts);
                cx.write(buffer, vector, at);
            }
            Ok(())
        })?;
        self.place_results(op, &buffers);
        Ok(())
    }
}
