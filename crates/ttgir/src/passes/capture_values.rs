//! What partitions use of the program around them becomes their arguments.
//!
//! ```text
//! %n = …                                        %n = …
//! ttg.warp_specialize()                         ttg.warp_specialize(%n)
//! default { … }                            =>   default { … }
//! partition0() num_warps(1) { use(%n, %c) }     partition0(%m: i32) num_warps(1) { %d = arith.constant 4 ; use(%m, %d) }
//! ```
//!
//! Constants are made anew. A descriptor that the kernel made is read by a lane that has not seen how it was written:
//! the partition asks for it itself.

use crate::ops::bulk::{REINTERPRET_DESCRIPTOR, ReinterpretDescriptorOp, TENSORMAP_ACQUIRE};
use crate::ops::roles::{WARP_SPECIALIZE, WarpSpecializeOp};
use ir::pass::PassRow;
use ir::{Block, Builder, Def, Diagnostic, Module, Op, Traits, Value};
use rustc_hash::FxHashMap;

/// Makes arguments of what partitions use.
pub static CAPTURE_VALUES: PassRow = PassRow {
    name: "capture-values",
    doc: "Makes arguments of what partitions use of the program around them.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        if module.is(op, &WARP_SPECIALIZE) {
            let blocks: Vec<Block> =
                WarpSpecializeOp::new(module, op).partitions(1).iter().map(|part| part.block).collect();
            for &block in &blocks {
                capture(module, op, &blocks, block);
            }
        }
    }
    Ok(())
}

/// The operations of a block and of those inside of it.
fn inside(module: &Module, block: Block) -> Vec<Op> {
    module.ops(block).flat_map(|op| module.walk(op)).collect()
}

/// Whether a value is made in a partition.
fn is_own(module: &Module, value: Value, block: Block) -> bool {
    let mut own = match module.def(value) {
        Def::Arg(own, _) => Some(own),
        Def::Result(op, _) => module.block_of(op),
    };
    while let Some(inner) = own {
        if inner == block {
            return true;
        }
        own = module.region_parent(module.block_region(inner)).and_then(|op| module.block_of(op));
    }
    false
}

fn capture(module: &mut Module, op: Op, blocks: &[Block], block: Block) {
    let mut known: FxHashMap<Value, Value> = FxHashMap::default();
    for user in inside(module, block) {
        for slot in 0..module.operands(user).len() {
            let value = module.operand(user, slot);
            if is_own(module, value, block) {
                continue;
            }
            let own = match known.get(&value) {
                Some(&own) => own,
                None => own_value(module, (op, blocks, block), value),
            };
            known.insert(value, own);
            module.set_operand(user, slot, own);
        }
    }
}

/// A value as a partition has it.
fn own_value(module: &mut Module, place: (Op, &[Block], Block), value: Value) -> Value {
    let first = module.first_op(place.2).expect("verified: a block has a terminator");
    if let Some(def) = module.def_op(value) {
        if module.has(def, Traits::CONSTANT) {
            let copy = module.clone_op(def, &mut FxHashMap::default());
            module.insert_before(first, copy);
            return module.result(copy, 0);
        }
        if let Some(of) = ReinterpretDescriptorOp::of(module, def) {
            let (raw, ty) = (of.raw_desc(), module.ty(value));
            let raw = argument(module, place, raw);
            let mut builder = Builder::before(module, first);
            builder.build_effect(&TENSORMAP_ACQUIRE, &[raw], &[]);
            return builder.build_as(&REINTERPRET_DESCRIPTOR, &[raw], &[], ty);
        }
    }
    argument(module, place, value)
}

/// An argument of a partition, which all partitions get.
fn argument(module: &mut Module, (op, blocks, block): (Op, &[Block], Block), value: Value) -> Value {
    let known = module.operands(op).iter().position(|&captured| captured == value);
    let at = known.unwrap_or(module.operands(op).len());
    if known.is_none() {
        let ty = module.ty(value);
        module.push_operand(op, value);
        for &block in blocks {
            module.add_arg(block, ty);
        }
    }
    module.args(block)[at]
}
