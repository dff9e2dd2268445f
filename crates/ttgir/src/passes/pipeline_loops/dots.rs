//! What dots of a loop read and carry, and waits for them.

use crate::ops::group_dot::{WARP_GROUP_DOT_WAIT, WarpGroupDotOp, WarpGroupDotWaitOp};
use crate::types::memdesc;
use ir::{Block, Module, Op, OpInit, Traits, Value};
use smallvec::SmallVec;

/// Whether an operation gives another view of shared memory.
pub(super) fn is_view(module: &Module, op: Op) -> bool {
    let is_memory = |&result: &Value| memdesc(module.ty(result)).is_some();
    module.results(op).iter().all(is_memory) && module.has(op, Traits::PURE)
}

/// The number of the carried value that a dot becomes, if it becomes nothing else.
pub(super) fn carried_number(module: &Module, body: Block, dot: Op) -> Option<usize> {
    match module.uses(module.result(dot, 0)) {
        &[(user, slot)] if Some(user) == module.last_op(body) => Some(slot as usize),
        _ => None,
    }
}

/// The memory that a dot reads.
pub(super) fn memory_of(module: &Module, dot: Op) -> SmallVec<[Value; 2]> {
    module.operands(dot).iter().copied().filter(|&value| memdesc(module.ty(value)).is_some()).collect()
}

/// Whether the carried value is used by nothing but the dot, as what it adds to.
pub(super) fn adds_up(module: &Module, body: Block, dot: Op, number: usize) -> bool {
    let arg = module.args(body)[number + 1];
    module.uses(arg).len() == 1 && WarpGroupDotOp::new(module, dot).c() == arg
}

/// A wait behind a dot, for it and for the memory it reads.
pub(super) fn wait_behind(module: &mut Module, dot: Op, pendings: u32) -> Op {
    let result = module.result(dot, 0);
    let memory = memory_of(module, dot);
    let inputs: SmallVec<[Value; 4]> = [result].into_iter().chain(memory).collect();
    let wait = make_wait(module, dot, &inputs, pendings);
    module.insert_after(dot, wait);
    let whole = module.result(wait, 0);
    module.replace_uses_if(result, whole, |_, user, _| user != wait);
    wait
}

/// A wait, made and not placed yet, until at most so many of the newest dots are going on.
pub(super) fn make_wait(module: &mut Module, like: Op, inputs: &[Value], pendings: u32) -> Op {
    let init = OpInit {
        operands: SmallVec::from_slice(inputs),
        results: inputs.iter().map(|&value| module.ty(value)).collect(),
        attrs: WarpGroupDotWaitOp::attrs(pendings).into_iter().collect(),
        regions: 0,
    };
    let loc = module.loc(like);
    module.create(&WARP_GROUP_DOT_WAIT, init, loc)
}
