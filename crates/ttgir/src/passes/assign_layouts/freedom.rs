//! Which values are cheap enough to be computed anew in every layout in which they are wanted.
//!
//! A value is free when all that leads to it is: constants, ranges, splats of scalars, and pure operations on free values,
//! as long as the work is small. A value that a counted loop carries is free when both its start and what the loop yields
//! are.

use ir::{Block, Module, Op, OpRow, Traits, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::ops::control::FOR;
use ttir::ops::{arith_int, constant, dot, reduce, shape as moves};
use ttir::types::{is_tensor, numel};

/// Operations for each element that are still less than a conversion.
const LIMIT: f64 = 48.0;

/// Pure operations that are never done twice.
static NEVER: &[&OpRow] = &[
    &dot::DOT,
    &dot::DOT_SCALED,
    &moves::GATHER,
    &moves::CAT,
    &moves::JOIN,
    &moves::SPLIT,
    &reduce::HISTOGRAM,
];
/// What only moves or makes elements.
static NO_WORK: &[&OpRow] =
    &[&constant::CONSTANT, &moves::SPLAT, &moves::EXPAND_DIMS, &moves::BROADCAST, &moves::TRANS];
/// What takes a sequence of instructions.
static HEAVY: &[&OpRow] = &[&arith_int::DIVSI, &arith_int::DIVUI, &arith_int::REMSI, &arith_int::REMUI];

fn is_among(row: &OpRow, rows: &[&OpRow]) -> bool {
    rows.iter().any(|own| own.is(row))
}

/// What an operation costs for each element.
pub(crate) fn operations(row: &OpRow) -> f64 {
    if is_among(row, NO_WORK) {
        0.0
    } else if is_among(row, HEAVY) {
        8.0
    } else if row.name.starts_with("math.") {
        4.0
    } else {
        1.0
    }
}

/// The free values of a function, each with the operations that one element takes.
#[derive(Default)]
pub(crate) struct Freedom {
    work: FxHashMap<Value, f64>,
}

impl Freedom {
    /// All free values.
    pub(crate) fn values(&self) -> FxHashSet<Value> {
        self.work.keys().copied().collect()
    }

    /// Whether a value is free.
    pub(crate) fn is_free(&self, value: Value) -> bool {
        self.work.contains_key(&value)
    }

    /// Goes through a block.
    pub(crate) fn visit(&mut self, module: &Module, block: Block) {
        for op in module.ops(block) {
            if module.is(op, &FOR) {
                self.visit_for(module, op);
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
        let work = (pure && module.regions(op).is_empty() && !is_among(row, NEVER))
            .then(|| self.total(module, op, result))
            .flatten();
        for &result in module.results(op) {
            match work {
                Some(work) => _ = self.work.insert(result, work),
                None => _ = self.work.remove(&result),
            }
        }
    }

    /// Work for one element of a result, if all operands are free and it is little.
    fn total(&self, module: &Module, op: Op, result: Value) -> Option<f64> {
        let elements = numel(module.ty(result)) as f64;
        let mut total = operations(module.row(op));
        for &operand in module.operands(op) {
            if is_tensor(module.ty(operand)) {
                total += self.work.get(&operand)? * numel(module.ty(operand)) as f64 / elements;
            }
        }
        (total <= LIMIT).then_some(total)
    }

    /// Takes carried values as free until the loop shows otherwise.
    fn visit_for(&mut self, module: &Module, op: Op) {
        let body = module.entry(module.region(op, 0));
        let (args, inits) = (&module.args(body)[1..], &module.operands(op)[3..]);
        let mut free: Vec<bool> =
            inits.iter().map(|init| is_tensor(module.ty(*init)) && self.is_free(*init)).collect();
        loop {
            for ((&arg, init), free) in args.iter().zip(inits).zip(&free) {
                match self.work.get(init).filter(|_| *free).copied() {
                    Some(work) => _ = self.work.insert(arg, work),
                    None => _ = self.work.remove(&arg),
                }
            }
            self.visit(module, body);
            let yielded = module.last_op(body).map(|last| module.operands(last)).unwrap_or_default();
            let mut changed = false;
            for (free, value) in free.iter_mut().zip(yielded) {
                if *free && !self.is_free(*value) {
                    (*free, changed) = (false, true);
                }
            }
            if !changed {
                break;
            }
        }
        for ((&result, &arg), free) in module.results(op).iter().zip(args).zip(free) {
            if let Some(work) = self.work.get(&arg).copied().filter(|_| free) {
                self.work.insert(result, work);
            }
        }
    }
}
