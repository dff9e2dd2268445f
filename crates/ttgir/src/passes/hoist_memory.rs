//! What is put into shared memory in a loop, though it is the same each time, is put there once, in front of the loop.
//!
//! ```text
//! scf.for … {                                        %m = ttg.local_alloc %q
//!   %m = ttg.local_alloc %q                          scf.for … {
//!   ttng.warp_group_dot %m, …                 =>       ttng.warp_group_dot %m, …
//! }                                                  }
//! ```
//!
//! Only memory that nobody writes later, which its type says. Left out: allocations under conditions, so that nothing
//! is computed that would not have been.

use crate::ops::shared::LocalAllocOp;
use crate::types::memdesc;
use ir::pass::PassRow;
use ir::{Diagnostic, Module, Op, Traits};
use ttir::ops::control::FOR;

/// Moves invariant shared memory out of loops.
pub static HOIST_MEMORY: PassRow =
    PassRow { name: "hoist-memory", doc: "Moves shared memory with invariant contents out of loops.", run };

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let loops: Vec<Op> = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR)).collect();
    // Inner loops first, so that what leaves them can go on leaving the outer ones.
    for around in loops.into_iter().rev() {
        let body = module.entry(module.region(around, 0));
        for op in module.ops(body).collect::<Vec<_>>() {
            let result = |module: &Module| memdesc(module.ty(module.result(op, 0)));
            let constant = LocalAllocOp::of(module, op).is_some_and(|alloc| alloc.src().is_some())
                && result(module).is_some_and(|desc| !desc.mutable);
            let view = module.has(op, Traits::PURE)
                && module.results(op).len() == 1
                && module.regions(op).is_empty()
                && result(module).is_some();
            let movable = constant || view;
            if movable && module.operands(op).iter().all(|&value| module.is_outside(value, around)) {
                module.move_before(around, op);
            }
        }
    }
    Ok(())
}
