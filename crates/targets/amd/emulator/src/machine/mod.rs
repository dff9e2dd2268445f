//! The machine that runs decoded code: programs of warps that share LDS and a barrier.
//!
//! - A component of a value is a row: one cell of 64 bits for each lane, zero-extended from the component's width.
//! - A warp has one stack of lanes to run; the top runs until it meets the block where the others wait for it.

pub(crate) mod code;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod lds;
pub(crate) mod place;
mod slice;
pub(crate) mod step;
pub(crate) mod wave;
pub(crate) mod world;

use code::Flow;
use emulation::Fault;
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
