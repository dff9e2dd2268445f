//! Which values are cheap enough to be computed anew in every layout in which they are wanted.
//!
//! A value is cheap when all that leads to it is: constants, ranges, splats of scalars, and pure operations on cheap
//! values, as long as the work is small. A value that a counted loop carries is cheap when both its start and what the
//! loop yields are.

use ir::{Block, CostClass, Module, Op, Traits, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::ops::control::ForOp;
use ttir::types::{is_tensor, numel};

/// Operations for each element that are still less than a conversion.
const LIMIT: f64 = 48.0;

/// The cheap values of a function, each with the operations that one element takes.
#[derive(Default)]
pub(crate) struct Rematerializable {
    work: FxHashMap<Value, f64>,
}

impl Rematerializable {
    /// All cheap values.
    pub(crate) fn values(&self) -> FxHashSet<Value> {
        self.work.keys().copied().collect()
    }

    /// Whether a value is cheap.
    pub(crate) fn contains(&self, value: Value) -> bool {
        self.work.contains_key(&value)
    }

    /// Goes through a block.
    pub(crate) fn visit(&mut self, module: &Module, block: Block) {
        for op in module.ops(block) {
            if let Some(op) = ForOp::of(module, op) {
                self.visit_for(op);
                continue;
            }
            for &region in module.regions(op) {
                for &inner in module.blocks(region) {
                    self.visit(module, inner);
                }
            }
            self.visit_op(module, op);
        }
    }

    fn visit_op(&mut self, module: &Module, op: Op) {
        let Some(&result) = module.results(op).first().filter(|&&result| is_tensor(module.ty(result))) else {
            return;
        };
        let row = module.row(op);
        let pure = row.traits.has(Traits::PURE) && !row.traits.has(Traits::TERMINATOR);
        let work = (pure && module.regions(op).is_empty() && row.cost != CostClass::Once)
            .then(|| self.total(module, op, result))
            .flatten();
        for &result in module.results(op) {
            match work {
                Some(work) => _ = self.work.insert(result, work),
                None => _ = self.work.remove(&result),
            }
        }
    }

    /// Work for one element of a result, if all operands are cheap and it is little.
    fn total(&self, module: &Module, op: Op, result: Value) -> Option<f64> {
        let elements = numel(module.ty(result)) as f64;
        let mut total = module.row(op).cost.instructions();
        for &operand in module.operands(op) {
            if is_tensor(module.ty(operand)) {
                total += self.work.get(&operand)? * numel(module.ty(operand)) as f64 / elements;
            }
        }
        (total <= LIMIT).then_some(total)
    }

    /// Takes carried values as cheap until the loop shows otherwise.
    fn visit_for(&mut self, op: ForOp<'_>) {
        let (module, args, inits) = (op.module, op.carried(), op.inits());
        let mut cheap: Vec<bool> =
            inits.iter().map(|init| is_tensor(module.ty(*init)) && self.contains(*init)).collect();
        loop {
            for ((&arg, init), cheap) in args.iter().zip(inits).zip(&cheap) {
                match self.work.get(init).filter(|_| *cheap).copied() {
                    Some(work) => _ = self.work.insert(arg, work),
                    None => _ = self.work.remove(&arg),
                }
            }
            self.visit(module, op.body());
            let mut changed = false;
            for (cheap, value) in cheap.iter_mut().zip(op.yielded()) {
                if *cheap && !self.contains(*value) {
                    (*cheap, changed) = (false, true);
                }
            }
            if !changed {
                break;
            }
        }
        for ((&result, &arg), cheap) in op.results().iter().zip(args).zip(cheap) {
            if let Some(work) = self.work.get(&arg).copied().filter(|_| cheap) {
                self.work.insert(result, work);
            }
        }
    }
}
