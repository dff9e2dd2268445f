//! Bulk copies go past the ordinary accesses to the device's memory. Where one may read what an ordinary access has
//! written, or writes what one has read or written, a fence and a barrier stand between.
//!
//! ```text
//! tt.store %p, %x                                    tt.store %p, %x
//!                                              =>    ttng.fence_async_global ; ttg.barrier all
//! ttng.async_tma_copy_global_to_local %d …           ttng.async_tma_copy_global_to_local %d …
//! ```
//!
//! What other programs wrote counts as written by the atomic that lets this one see it. Memory of different parameters
//! is taken to lie apart ([`crate::roots`]). What a bulk copy wrote, ordinary accesses see once it has been waited for
//! (`bulk-copies`). A loop in which only what stands in front of it must be seen has the fence in front.

use super::touches::{Touches, is_by_descriptor};
use crate::ops::barrier::FENCE_ASYNC_GLOBAL;
use crate::ops::roles::WARP_SPECIALIZE;
use crate::roots::{Roots, reachable};
use ir::pass::PassRow;
use ir::{Block, Builder, Diagnostic, Module, Op, Traits};
use rustc_hash::FxHashSet;
use ttir::ops::control::IF;
use ttir::ops::func::{FuncOp, kernels};
use ttir::ops::memory::{BARRIER, BarrierOp, BarrierScope};

/// Puts fences between ordinary accesses and bulk copies.
pub static ORDER_COPIES: PassRow = PassRow {
    name: "order-copies",
    doc: "Lets bulk copies come behind the ordinary accesses to the same memory.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for kernel in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let ops = reachable(module, kernel);
        if !ops.iter().any(|&op| is_by_descriptor(module, op)) {
            continue;
        }
        let roots = Roots::of(module, kernel, &ops);
        let mut walk = Walk { module, roots: &roots, fences: FxHashSet::default() };
        walk.block(FuncOp::new(module, kernel).entry(), &mut Touches::default());
        let fences: Vec<Op> = ops.into_iter().filter(|op| walk.fences.contains(op)).collect();
        for op in fences {
            let mut builder = Builder::before(module, op);
            builder.build_effect(&FENCE_ASYNC_GLOBAL, &[], &[]);
            builder.build_effect(&BARRIER, &[], &BarrierOp::attrs(BarrierScope::All));
        }
    }
    Ok(())
}

struct Walk<'m> {
    module: &'m Module,
    roots: &'m Roots,
    /// Operations with a fence in front.
    fences: FxHashSet<Op>,
}

impl Walk<'_> {
    /// `open` is what was touched by ordinary accesses since the last fence.
    fn block(&mut self, block: Block, open: &mut Touches) {
        for op in self.module.ops(block) {
            self.op(op, open);
        }
    }

    fn op(&mut self, op: Op, open: &mut Touches) {
        let module = self.module;
        if module.has(op, Traits::LOOP) || module.is(op, &WARP_SPECIALIZE) {
            self.fence(op, open);
            self.repeat(op, open);
        } else if module.is(op, &IF) {
            let before = open.clone();
            self.regions(op, &before, open);
        } else if module.is(op, &FENCE_ASYNC_GLOBAL) && self.waits_behind(op) {
            *open = Touches::default();
        } else {
            self.fence(op, open);
            open.join(&Touches::ordinary(module, self.roots, op));
        }
    }

    /// Whether all lanes wait for each other behind an operation.
    fn waits_behind(&self, op: Op) -> bool {
        self.module.next(op).is_some_and(|next| self.module.is(next, &BARRIER))
    }

    /// A fence in front of an operation, where it, or what is inside of it, must see what was touched.
    fn fence(&mut self, op: Op, open: &mut Touches) {
        let module = self.module;
        let must_see = |op| open.must_precede(&Touches::by_descriptor(module, self.roots, op));
        let is_needed = || match module.regions(op) {
            [] => must_see(op),
            _ => module.walk(op).into_iter().any(must_see),
        };
        let is_touched = *open != Touches::default();
        if self.fences.contains(&op) || is_touched && is_needed() {
            self.fences.insert(op);
            *open = Touches::default();
        }
    }

    /// Walks a loop until what its end leaves behind is known at its beginning. Roles go through their blocks at the
    /// same time, and order what they do by barriers of their own.
    fn repeat(&mut self, op: Op, open: &mut Touches) {
        loop {
            let before = open.clone();
            self.regions(op, &before, open);
            if *open == before || self.module.is(op, &WARP_SPECIALIZE) {
                return;
            }
        }
    }

    /// Walks the regions of an operation; a `while` has two that follow each other.
    fn regions(&mut self, op: Op, before: &Touches, open: &mut Touches) {
        let module = self.module;
        let follow = module.has(op, Traits::LOOP);
        let mut own = before.clone();
        for &region in module.regions(op) {
            if !follow {
                own = before.clone();
            }
            module.blocks(region).iter().for_each(|&block| self.block(block, &mut own));
            open.join(&own);
        }
    }
}
