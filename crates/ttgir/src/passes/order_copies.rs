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
//! is taken to lie apart ([`crate::roots`]), but a kernel may overwrite what it has read by another parameter, as
//! kernels in place do. What ordinary accesses read of other parameters is fenced where lanes wait for each other
//! anyway, as they have put a block into shared memory that a bulk copy then stores:
//!
//! ```text
//! %x = tt.load %p                                    %x = tt.load %p
//! %m = ttg.local_alloc %y                      =>    %m = ttg.local_alloc %y
//! ttng.fence_async_shared                            ttng.fence_async_global ; ttng.fence_async_shared
//! ttng.async_tma_copy_local_to_global %d … %m        ttng.async_tma_copy_local_to_global %d … %m
//! ```
//!
//! What a bulk copy wrote, ordinary accesses see once it has been waited for
//! (`bulk-copies`). A loop in which only what stands in front of it must be seen has the fence in front.

use super::touches::{Touches, is_by_descriptor};
use crate::ops::barrier::{FENCE_ASYNC_GLOBAL, FENCE_ASYNC_SHARED};
use crate::ops::bulk::BulkWriteOp;
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
        for op in fenced(module, kernel, &roots, &ops, Order::SameParam) {
            let mut builder = Builder::before(module, op);
            builder.build_effect(&FENCE_ASYNC_GLOBAL, &[], &[]);
            builder.build_effect(&BARRIER, &[], &BarrierOp::attrs(BarrierScope::All));
        }
        for op in fenced(module, kernel, &roots, &ops, Order::OtherParams) {
            let fence = shared_fence(module, op).expect("these have one");
            Builder::before(module, fence).build_effect(&FENCE_ASYNC_GLOBAL, &[], &[]);
        }
    }
    Ok(())
}

/// The operations of a kernel that have a fence in front.
fn fenced(module: &Module, kernel: Op, roots: &Roots, ops: &[Op], order: Order) -> Vec<Op> {
    let mut walk = Walk { module, roots, order, fences: FxHashSet::default() };
    walk.block(FuncOp::new(module, kernel).entry(), &mut Touches::default());
    ops.iter().copied().filter(|op| walk.fences.contains(op)).collect()
}

/// The fence of shared memory in front of a bulk copy from there. A barrier stands between the two.
fn shared_fence(module: &Module, op: Op) -> Option<Op> {
    BulkWriteOp::of(module, op)?;
    module.prev(op).filter(|&fence| module.is(fence, &FENCE_ASYNC_SHARED))
}

/// What comes in order.
#[derive(Clone, Copy)]
enum Order {
    /// Accesses by the same parameter.
    SameParam,
    /// What is read by any parameter, in front of bulk copies to memory.
    OtherParams,
}

struct Walk<'m> {
    module: &'m Module,
    roots: &'m Roots,
    order: Order,
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
            open.join(&self.touched(op));
        }
    }

    /// What must come in front of bulk copies.
    fn touched(&self, op: Op) -> Touches {
        match self.order {
            Order::SameParam => Touches::ordinary(self.module, self.roots, op),
            Order::OtherParams => Touches { writes: Vec::new(), ..Touches::own(self.module, self.roots, op) },
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
        let is_needed = || match (self.order, module.regions(op)) {
            (Order::OtherParams, _) => shared_fence(module, op).is_some(),
            (Order::SameParam, []) => must_see(op),
            (Order::SameParam, _) => module.walk(op).into_iter().any(must_see),
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
