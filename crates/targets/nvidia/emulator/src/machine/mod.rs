//! The machine that runs decoded code: programs of warps of 32 lanes that share memory and barriers.
//!
//! - A lane's register is one cell of 64 bits, zero-extended from the register's width.
//! - Lanes of a warp run in groups that stand at the same instruction; the group that stands earliest in the
//!   text runs first, so that groups meet again where branches join.
//! - Whatever waits (barriers, lanes of a `.sync`, arrivals) is a [`Wait`]; if everything waits, it is a deadlock.

pub(crate) mod asynchronous;
pub(crate) mod block;
pub(crate) mod code;
pub(crate) mod flow;
mod global;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod mbarrier;
pub(crate) mod place;
pub(crate) mod print;
pub(crate) mod proxies;
pub(crate) mod registers;
pub(crate) mod schedule;
mod slice;
pub(crate) mod step;
pub(crate) mod traffic;
pub(crate) mod warp;
pub(crate) mod world;

use emulation::Fault;
use flow::Flow;
use step::Step;

/// What an instruction does.
pub(crate) trait Execute: Send + Sync {
    /// Does it for the lanes of `step.mask`.
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>>;
}

impl<F> Execute for F
where
    F: Fn(&mut Step<'_, '_>) -> Result<Flow, Box<Fault>> + Send + Sync,
{
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        self(step)
    }
}
