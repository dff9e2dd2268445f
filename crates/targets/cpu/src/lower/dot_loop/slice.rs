//! What a loop must do to make one operand: the operations it needs, and the carried scalars among them.

use ir::{Block, Def, Module, Op, Value};
use rustc_hash::FxHashSet;
use ttir::ops::control;

/// Part of a loop body.
#[derive(Debug, Default)]
pub(super) struct Slice {
    /// Operations of the body.
    pub(super) ops: FxHashSet<Op>,
    /// Carried values, in order: those the operations need, and what these in turn are moved by.
    pub(super) carried: Vec<usize>,
    /// Values from outside of the body.
    pub(super) outside: Vec<Value>,
}

impl Slice {
    /// The slice for a value, if any, and some carried scalars; `None` where it needs a block that the loop carries.
    pub(super) fn new(module: &Module, block: Block, value: Option<Value>, moved: &[usize]) -> Option<Slice> {
        let yields = control::yielded(module, block);
        let mut slice = Slice { carried: moved.to_vec(), ..Slice::default() };
        let mut open: Vec<Value> = value.into_iter().collect();
        open.extend(moved.iter().map(|&index| yields[index]));
        let mut seen = FxHashSet::default();
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            match module.def(value) {
                Def::Result(op, _) if module.block_of(op) == Some(block) => {
                    slice.ops.insert(op);
                    open.extend(module.operands(op));
                }
                // The first argument is the counter.
                Def::Arg(own, 0) if own == block => {}
                Def::Arg(own, number) if own == block => {
                    let index = number as usize - 1;
                    if ttir::types::is_tensor(module.ty(value)) {
                        return None;
                    }
                    if !slice.carried.contains(&index) {
                        slice.carried.push(index);
                    }
                    open.push(yields[index]);
                }
                _ => slice.outside.push(value),
            }
        }
        slice.carried.sort_unstable();
        Some(slice)
    }
}
