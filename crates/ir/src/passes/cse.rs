//! Common subexpressions: of two pure operations with the same operands and attributes, the later one goes.
//!
//! ```text
//! %a = arith.addi %x, %y : i32          %a = arith.addi %x, %y : i32
//! %b = arith.addi %x, %y : i32    =>    use(%a, %a)
//! use(%a, %b)
//! ```
//!
//! An operation in a region may be replaced by one from outside, never the other way round. Operations with regions and
//! operations that read memory stay.

use crate::diagnostic::Diagnostic;
use crate::entity::{Block, Op, Value};
use crate::module::Module;
use crate::module::traits::Traits;
use crate::pass::PassRow;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Removes common subexpressions.
pub static CSE: PassRow =
    PassRow { name: "cse", doc: "Removes pure operations that repeat an earlier one.", run };

/// Operations that may serve for later ones, by their hash.
type Known = FxHashMap<u64, SmallVec<[Op; 1]>>;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    visit(module, module.body(), &mut Known::default());
    Ok(())
}

fn visit(module: &mut Module, block: Block, known: &mut Known) {
    let mut added = Vec::new();
    let mut next = module.first_op(block);
    while let Some(op) = next {
        next = module.next(op);
        visit_regions(module, op, known);
        if !is_candidate(module, op) {
            continue;
        }
        let hash = hash(module, op);
        let bucket = known.entry(hash).or_default();
        match bucket.iter().find(|&&earlier| same(module, earlier, op)) {
            Some(&earlier) => replace(module, op, earlier),
            None => {
                bucket.push(op);
                added.push(hash);
            }
        }
    }
    // What stands here serves nothing behind this region.
    for hash in added {
        if let Some(bucket) = known.get_mut(&hash) {
            bucket.pop();
        }
    }
}

fn visit_regions(module: &mut Module, op: Op, known: &mut Known) {
    for region in SmallVec::<[_; 2]>::from_slice(module.regions(op)) {
        for block in SmallVec::<[_; 1]>::from_slice(module.blocks(region)) {
            if module.has(op, Traits::ISOLATED) {
                visit(module, block, &mut Known::default());
            } else {
                visit(module, block, known);
            }
        }
    }
}

fn is_candidate(module: &Module, op: Op) -> bool {
    module.has(op, Traits::PURE) && !module.has(op, Traits::TERMINATOR) && module.regions(op).is_empty()
}

/// The operands, in one order for those that may be swapped.
fn ordered_operands(module: &Module, op: Op) -> SmallVec<[Value; 4]> {
    let mut operands = SmallVec::from_slice(module.operands(op));
    if module.has(op, Traits::COMMUTATIVE) {
        operands.sort_unstable();
    }
    operands
}

fn hash(module: &Module, op: Op) -> u64 {
    let mut state = FxHasher::default();
    std::ptr::from_ref(module.row(op)).hash(&mut state);
    ordered_operands(module, op).hash(&mut state);
    // Attributes are compared, not hashed: operands tell almost all operations that have some apart.
    if module.operands(op).is_empty() {
        module.attrs(op).hash(&mut state);
    }
    for &result in module.results(op) {
        module.ty(result).hash(&mut state);
    }
    state.finish()
}

fn same(module: &Module, a: Op, b: Op) -> bool {
    module.is(a, module.row(b))
        && ordered_operands(module, a) == ordered_operands(module, b)
        && module.attrs(a) == module.attrs(b)
        && module.extra(a) == module.extra(b)
        && module.results(a).len() == module.results(b).len()
        && module.results(a).iter().zip(module.results(b)).all(|(&a, &b)| module.ty(a) == module.ty(b))
}

fn replace(module: &mut Module, op: Op, earlier: Op) {
    for index in 0..module.results(op).len() {
        let (from, to) = (module.result(op, index), module.result(earlier, index));
        module.replace_uses(from, to);
    }
    module.erase(op);
}
