//! What is put into shared memory in a loop, though it is the same each time, is put there once, in front of the loop;
//! and what several loops have put there is put there once for all of them.
//!
//! ```text
//! scf.for … {                                        %m = ttg.local_alloc %q
//!   %m = ttg.local_alloc %q                          scf.for … {
//!   ttng.warp_group_dot %m, …                 =>       ttng.warp_group_dot %m, …
//! }                                                  }
//! %n = ttg.local_alloc %q                            scf.for … { ttng.warp_group_dot %m, … }
//! scf.for … { ttng.warp_group_dot %n, … }
//! ```
//!
//! So the block is not kept in registers until the last of these loops begins. Only memory that nobody writes later,
//! which its type says. Left out: allocations under conditions, so that nothing is computed that would not have been.

use crate::ops::shared::LocalAllocOp;
use crate::types::memdesc;
use ir::pass::PassRow;
use ir::{Block, Diagnostic, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::control::FOR;

/// Moves invariant shared memory out of loops.
pub static HOIST_MEMORY: PassRow = PassRow {
    name: "hoist-memory",
    doc: "Moves shared memory with invariant contents out of loops, once for each contents.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let loops: Vec<Op> = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR)).collect();
    // Inner loops first, so that what leaves them can go on leaving the outer ones.
    for around in loops.into_iter().rev() {
        let body = module.entry_of(around);
        for op in module.ops(body).collect::<Vec<_>>() {
            let view = module.has(op, Traits::PURE)
                && module.results(op).len() == 1
                && module.regions(op).is_empty()
                && memdesc(module.ty(module.result(op, 0))).is_some();
            let movable = contents(module, op).is_some() || view;
            if movable && module.operands(op).iter().all(|&value| module.is_outside(value, around)) {
                module.move_before(around, op);
            }
        }
    }
    for kernel in module.ops(module.body()).collect::<Vec<_>>() {
        for region in module.regions(kernel).to_vec() {
            merge(module, module.blocks(region).to_vec(), &FxHashMap::default());
        }
    }
    Ok(())
}

/// What memory that nobody writes later holds, and how.
type Contents = (Value, Type, Option<u32>);

/// What an allocation holds, if nobody writes to it later.
fn contents(module: &Module, op: Op) -> Option<Contents> {
    let alloc = LocalAllocOp::of(module, op)?;
    let ty = module.ty(alloc.result());
    memdesc(ty).filter(|desc| !desc.mutable)?;
    Some((alloc.src()?, ty, alloc.alignment()))
}

/// Lets allocations of the same contents be one, in blocks of a region in which `known` ones can be used.
fn merge(module: &mut Module, blocks: Vec<Block>, known: &FxHashMap<Contents, Value>) {
    for block in blocks {
        let mut known = known.clone();
        for op in module.ops(block).collect::<Vec<_>>() {
            for region in module.regions(op).to_vec() {
                merge(module, module.blocks(region).to_vec(), &known);
            }
            let Some(contents) = contents(module, op) else { continue };
            let own = module.result(op, 0);
            match known.get(&contents) {
                Some(&earlier) => {
                    module.replace_uses(own, earlier);
                    module.erase(op);
                }
                None => _ = known.insert(contents, own),
            }
        }
    }
}
