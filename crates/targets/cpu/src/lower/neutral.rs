//! What partial results of reductions and scans start from.

use super::chunk::Chunks;
use super::types;
use ir::Op;
use llir::Value;
use ttir::ops::reduce::CombineOp;

impl Chunks<'_, '_> {
    /// The neutral element of a reduction or scan, if it has one.
    pub(crate) fn neutral(&mut self, op: Op) -> Option<Value> {
        let combine = CombineOp::new(self.module, op);
        let ty = types::register(ttir::types::elem(self.module.ty(combine.srcs()[0])));
        Some(self.b.bits(ty, u128::from(combine.neutral()?)))
    }

    /// What the partial results of each operand start from: the neutral element, or zero where there is none.
    pub(crate) fn starts(&mut self, op: Op) -> Vec<Value> {
        let module = self.module;
        let neutral = self.neutral(op);
        let start = |&operand: &ir::Value| {
            let ty = types::register(ttir::types::elem(module.ty(operand)));
            let start = neutral.unwrap_or_else(|| self.b.zero(ty));
            self.spread(start)
        };
        module.operands(op).iter().map(start).collect()
    }
}
