//! Stores of scalars, and what a walk does with the values of its chunks: stores, blocks that are kept.

use super::chunk::Chunks;
use super::emitter::Emitter;
use super::error::Result;
use super::scratch::Buffer;
use super::types;
use super::value::At;
use ir::{Op, Value as IrValue};
use ttir::ops::memory::StoreOp;

impl Emitter<'_> {
    /// `tt.store` of a scalar.
    pub(crate) fn scalar_store(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        let store = StoreOp::new(module, op);
        let (address, value) = (self.scalar(store.ptr())?, self.scalar(store.value())?);
        let elem = module.ty(store.value());
        let condition = match store.mask() {
            Some(mask) => self.scalar(mask)?,
            None => self.b.bool(true),
        };
        let branch = self.b.begin_if(condition);
        let value = self.in_memory(value, elem);
        self.b.store(value, address, types::memory(elem).lane_bytes());
        self.b.end_if(branch, &[]);
        Ok(())
    }
}

impl Chunks<'_, '_> {
    /// `tt.store` of a block.
    pub(crate) fn store(&mut self, op: Op, at: &At) -> Result<()> {
        let module = self.module;
        let store = StoreOp::new(module, op);
        let condition = store.mask().map(|mask| self.eval(mask, at)).transpose()?;
        let mask = self.mask(store.mask().zip(condition.as_ref()));
        if self.is_never(&mask) {
            return Ok(());
        }
        let pointer = self.eval(store.ptr(), at)?;
        let target = self.target(store.ptr(), &pointer);
        self.note(op, &target, &mask);
        let stored = self.eval_vector(store.value(), at)?;
        self.store_to(ttir::types::elem(module.ty(store.value())), &target, &mask, stored);
        Ok(())
    }

    /// Writes a chunk of a block to a buffer.
    pub(crate) fn keep(&mut self, value: IrValue, buffer: &Buffer, at: &At) -> Result<()> {
        let vector = self.eval_vector(value, at)?;
        self.write(buffer, vector, at);
        Ok(())
    }

    /// The same, of a block of narrow numbers as binary32 or `i32`.
    pub(crate) fn keep_wide(&mut self, value: IrValue, buffer: &Buffer, at: &At) -> Result<()> {
        let vector = self.eval_as(value, buffer.elem, at)?;
        self.write(buffer, vector, at);
        Ok(())
    }
}
