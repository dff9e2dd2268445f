//! Values that are cheaper to compute again than to keep: index arithmetic on ranges, constants and scalars.

use ir::{Def, Module, Traits, Value};
use rustc_hash::FxHashMap;

/// The most operations that a virtual value may stand for.
const LIMIT: u32 = 24;

/// What a division counts for.
const DIVISION: u32 = 6;

/// Which values are virtual, found out when asked.
#[derive(Debug, Default)]
pub(crate) struct Virtuals {
    costs: FxHashMap<Value, Option<u32>>,
}

impl Virtuals {
    /// The number of operations behind a virtual value; `None` if it is none. Scalars cost nothing.
    pub(crate) fn cost(&mut self, module: &Module, value: Value) -> Option<u32> {
        if !ttir::types::is_tensor(module.ty(value)) {
            return Some(0);
        }
        if let Some(&known) = self.costs.get(&value) {
            return known;
        }
        let cost = self.find(module, value);
        self.costs.insert(value, cost);
        cost
    }

    fn find(&mut self, module: &Module, value: Value) -> Option<u32> {
        let Def::Result(op, _) = module.def(value) else { return None };
        let row = module.row(op);
        if row.traits.has(Traits::SOURCE) {
            return Some(1);
        }
        let is_float = ttir::types::elem(module.ty(value)).as_float().is_some();
        let computes = row.traits.has(Traits::ELEMENTWISE) && !is_float;
        if !computes && !row.traits.has(Traits::VIEW) {
            return None;
        }
        let mut cost = if row.traits.has(Traits::NO_SPECULATION) { DIVISION } else { 1 };
        for &operand in module.operands(op) {
            cost += self.cost(module, operand)?;
        }
        (cost <= LIMIT).then_some(cost)
    }
}
