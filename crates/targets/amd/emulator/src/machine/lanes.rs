//! Instructions that map lanes' values to a result, each lane by itself.

use crate::machine::code::{Execute, Flow, LANES, Row, Slot};
use crate::machine::step::Step;
use emulation::Fault;

/// All 64 lanes.
pub(crate) const FULL: u64 = u64::MAX;

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u64) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// Copies the lanes of a mask.
pub(crate) fn blend(into: &mut Row, from: &Row, mask: u64) {
    if mask == FULL {
        *into = *from;
        return;
    }
    if mask == FULL >> 32 {
        into[..32].copy_from_slice(&from[..32]);
        return;
    }
    for lane in lanes_of(mask) {
        into[lane] = from[lane];
    }
}

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
