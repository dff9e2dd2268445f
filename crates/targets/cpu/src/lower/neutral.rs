//! What partial results of reductions and scans start from.

use super::chunk::Chunks;
use super::combine;
use super::types;
use ir::Op;
use llir::Value;
use ttir::ops::reduce::CombineOp;

impl Chunks<'_, '_> {
    /// The neutral element of a reduction or scan, if it has one.
    pub(crate) fn neutral(&mut self, op: Op) -> Option<Value> {
        let neutral = combine::neutral(self.module, op)?;
        let source = CombineOp::new(self.module, op).srcs()[0];
        let ty = types::register(ttir::types::elem(self.module.ty(source)));
        Some(self.b.bits(ty, u128::from(neutral)))
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
                let ty = self.vector_type(lane);
                self.b.zero(ty)
            })
            .collect()
    }
}
