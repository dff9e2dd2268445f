//! Fewer stages where a kernel asks for more shared memory than there is.
//!
//! How much a program needs is known once its buffers are placed: loops that follow each other share memory, and so
//! does the scratch memory of conversions. So nothing is estimated here. Stages are taken away one at a time, the ones
//! that cost least first, and the program is compiled anew up to its memory plan, until it fits or no loop has a second
//! stage left.

use ir::{Attr, Diagnostic, Module, Op, Traits, Type};
use ttir::ops::control::{ForOp, NUM_STAGES};

/// A loop that is pipelined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pipelined {
    op: Op,
    stages: u32,
    /// Loops around it.
    depth: usize,
}

/// A program in front of all passes over ttgir, whose loops may be given fewer stages.
pub(crate) struct Fit {
    module: Module,
    loops: Vec<Pipelined>,
}

/// What came of a search.
pub(crate) struct Fitted {
    /// The program with fewer stages, in front of all passes over ttgir.
    pub(crate) module: Module,
    /// What was done, for the author of the kernel.
    pub(crate) remarks: Vec<Diagnostic>,
}

impl Fit {
    /// The loops of a program that are pipelined; `None` if there is none. `num_stages` is what loops with dots get
    /// that say nothing.
    pub(crate) fn of(module: &Module, num_stages: u32) -> Option<Fit> {
        if !module.walk(module.top()).iter().any(|&op| ForOp::of(module, op).is_some()) {
            return None;
        }
        let mut module = module.clone();
        ttgir::passes::set_default_stages(&mut module, num_stages);
        ttgir::module::let_operands_stay(&mut module);
        let loops: Vec<Pipelined> =
            module.walk(module.top()).into_iter().filter_map(|op| pipelined(&module, op)).collect();
        (!loops.is_empty()).then_some(Fit { module, loops })
    }

    /// Takes stages away until the program fits. `needed` is what it needs as it is; `measure` says what a program
    /// needs.
    ///
    /// # Errors
    /// What `measure` says.
    pub(crate) fn search<E>(
        &self,
        limit: u64,
        needed: u64,
        measure: &mut dyn FnMut(Module) -> Result<u64, E>,
    ) -> Result<Option<Fitted>, E> {
        let mut stages: Vec<u32> = self.loops.iter().map(|pipelined| pipelined.stages).collect();
        let mut bytes = needed;
        while bytes > limit {
            let mut best: Option<Candidate> = None;
            for index in (0..stages.len()).filter(|&index| stages[index] > 1) {
                let mut fewer = stages.clone();
                fewer[index] -= 1;
                let step = Candidate {
                    bytes: measure(self.with(&fewer))?,
                    cost: cost(fewer[index], self.loops[index].depth),
                    stages: fewer,
                };
                if best.as_ref().is_none_or(|best| step.beats(best, bytes, limit)) {
                    best = Some(step);
                }
            }
            let Some(best) = best else { return Ok(None) };
            (stages, bytes) = if best.bytes < bytes {
                (best.stages, best.bytes)
            } else {
                // Several loops need as much: none of them alone changes the sum.
                let fewer = self.all_fewer(&stages);
                let bytes = measure(self.with(&fewer))?;
                (fewer, bytes)
            };
        }
        let remarks = self.remarks(&stages, needed, limit);
        Ok(Some(Fitted { module: self.with(&stages), remarks }))
    }

    /// One stage less for the loops with the most of them.
    fn all_fewer(&self, stages: &[u32]) -> Vec<u32> {
        let most = stages.iter().copied().max().unwrap_or(1);
        stages.iter().map(|&own| if own == most { own - 1 } else { own }).collect()
    }

    fn with(&self, stages: &[u32]) -> Module {
        let mut module = self.module.clone();
        for (pipelined, &stages) in self.loops.iter().zip(stages) {
            let attr = Attr::int(i64::from(stages), Type::int(32));
            module.set_extra(pipelined.op, NUM_STAGES.key(), Some(attr));
        }
        module
    }

    fn remarks(&self, stages: &[u32], needed: u64, limit: u64) -> Vec<Diagnostic> {
        let changed =
            self.loops.iter().zip(stages).filter(|(pipelined, stages)| pipelined.stages != **stages);
        let remark = |(pipelined, stages): (&Pipelined, &u32)| {
            let message = format!(
                "the loop is pipelined in {stages} stages in place of {}: with as many as are asked for the kernel needs {needed} bytes of \
                 shared memory, and there are {limit}",
                pipelined.stages
            );
            let place = self.module.locs.describe(self.module.loc(pipelined.op));
            Diagnostic::new(message).at(place)
        };
        changed.map(remark).collect()
    }
}

/// A loop that names more than one stage.
fn pipelined(module: &Module, op: Op) -> Option<Pipelined> {
    let stages = ForOp::of(module, op)?.stages();
    let around = std::iter::successors(module.parent_op(op), |&op| module.parent_op(op));
    let depth = around.filter(|&op| module.has(op, Traits::LOOP)).count();
    (stages > 1).then_some(Pipelined { op, stages, depth })
}

/// A program with one stage less.
struct Candidate {
    stages: Vec<u32>,
    bytes: u64,
    cost: u64,
}

impl Candidate {
    /// Whether it is to be preferred: one that fits, then one that needs less than now, then the cheaper, then the
    /// smaller.
    fn beats(&self, other: &Candidate, now: u64, limit: u64) -> bool {
        let rank = |step: &Candidate| (step.bytes > limit, step.bytes >= now, step.cost, step.bytes);
        rank(self) < rank(other)
    }
}

/// What it costs a loop to be left with so many stages, relative to others: without a second one nothing overlaps, with
/// two of them little does, and what is inside of other loops runs more often.
fn cost(left: u32, depth: usize) -> u64 {
    let once = match left {
        0 | 1 => 100,
        2 => 10,
        3 => 3,
        _ => 1,
    };
    once << (3 * depth.min(4))
}

#[cfg(test)]
mod tests {
    use super::Fit;
    use ttir::ops::control::NUM_STAGES;

    /// Two loops, the second inside of a third, which names no stages.
    const TEXT: &str = "module {
  tt.func public @f(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
    } {tt.num_stages = 4 : i32}
    scf.for %j = %c0 to %n step %c1 : i32 {
      scf.for %k = %c0 to %n step %c1 : i32 {
      } {tt.num_stages = 3 : i32}
    }
    tt.return
  }
}
";

    fn stages(module: &ir::Module) -> Vec<i64> {
        let of = |op| module.extra_attr(op, NUM_STAGES.name).and_then(ir::Attr::as_int);
        module.walk(module.top()).into_iter().filter_map(of).collect()
    }

    /// Searches where the first loop takes `each[0]` bytes a stage and the other `each[1]`.
    fn search(limit: u64, need: fn(&[i64]) -> u64) -> Option<(Vec<i64>, usize)> {
        let module = ir::text::parse(TEXT, ttgir::registry(), ir::text::ParseOptions::default());
        let fit = Fit::of(&module.expect("text"), 3).expect("there are loops");
        let mut measure = |module: ir::Module| Ok::<u64, ()>(need(&stages(&module)));
        let fitted = fit.search(limit, need(&[4, 3]), &mut measure).expect("measured");
        fitted.map(|fitted| (stages(&fitted.module), fitted.remarks.len()))
    }

    #[test]
    fn the_cheapest_stage_goes_first() {
        let sum = |stages: &[i64]| stages.iter().map(|&own| own as u64 * 10).sum();
        assert_eq!(search(60, sum), Some((vec![3, 3], 1)));
        assert_eq!(search(50, sum), Some((vec![2, 3], 1)));
        assert_eq!(search(20, sum), Some((vec![1, 1], 2)));
        assert_eq!(search(19, sum), None);
    }

    #[test]
    fn loops_that_share_memory_get_fewer_together() {
        let largest = |stages: &[i64]| (10 * stages[0]).max(10 * stages[1]) as u64;
        assert_eq!(search(30, largest), Some((vec![3, 3], 1)));
        assert_eq!(search(20, largest), Some((vec![2, 2], 2)));
        assert_eq!(search(10, largest), Some((vec![1, 1], 2)));
    }
}
