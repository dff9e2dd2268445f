//! Operations on scalars, which run once, in order.

use super::element::Zeros;
use super::emitter::Emitter;
use super::error::{LowerError, Result};
use super::plan::kinds::is_elementwise_effect;
use super::types;
use ir::{Op, Value as IrValue};
use llir::Value;
use ttir::ops::access::AccessOp;
use ttir::ops::program::ProgramIdOp;
use ttir::ops::{constant, extern_call, program};

impl Emitter<'_> {
    /// The scalar that stands for a value.
    pub(crate) fn scalar(&mut self, value: IrValue) -> Result<Value> {
        if let Some(&known) = self.scalars.get(&value) {
            return Ok(known);
        }
        // Constants are made where they are needed, so that regions may share them.
        if let Some(bits) = self.module.constant(value).and_then(constant::splat_bits) {
            let ty = types::register(self.module.ty(value));
            return Ok(self.b.bits(ty, u128::from(bits)));
        }
        let op = self.module.def_op(value).map_or("an argument", |op| self.module.row(op).name);
        Err(LowerError::new(format!("the scalar that `{op}` gives is used where it is not available")))
    }

    /// An operation on scalars with at most one result; `false` if it is none of those.
    pub(crate) fn scalar_op(&mut self, op: Op) -> Result<bool> {
        let (module, row) = (self.module, self.module.row(op));
        if AccessOp::store(module, op).is_some() {
            return self.scalar_store(op).map(|()| true);
        }
        if is_elementwise_effect(module, op) {
            return self.scalar_effect(op).map(|()| true);
        }
        let value = if row.is(&constant::CONSTANT) {
            self.scalar(module.result(op, 0))?
        } else if row.is(&constant::POISON) {
            self.b.zero(types::register(module.ty(module.result(op, 0))))
        } else if row.is(&program::GET_PROGRAM_ID) {
            self.frame.position[axis(module, op)]
        } else if row.is(&program::GET_NUM_PROGRAMS) {
            self.frame.grid[axis(module, op)]
        } else if AccessOp::load(module, op).is_some() {
            self.scalar_load(op)?
        } else if row.is(&extern_call::EXTERN_ELEMENTWISE) || elementwise::find(row).is_some() {
            let operands: Vec<Value> =
                module.operands(op).iter().map(|&operand| self.scalar(operand)).collect::<Result<_>>()?;
            self.apply(op, &operands, Zeros::Signed)?
        } else {
            return Ok(false);
        };
        self.scalars.insert(module.result(op, 0), value);
        Ok(true)
    }

    fn scalar_load(&mut self, op: Op) -> Result<Value> {
        let module = self.module;
        let load = AccessOp::new(module, op);
        let elem = module.ty(module.result(op, 0));
        let address = self.scalar(load.ptr())?;
        let Some(mask) = load.mask() else {
            let lane = types::memory(elem);
            let flags = if load.volatile() { llir::Flags::VOLATILE } else { llir::Flags::NONE };
            let loaded = self.b.load_with(lane, address, llir::Memory::aligned(lane.lane_bytes()), flags);
            return Ok(self.in_register(loaded, elem));
        };
        let condition = self.scalar(mask)?;
        let other = match load.other() {
            Some(other) => self.scalar(other)?,
            None => self.b.zero(types::register(elem)),
        };
        Ok(self.load_if(elem, address, condition, other))
    }

    /// A scalar from memory where a condition holds, else `other`.
    pub(crate) fn load_if(
        &mut self,
        elem: ir::Type,
        address: Value,
        condition: Value,
        other: Value,
    ) -> Value {
        let lane = types::memory(elem);
        let mut branch = self.b.begin_if(condition);
        let loaded = self.b.load(lane, address, lane.lane_bytes());
        let loaded = self.in_register(loaded, elem);
        self.b.begin_else(&mut branch, &[loaded]);
        self.b.end_if(branch, &[other])[0]
    }
}

fn axis(module: &ir::Module, op: Op) -> usize {
    ProgramIdOp::new(module, op).axis() as usize
}
