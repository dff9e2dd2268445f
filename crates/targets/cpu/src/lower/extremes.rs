//! Maximum and minimum of floats along a loop, of which a NaN is ignored.
//!
//! On x86 the instruction answers its second operand where either is NaN, so that an accumulator that is a number stays
//! one and needs nothing else. It starts from the infinity that every number beats, which leaves one thing open:
//! whether there was a number at all. The opposite extreme tells, at one more instruction of the same kind where a
//! test for NaN takes two: only where nothing was seen is the maximum below the minimum.

use super::chunk::Chunks;
use super::nest::{Accumulators, Run};
use ir::Op;
use llir::{FloatCompare, Value};
use ttir::ops::arith_float;
use ttir::ops::reduce::CombineOp;

/// Which extreme a reduction looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extreme {
    /// The maximum.
    Max,
    /// The minimum.
    Min,
}

impl Extreme {
    /// The comparison by which a number beats the one before.
    fn beats(self) -> FloatCompare {
        match self {
            Extreme::Max => FloatCompare::Ogt,
            Extreme::Min => FloatCompare::Olt,
        }
    }

    fn opposite(self) -> Extreme {
        match self {
            Extreme::Max => Extreme::Min,
            Extreme::Min => Extreme::Max,
        }
    }

    /// What every number beats.
    fn start(self) -> f64 {
        match self {
            Extreme::Max => f64::NEG_INFINITY,
            Extreme::Min => f64::INFINITY,
        }
    }
}

impl Chunks<'_, '_> {
    /// The extreme that a reduction is, if both extremes are worth following.
    pub(crate) fn extreme(&mut self, op: Op) -> Option<Extreme> {
        let module = self.module;
        let combine = CombineOp::new(module, op);
        let &[source] = combine.srcs() else { return None };
        let is_plain = ttir::types::elem(module.ty(source)).as_float().is_some_and(|kind| kind.bits() >= 32);
        if !self.machine.is_x86 || !is_plain || combine.neutral().is_none() {
            return None;
        }
        let row = module.row(combine.single()?);
        match () {
            () if row.is(&arith_float::MAXNUMF) => Some(Extreme::Max),
            () if row.is(&arith_float::MINNUMF) => Some(Extreme::Min),
            () => None,
        }
    }

    /// The extremes among the reductions of a group, in order; nothing where elementary functions need the registers.
    fn extremes(&mut self, run: &Run<'_>) -> Vec<Option<Extreme>> {
        let is_short = run.group.long_members(self.module) == 0;
        let is_reduction = |op: Op| CombineOp::reduction(self.module, op).is_some();
        let ops: Vec<Op> = run.group.carriers().collect();
        let followed = ops.into_iter().map(|op| (op, is_short && is_reduction(op))).collect::<Vec<_>>();
        followed.into_iter().map(|(op, is)| if is { self.extreme(op) } else { None }).collect()
    }

    /// Partials with the opposite extreme beside each extreme.
    pub(crate) fn with_opposites(&mut self, run: &Run<'_>, mut partials: Accumulators) -> Accumulators {
        let extremes = self.extremes(run);
        for (results, extreme) in partials.iter_mut().zip(extremes) {
            let Some(extreme) = extreme else { continue };
            let sides = [extreme, extreme.opposite()].map(|side| {
                let numbers = results[0].iter().map(|&partial| self.number_or(partial, side.start()));
                numbers.collect::<Vec<Value>>()
            });
            *results = sides.into();
        }
        partials
    }

    /// A partial, with a number where it is NaN.
    fn number_or(&mut self, partial: Value, start: f64) -> Value {
        let start = self.float_like(partial, start);
        let is_nan = self.b.fcmp(FloatCompare::Uno, partial, partial);
        self.b.select(is_nan, start, partial)
    }

    /// The partials alone: NaN where no number was seen.
    pub(crate) fn without_opposites(&mut self, run: &Run<'_>, mut partials: Accumulators) -> Accumulators {
        let extremes = self.extremes(run);
        for (results, extreme) in partials.iter_mut().zip(extremes) {
            let (Some(extreme), [best, worst]) = (extreme, &results[..]) else { continue };
            let chosen = best.iter().zip(worst).map(|(&best, &worst)| {
                let nan = self.float_like(best, f64::NAN);
                let is_empty = self.b.fcmp(extreme.opposite().beats(), best, worst);
                self.b.select(is_empty, nan, best)
            });
            *results = vec![chosen.collect()];
        }
        partials
    }

    /// Combines a chunk into both extremes of a number of the loop.
    pub(crate) fn follow(
        &mut self,
        extreme: Extreme,
        partials: &mut [Vec<Value>],
        number: usize,
        next: Value,
    ) {
        for (side, partials) in [extreme, extreme.opposite()].into_iter().zip(partials) {
            let beats = self.b.fcmp(side.beats(), next, partials[number]);
            partials[number] = self.b.select(beats, next, partials[number]);
        }
    }
}
