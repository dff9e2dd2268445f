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

use crate::attr::{Attr, AttrKey};
use crate::diagnostic::Diagnostic;
use crate::entity::{Block, Op, Value};
use crate::module::Module;
use crate::pass::PassRow;
use crate::row::{OpRow, Traits};
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Removes common subexpressions.
pub static CSE: PassRow =
    PassRow { name: "cse", doc: "Removes pure operations that repeat an earlier one.", run };

#[derive(PartialEq, Eq)]
struct Key {
    row: Row,
    operands: SmallVec<[Value; 4]>,
    attrs: SmallVec<[Option<Attr>; 2]>,
    extra: Vec<(AttrKey, Attr)>,
    results: SmallVec<[Type; 1]>,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Attributes are compared, not hashed in full: operands and types tell almost all operations apart.
        self.row.hash(state);
        self.operands.hash(state);
        self.results.hash(state);
        if self.operands.is_empty() {
            self.attrs.hash(state);
        }
    }
}

#[derive(Clone, Copy)]
struct Row(&'static OpRow);

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(other.0)
    }
}

impl Eq for Row {}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let mut known = FxHashMap::default();
    visit(module, module.body(), &mut known);
    Ok(())
}

fn visit(module: &mut Module, block: Block, known: &mut FxHashMap<Key, Op>) {
    let mut added = Vec::new();
    let ops: Vec<Op> = module.ops(block).collect();
    for op in ops {
        for region in SmallVec::<[_; 2]>::from_slice(module.regions(op)) {
            let blocks = SmallVec::<[_; 1]>::from_slice(module.blocks(region));
            for inner in blocks {
                if module.has(op, Traits::ISOLATED) {
                    visit(module, inner, &mut FxHashMap::default());
                } else {
                    visit(module, inner, known);
                }
            }
        }
        if !module.has(op, Traits::PURE)
            || module.has(op, Traits::TERMINATOR)
            || !module.regions(op).is_empty()
        {
            continue;
        }
        if let Some(&earlier) = known.get(&key(module, op)) {
            replace(module, op, earlier);
        } else {
            known.insert(key(module, op), op);
            added.push(key(module, op));
        }
    }
    for key in added {
        known.remove(&key);
    }
}

fn key(module: &Module, op: Op) -> Key {
    let mut operands: SmallVec<[Value; 4]> = SmallVec::from_slice(module.operands(op));
    if module.has(op, Traits::COMMUTATIVE) {
        operands.sort_unstable();
    }
    Key {
        row: Row(module.row(op)),
        operands,
        attrs: module.attrs(op).iter().cloned().collect(),
        extra: module.extra(op).to_vec(),
        results: module.results(op).iter().map(|&value| module.ty(value)).collect(),
    }
}

fn replace(module: &mut Module, op: Op, earlier: Op) {
    for index in 0..module.results(op).len() {
        let (from, to) = (module.result(op, index), module.result(earlier, index));
        module.replace_uses(from, to);
    }
    module.erase(op);
}
