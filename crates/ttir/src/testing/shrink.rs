//! Makes a program that fails smaller, as long as it goes on failing.
//!
//! Stores are dropped, grids cut, and operations replaced by one of their operands or by a constant; what is then
//! unused goes too. Greedy, until nothing more can go: the result is small, though not the smallest.

use super::generate::Program;
use crate::ops::constant;
use crate::ops::control::WHILE;
use crate::ops::memory::STORE;
use crate::types::elem;
use ir::{Builder, Module, Op, Traits, Value};

/// The program made smaller. `fails` says whether a smaller one still fails in the same way.
pub fn shrink(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut single = best.clone();
    single.grid = [1; 3];
    if fails(&single) {
        best = single;
    }
    loop {
        let before = size(&best.module);
        drop_stores(&mut best, fails);
        replace_operations(&mut best, fails);
        if size(&best.module) >= before {
            return best;
        }
    }
}

fn size(module: &Module) -> usize {
    module.walk(module.top()).len()
}

/// Operations in text order, so that a position means the same in a copy.
fn operations(module: &Module) -> Vec<Op> {
    module.walk(module.top())
}

fn attempt(
    best: &mut Program,
    fails: &mut dyn FnMut(&Program) -> bool,
    change: impl FnOnce(&mut Module) -> bool,
) -> bool {
    let mut smaller = best.clone();
    if !change(&mut smaller.module) {
        return false;
    }
    remove_unused(&mut smaller.module);
    let better = ir::verify(&smaller.module).is_ok() && fails(&smaller);
    if better {
        *best = smaller;
    }
    better
}

fn drop_stores(best: &mut Program, fails: &mut dyn FnMut(&Program) -> bool) {
    let mut index = operations(&best.module).len();
    while index > 0 {
        index -= 1;
        attempt(best, fails, |module| {
            let op = operations(module).get(index).copied().filter(|&op| module.is(op, &STORE));
            op.map(|op| module.erase(op)).is_some()
        });
        index = index.min(operations(&best.module).len());
    }
}

fn replace_operations(best: &mut Program, fails: &mut dyn FnMut(&Program) -> bool) {
    let mut index = operations(&best.module).len();
    while index > 0 {
        index -= 1;
        for way in 0..4 {
            let op_count = operations(&best.module).len();
            if attempt(best, fails, |module| replace(module, index, way))
                && operations(&best.module).len() < op_count
            {
                break;
            }
        }
        index = index.min(operations(&best.module).len());
    }
}

/// Whether an operation belongs to a loop that another value of it might keep from ending.
fn is_in_while(module: &Module, op: Op) -> bool {
    std::iter::successors(module.parent_op(op), |&op| module.parent_op(op)).any(|op| module.is(op, &WHILE))
}

/// Replaces the results of an operation: by operand 0, 1, or 2 where the type fits, or by zero.
fn replace(module: &mut Module, index: usize, way: usize) -> bool {
    let Some(&op) = operations(module).get(index) else { return false };
    if module.results(op).is_empty() || module.has(op, Traits::CONSTANT) || is_in_while(module, op) {
        return false;
    }
    let mut changed = false;
    for (number, result) in module.results(op).to_vec().into_iter().enumerate() {
        let ty = module.ty(result);
        let stand_in = match way {
            3 if elem(ty).scalar_bits().is_some() => {
                Some(constant::int(&mut Builder::before(module, op), ty, 0))
            }
            3 => None,
            _ => operand_of_type(module, op, number, way, ty),
        };
        if let Some(value) = stand_in.filter(|_| !module.is_unused(result)) {
            module.replace_uses(result, value);
            changed = true;
        }
    }
    changed
}

/// An operand of the type; for loops the initial value of the result.
fn operand_of_type(module: &Module, op: Op, result: usize, way: usize, ty: ir::Type) -> Option<Value> {
    let inits =
        if module.has(op, Traits::LOOP) { module.operands(op).len() - module.results(op).len() } else { 0 };
    let value = *module.operands(op).get(if inits > 0 || module.has(op, Traits::LOOP) {
        inits + result
    } else {
        way
    })?;
    (module.ty(value) == ty).then_some(value)
}

fn remove_unused(module: &mut Module) {
    loop {
        let unused: Vec<Op> = operations(module)
            .into_iter()
            .skip(1)
            .filter(|&op| {
                let idle = module.results(op).iter().all(|&result| module.is_unused(result));
                idle && !module.has(op, Traits::SYMBOL) && ir::passes::is_removable(module, op)
            })
            .collect();
        if unused.is_empty() {
            return;
        }
        for op in unused.into_iter().rev() {
            if module.block_of(op).is_some() {
                module.erase(op);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Profile, generate};
    use super::shrink;
    use crate::ops::arith_float::ADDF;

    #[test]
    fn only_what_matters_stays() {
        let holds = |program: &super::Program| {
            // A sum that nobody uses goes with the first attempt.
            let mut module = program.module.clone();
            super::remove_unused(&mut module);
            module.walk(module.top()).into_iter().any(|op| module.is(op, &ADDF))
        };
        let program = (0..100).map(|seed| generate(seed, Profile::ALL)).find(holds).expect("a sum is common");
        let small = shrink(&program, &mut |program| holds(program));
        assert!(holds(&small));
        assert!(super::size(&small.module) < super::size(&program.module) / 2);
    }
}
