//! What partial results of reductions and scans start from.

use super::chunk::Chunks;
use super::combine::{self, Neutral};
use super::types;
use ir::{Op, Type as IrType};
use llir::Value;
use ttir::ops::reduce::CombineOp;

impl Chunks<'_, '_> {
    /// The neutral element of a reduction or scan, if it has one.
    pub(crate) fn neutral(&mut self, op: Op) -> Option<Value> {
        let neutral = combine::neutral(self.module, op)?;
        let source = CombineOp::new(self.module, op).srcs()[0];
        Some(self.neutral_value(neutral, ttir::types::elem(self.module.ty(source))))
    }

    fn neutral_value(&mut self, neutral: Neutral, elem: IrType) -> Value {
        let ty = types::register(elem);
        let bits = ty.lane_bits();
        match neutral {
            Neutral::Float(value) => {
                let kind = elem.as_float().expect("a float is neutral among floats");
                self.b.bits(ty, u128::from(ir::scalar::float_bits(kind, value)))
            }
            Neutral::Int(value) => self.b.int(ty, value),
            Neutral::SignedMin => self.b.bits(ty, 1 << (bits - 1)),
            Neutral::SignedMax => self.b.bits(ty, (1 << (bits - 1)) - 1),
        }
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
