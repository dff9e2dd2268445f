//! Conversions that one branch alone wants are done in that branch.
//!
//! ```text
//! %c = convert %acc                         scf.if %is_last {
//! scf.if %is_last {                   =>      %c = convert %acc
//!   tt.store %p, %c                           tt.store %p, %c
//! }                                         }
//! ```
//!
//! They stand behind what they convert at first, in front of every use: in a loop that goes from tile to tile the sums
//! of each iteration would go through shared memory, of which the last of a tile are stored.

use ir::{Block, Module, Op, Traits};
use ttir::ops::control::IF;

/// Moves conversions into the branches that want them.
pub(super) fn convert_in_branches(module: &mut Module, function: Op) {
    let conversions: Vec<Op> =
        module.walk(function).into_iter().filter(|&op| module.has(op, Traits::RELAYOUT)).collect();
    // The last first: what one conversion converts may be another's result.
    for &op in conversions.iter().rev() {
        while let Some(user) = first_in_branch(module, op) {
            module.move_before(user, op);
        }
    }
}

/// What the first user of a value stands in, in a branch that has all users, if there is one.
fn first_in_branch(module: &Module, op: Op) -> Option<Op> {
    let block = module.block_of(op)?;
    let users: Vec<Op> = module.uses(module.result(op, 0)).iter().map(|&(user, _)| user).collect();
    let (choice, branch) = branch_of(module, block, *users.first()?)?;
    if !module.is(choice, &IF)
        || !users.iter().all(|&user| branch_of(module, block, user) == Some((choice, branch)))
    {
        return None;
    }
    module.ops(branch).find(|&inner| users.iter().any(|&user| module.is_inside(user, inner)))
}

/// The operation of a block that another one stands in, and the block of that one's regions in which it does.
fn branch_of(module: &Module, block: Block, op: Op) -> Option<(Op, Block)> {
    let mut inner = op;
    loop {
        let own = module.block_of(inner)?;
        let around = module.parent_op(inner)?;
        if module.block_of(around) == Some(block) {
            return Some((around, own));
        }
        inner = around;
    }
}
