//! Packed operands that outlive a program: what they depend on, and where that is noted.
//!
//! The programs of a launch run unordered, so memory that the kernel writes nowhere holds still for the length of it. An
//! operand then depends only on scalars; where the last program that this thread ran had the same, its panels are used
//! as they are. The notes (1 if the panels are whole, then those scalars) are zero at the first program that a
//! thread runs of a launch.

use super::super::plan::{Access, accesses_of};
use super::slice::Slice;
use ir::{Def, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::{constant, func};

/// The most bytes of panels that a thread keeps for all loops of a kernel.
pub(super) const MOST_BYTES: u64 = 16 << 20;

/// One loop takes this part of what is left.
pub(super) const LOOPS: u64 = 2;

/// Panels that are kept.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The scalars that the operand depends on.
    pub(super) keys: Vec<Value>,
    /// Where the notes are, in bytes.
    pub(super) notes: u64,
    /// Where the panels are, in bytes.
    pub(super) panels: u64,
    /// Blocks of rounds that there is room for.
    pub(super) blocks: u64,
}

impl Kept {
    pub(super) fn note_bytes(&self) -> u64 {
        8 * (1 + self.keys.len() as u64)
    }
}

/// What the operand that a slice of a loop makes depends on, if that is all known.
pub(super) fn find(module: &Module, kernel: Op, op: Op, slice: &Slice) -> Option<Kept> {
    let mut search = Search { module, keys: Vec::new(), loads: Vec::new(), seen: FxHashSet::default() };
    let of = ForOp::new(module, op);
    let inits = slice.carried.iter().map(|&index| of.inits()[index]);
    let bounds = [of.lower(), of.upper(), of.step()];
    for value in bounds.into_iter().chain(inits).chain(slice.outside.iter().copied()) {
        search.visit(value)?;
    }
    search.loads.extend(slice.ops.iter().copied().filter(|&inner| AccessOp::load(module, inner).is_some()));
    let reads: Vec<Access> = search.loads.iter().flat_map(|&load| accesses_of(module, load)).collect();
    let writes: Vec<Access> =
        accesses_of(module, kernel).into_iter().filter(|access| access.is_write).collect();
    let is_still =
        reads.iter().all(|read| !read.is_write && writes.iter().all(|write| !write.may_touch(read)));
    is_still.then_some(Kept { keys: search.keys, notes: 0, panels: 0, blocks: 0 })
}

/// Goes from blocks back to the scalars that they are made of.
struct Search<'a> {
    module: &'a Module,
    keys: Vec<Value>,
    loads: Vec<Op>,
    seen: FxHashSet<Value>,
}

impl Search<'_> {
    fn visit(&mut self, value: Value) -> Option<()> {
        let module = self.module;
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if !self.seen.insert(value) || module.constant(value).and_then(constant::splat_bits).is_some() {
                continue;
            }
            if !ttir::types::is_tensor(module.ty(value)) {
                if !is_parameter(module, value) {
                    self.keys.push(value);
                }
                continue;
            }
            let Def::Result(op, _) = module.def(value) else { return None };
            let row = module.row(op);
            if AccessOp::load(module, op).is_some() {
                self.loads.push(op);
            } else if !row.traits.has(Traits::PURE) {
                return None;
            }
            if !module.regions(op).is_empty() {
                return None;
            }
            open.extend(module.operands(op).iter().rev());
        }
        Some(())
    }
}

/// Whether a value is a parameter of the kernel, the same for all programs.
fn is_parameter(module: &Module, value: Value) -> bool {
    match module.def(value) {
        Def::Arg(block, _) => {
            module.region_parent(module.block_region(block)).is_some_and(|op| module.is(op, &func::FUNC))
        }
        Def::Result(..) => false,
    }
}
