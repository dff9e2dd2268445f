//! Products of groups of warps read shared memory past the ordinary accesses; a fence in front of each lets them see what
//! lanes and copies have written.
//!
//! ```text
//! %d = ttng.warp_group_dot %m, %n, %c    =>    ttng.fence_async_shared {bCluster = false}
//!                                              %d = ttng.warp_group_dot %m, %n, %c
//! ```
//!
//! A product right behind another needs none of its own when nothing was written in between.

use crate::ops::async_copy::{ASYNC_COPY, ASYNC_WAIT};
use crate::ops::barrier::FENCE_ASYNC_SHARED;
use crate::ops::group_dot::WARP_GROUP_DOT;
use crate::ops::shared::{LOCAL_ALLOC, LOCAL_STORE};
use ir::pass::PassRow;
use ir::{Attr, Block, Builder, Diagnostic, Module, Op, OpRow};

/// Puts fences in front of products of groups of warps.
pub static INSERT_FENCES: PassRow = PassRow {
    name: "insert-fences",
    doc: "Lets products of groups of warps see what was written to shared memory.",
    run,
};

/// What fills shared memory, or shows that it was filled.
static FILLS: &[&OpRow] = &[&LOCAL_ALLOC, &LOCAL_STORE, &ASYNC_COPY, &ASYNC_WAIT];

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    visit(module, module.body());
    Ok(())
}

fn visit(module: &mut Module, block: Block) {
    // At the start of a block nothing is known of what stands in front of it.
    let mut fenced = false;
    for op in module.ops(block).collect::<Vec<_>>() {
        for region in module.regions(op).to_vec() {
            for inner in module.blocks(region).to_vec() {
                visit(module, inner);
                fenced = false;
            }
        }
        if FILLS.iter().any(|row| module.is(op, row)) {
            fenced = false;
        }
        if module.is(op, &WARP_GROUP_DOT) && !std::mem::replace(&mut fenced, true) {
            fence(module, op);
        }
    }
}

fn fence(module: &mut Module, op: Op) {
    Builder::before(module, op).build_effect(&FENCE_ASYNC_SHARED, &[], &[Some(Attr::Bool(false))]);
}
