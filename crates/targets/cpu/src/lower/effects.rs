//! Atomics and assertions on the elements of a chunk, lane by lane, in order.

use super::chunk::Chunks;
use super::error::Result;
use super::value::{At, Val};
use ir::{Op, Value as IrValue};
use llir::Value;
use ttir::ops::debug::AssertOp;
use ttir::ops::memory;

impl Chunks<'_, '_> {
    /// An operation with effects on the elements of a chunk.
    pub(crate) fn effect(&mut self, op: Op, at: &At) -> Result<()> {
        let module = self.module;
        if let Some(assert) = AssertOp::of(module, op) {
            let holds = self.eval_vector(assert.condition(), at)?;
            return self.assert(assert, holds);
        }
        if self.add_to_neighbours(op, at)? {
            return Ok(());
        }
        let mask = memory::mask(module, op);
        let data: Vec<IrValue> =
            module.operands(op).iter().copied().filter(|&value| Some(value) != mask).collect();
        let vectors: Vec<Value> =
            data.iter().map(|&value| self.eval_vector(value, at)).collect::<Result<_>>()?;
        let mask = match mask {
            Some(mask) => self.eval_vector(mask, at)?,
            None => self.all(),
        };
        let mut lanes = Vec::new();
        for lane in 0..self.lanes {
            let scalars: Vec<Value> = vectors.iter().map(|&vector| self.b.extract(vector, lane)).collect();
            let active = self.b.extract(mask, lane);
            lanes.extend(self.atomic_if(op, active, &scalars)?);
        }
        if let Some(&result) = module.results(op).first() {
            let vector = if lanes.len() == 1 { lanes[0] } else { self.b.vector(&lanes) };
            self.remember(result, at, Val::Vector(vector));
        }
        Ok(())
    }
}
