//! Dots of warp groups read shared memory past the ordinary accesses; a fence in front of each lets them see
//! what lanes and copies have written.
//!
//! ```text
//! %d = ttng.warp_group_dot %m, %n, %c    =>    ttng.fence_async_shared {bCluster = false}
//!                                              %d = ttng.warp_group_dot %m, %n, %c
//! ```
//!
//! A dot of what bulk copies bring needs none: who waits for their barrier sees it. A dot right behind another
//! needs none of its own when nothing was written in between. For memory that is filled once in front of a loop, the
//! fence stands there as well.

use crate::ops::async_copy::ASYNC_WAIT;
use crate::ops::barrier::FENCE_ASYNC_SHARED;
use crate::ops::group_dot::{WARP_GROUP_DOT, WarpGroupDotWaitOp};
use crate::ops::shared::AllocOp;
use crate::roots::effect;
use crate::types::memdesc;
use ir::pass::PassRow;
use ir::{Attr, Block, Builder, Def, Diagnostic, Effect, Module, Op, Traits, Value};
use ttir::types::elem_bytes;

/// Puts fences in front of dots of warp groups.
pub static INSERT_FENCES: PassRow = PassRow {
    name: "insert-fences",
    doc: "Lets dots of warp groups see what was written to shared memory.",
    run,
};

/// Whether an operation fills shared memory, or shows that it was filled. An operation that is not known to leave it
/// alone fills it; barriers are memory too, of 64-bit integers, which no dot multiplies.
fn fills(module: &Module, op: Op) -> bool {
    let may_feed_dots =
        |view: Value| memdesc(module.ty(view)).is_some_and(|memory| elem_bytes(memory.elem) <= 4);
    AllocOp::is(module, op)
        || module.is(op, &ASYNC_WAIT)
        || module.operands(op).iter().any(|&view| may_feed_dots(view) && writes(module, op, view))
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    visit(module, module.body());
    Ok(())
}

/// Puts fences into a block; gives the memory that is filled outside of it, once, and that dots in it read.
fn visit(module: &mut Module, block: Block) -> Vec<Value> {
    // At the start of a block nothing is known of what stands in front of it.
    let mut fenced = false;
    let mut outside = Vec::new();
    for op in module.ops(block).collect::<Vec<_>>() {
        let mut filled = Vec::new();
        for region in module.regions(op).to_vec() {
            for inner in module.blocks(region).to_vec() {
                filled.extend(visit(module, inner));
            }
        }
        if module.is(op, &WARP_GROUP_DOT) {
            filled = filled_operands(module, op);
        }
        if fills(module, op) {
            fenced = false;
        }
        let is_outside =
            |memory: &Value| is_filled_once(module, *memory) && !stands_in(module, *memory, block);
        let (before, here): (Vec<Value>, Vec<Value>) = filled.into_iter().partition(is_outside);
        outside.extend(before);
        if !here.is_empty() && !std::mem::replace(&mut fenced, true) {
            fence(module, op);
        }
        fenced &= module.regions(op).is_empty();
    }
    outside
}

/// The memory that a dot reads and lanes write to. What bulk copies bring is there once their barrier has been waited
/// for.
fn filled_operands(module: &Module, dot: Op) -> Vec<Value> {
    let memory = module.operands(dot).iter().filter(|&&value| memdesc(module.ty(value)).is_some());
    memory.map(|&view| root(module, view)).filter(|&memory| lanes_fill(module, memory)).collect()
}

/// Whether memory is filled where it is allocated, and by nothing else.
pub(super) fn is_filled_once(module: &Module, view: Value) -> bool {
    let memory = root(module, view);
    let fills = |op: Op| AllocOp::is(module, op) && !module.operands(op).is_empty();
    module.def_op(memory).is_some_and(fills) && !is_written(module, memory)
}

fn stands_in(module: &Module, memory: Value, block: Block) -> bool {
    module.def_op(memory).and_then(|op| module.block_of(op)) == Some(block)
}

/// What a view is a view of.
fn root(module: &Module, view: Value) -> Value {
    let mut view = view;
    while let Def::Result(op, slot) = module.def(view) {
        let is_memory = |value: &&Value| memdesc(module.ty(**value)).is_some();
        let from = match WarpGroupDotWaitOp::of(module, op) {
            Some(wait) => wait.inputs().get(slot as usize).filter(is_memory),
            None => module.operands(op).iter().find(is_memory),
        };
        match from {
            Some(&from) => view = from,
            None => break,
        }
    }
    view
}

/// Whether something other than bulk copies writes to memory, as far as its uses show.
fn lanes_fill(module: &Module, memory: Value) -> bool {
    let Def::Result(op, _) = module.def(memory) else { return true };
    if !AllocOp::is(module, op) || !module.operands(op).is_empty() {
        return true;
    }
    is_written(module, memory)
}

/// Whether an operation writes to memory, and nothing that its dots wait for shows it.
fn writes(module: &Module, op: Op, memory: Value) -> bool {
    let mut groups = 0..module.row(op).operands.len();
    groups.any(|group| {
        let effect = effect(module, op, group);
        !matches!(effect, Effect::Nothing | Effect::Read | Effect::ReadUntil(_) | Effect::WriteGuarded)
            && module.operand_group(op, group).contains(&memory)
    })
}

/// Whether lanes may write to memory behind its allocation.
fn is_written(module: &Module, memory: Value) -> bool {
    let mut open = vec![memory];
    while let Some(view) = open.pop() {
        for &(user, _) in module.uses(view) {
            if writes(module, user, view)
                || module.has(user, Traits::TERMINATOR)
                || !module.regions(user).is_empty()
            {
                return true;
            }
            let views = module.results(user).iter().filter(|&&made| memdesc(module.ty(made)).is_some());
            open.extend(views);
        }
    }
    false
}

fn fence(module: &mut Module, op: Op) {
    Builder::before(module, op).build_effect(&FENCE_ASYNC_SHARED, &[], &[Some(Attr::Bool(false))]);
}
