//! Instructions that map lanes' values to a result, each lane by itself.

use crate::machine::Execute;
use crate::machine::code::{FULL, Flow, LANES, Row, Slot, blend, lanes_of};
use crate::machine::step::Step;
use emulation::Fault;

struct Map<F, const N: usize> {
    dest: Slot,
    sources: [Slot; N],
    f: F,
}

impl<F: Fn([u64; N]) -> u64 + Send + Sync, const N: usize> Execute for Map<F, N> {
    fn run(&self, step: &mut Step<'_, '_>) -> Result<Flow, Box<Fault>> {
        let mask = step.mask;
        let mut out = [0; LANES];
        let rows: [&Row; N] = std::array::from_fn(|index| step.wave.row(self.sources[index]));
        let width = if mask >> 32 == 0 { 32 } else { LANES };
        if mask == FULL >> (LANES - width) {
            for (lane, cell) in out[..width].iter_mut().enumerate() {
                *cell = (self.f)(std::array::from_fn(|index| rows[index][lane]));
            }
        } else {
            for lane in lanes_of(mask) {
                out[lane] = (self.f)(std::array::from_fn(|index| rows[index][lane]));
            }
        }
        blend(step.wave.row_mut(self.dest), &out, mask);
        Ok(Flow::Next)
    }
}

/// A result from so many cells.
pub(crate) fn map<const N: usize>(
    dest: Slot,
    sources: [Slot; N],
    f: impl Fn([u64; N]) -> u64 + Send + Sync + 'static,
) -> Box<dyn Execute> {
    Box::new(Map { dest, sources, f })
}

/// An instruction that is a function of the step.
pub(crate) fn run(
    f: impl Fn(&mut Step<'_, '_>) -> Result<Flow, Box<Fault>> + Send + Sync + 'static,
) -> Box<dyn Execute> {
    Box::new(f)
}
