//! Dots by matrix instructions.

mod descriptor;
mod kinds;
pub(super) mod mma;
mod pack;
mod wgmma;

use ir::{Module, Op, OpRow};
use lanes::Handler;

/// The handler of an operation that a matrix instruction does; `None` for others.
pub fn handler(module: &Module, op: Op) -> Option<Handler> {
    let row = module.row(op);
    HANDLERS.iter().find(|(known, _)| row.is(known)).map(|(_, handler)| *handler)
}

/// Operations of this machine alone.
const HANDLERS: &[(&OpRow, Handler)] = &[
    (&ttgir::ops::group_dot::WARP_GROUP_DOT, wgmma::lower_dot),
    (&ttgir::ops::group_dot::WARP_GROUP_DOT_WAIT, wgmma::lower_wait),
    (&ttgir::ops::barrier::FENCE_ASYNC_SHARED, wgmma::lower_fence),
];
