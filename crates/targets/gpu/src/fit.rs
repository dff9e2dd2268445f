//! Fewer stages, or smaller buffers of bulk stores, where a kernel asks for more shared memory than there is.
//!
//! How much a program needs is known once its buffers are placed: loops that follow each other share memory, and so
//! does the scratch memory of conversions. So nothing is estimated here. Stages are taken away one at a time, the ones
//! that cost least first, and the program is compiled anew up to its memory plan, until it fits or no loop has a second
//! stage left. Where stages are lost, or that is not enough, blocks that bulk stores move while their loops go on are
//! stored in two parts or in four, if loops have more stages then.

use ir::{Attr, Diagnostic, Module, Op, Traits, Type};
use ttgir::module::set_store_bytes;
use ttir::ops::control::{ForOp, NUM_STAGES};
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::dot::is_dot;

/// In how many parts the largest bulk stores may be done.
const PARTS: [u64; 2] = [2, 4];

/// A loop that is pipelined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pipelined {
    op: Op,
    stages: u32,
    /// Loops around it.
    depth: usize,
    has_dots: bool,
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
    /// What was done, for the author of the kernel: which loops have fewer stages.
    pub(crate) remarks: Vec<Diagnostic>,
}

/// What a program needs of shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    /// All of it.
    pub(crate) bytes: u64,
    /// The buffers of bulk stores among it.
    pub(crate) staged: u64,
    /// What there is.
    pub(crate) limit: u64,
}

impl Fit {
    /// The loops of a program that are pipelined; `None` if nothing of it could take less: no loop says how many stages
    /// it has, or gets them for its dots, and no block is stored by a bulk copy while a loop goes on. `num_stages` is
    /// what loops with dots get that say nothing.
    pub(crate) fn of(module: &Module, num_stages: u32) -> Option<Fit> {
        let ops = module.walk(module.top());
        let has_loops = ops.iter().any(|&op| ForOp::of(module, op).is_some());
        if !has_loops || !ops.iter().any(|&op| may_take_less(module, op)) {
            return None;
        }
        let mut module = module.clone();
        ttgir::passes::set_default_stages(&mut module, num_stages);
        let loops: Vec<Pipelined> =
            module.walk(module.top()).into_iter().filter_map(|op| pipelined(&module, op)).collect();
        Some(Fit { module, loops })
    }

    /// Takes stages away until the program fits, in such parts of bulk stores that the fewest are lost. `need` is what
    /// it needs as it is; `measure` says what a program needs.
    ///
    /// # Errors
    /// What `measure` says.
    pub(crate) fn search<E>(
        &self,
        need: Need,
        measure: &mut dyn FnMut(Module) -> Result<u64, E>,
    ) -> Result<Option<Fitted>, E> {
        let asked: Vec<u32> = self.loops.iter().map(|pipelined| pipelined.stages).collect();
        let mut best =
            self.fewer(&asked, None, (need.bytes, need.limit), measure)?.map(|found| (found, None));
        let count = |stages: &[u32]| stages.iter().sum::<u32>();
        for parts in PARTS.into_iter().filter(|_| need.staged > 0) {
            let kept = best.as_ref().map(|(stages, _)| count(stages));
            if kept == Some(count(&asked)) {
                break;
            }
            let store_bytes = Some(need.staged / parts);
            let bytes = measure(self.with(&asked, store_bytes))?;
            let found = self.fewer(&asked, store_bytes, (bytes, need.limit), measure)?;
            best = match found.filter(|stages| kept.is_none_or(|kept| count(stages) > kept)) {
                Some(stages) => Some((stages, store_bytes)),
                None => best,
            };
        }
        let fitted = best.map(|(stages, store_bytes)| Fitted {
            remarks: self.remarks(&stages, need),
            module: self.with(&stages, store_bytes),
        });
        Ok(fitted)
    }

    /// The stages with which the program fits, if it does at all.
    fn fewer<E>(
        &self,
        asked: &[u32],
        store_bytes: Option<u64>,
        (mut bytes, limit): (u64, u64),
        measure: &mut dyn FnMut(Module) -> Result<u64, E>,
    ) -> Result<Option<Vec<u32>>, E> {
        let mut stages = asked.to_vec();
        while bytes > limit {
            let mut best: Option<Candidate> = None;
            for index in (0..stages.len()).filter(|&index| stages[index] > 1) {
                let mut fewer = stages.clone();
                fewer[index] -= 1;
                let step = Candidate {
                    bytes: measure(self.with(&fewer, store_bytes))?,
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
                let bytes = measure(self.with(&fewer, store_bytes))?;
                (fewer, bytes)
            };
        }
        Ok(Some(stages))
    }

    /// One stage less for the loops with the most of them.
    fn all_fewer(&self, stages: &[u32]) -> Vec<u32> {
        let most = stages.iter().copied().max().unwrap_or(1);
        stages.iter().map(|&own| if own == most { own - 1 } else { own }).collect()
    }

    /// The most stages that a loop over dots asks for, if there is one that is pipelined.
    pub(crate) fn most_stages(&self) -> Option<u32> {
        self.loops.iter().filter(|pipelined| pipelined.has_dots).map(|pipelined| pipelined.stages).max()
    }

    /// The program with so many stages more for loops over dots.
    pub(crate) fn deeper(&self, more: u32) -> Module {
        let stages = |of: &Pipelined| of.stages + if of.has_dots { more } else { 0 };
        self.staged(&self.loops.iter().map(stages).collect::<Vec<_>>())
    }

    fn with(&self, stages: &[u32], store_bytes: Option<u64>) -> Module {
        let mut module = self.staged(stages);
        ttgir::module::let_operands_stay(&mut module);
        set_store_bytes(&mut module, store_bytes);
        module
    }

    fn staged(&self, stages: &[u32]) -> Module {
        let mut module = self.module.clone();
        for (pipelined, &stages) in self.loops.iter().zip(stages) {
            let attr = Attr::int(i64::from(stages), Type::int(32));
            module.set_extra(pipelined.op, NUM_STAGES.key(), Some(attr));
        }
        module
    }

    fn remarks(&self, stages: &[u32], need: Need) -> Vec<Diagnostic> {
        let Need { bytes, limit, .. } = need;
        let changed =
            self.loops.iter().zip(stages).filter(|(pipelined, stages)| pipelined.stages != **stages);
        let remark = |(pipelined, stages): (&Pipelined, &u32)| {
            let message = format!(
                "the loop is pipelined in {stages} stages in place of {}: with as many as are asked for the kernel needs {bytes} bytes of \
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
    let has_dots = module.walk(op).into_iter().any(|op| is_dot(module, op));
    (stages > 1).then_some(Pipelined { op, stages, depth, has_dots })
}

/// Whether an operation says that a loop is pipelined, lets it be, or may become a bulk store.
fn may_take_less(module: &Module, op: Op) -> bool {
    let is_staged = ForOp::of(module, op).is_some_and(|of| of.stages() > 1);
    is_staged || is_dot(module, op) || DescriptorAccessOp::written(module, op).is_some()
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
    use super::{Fit, Need};
    use ttgir::module::store_bytes;
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

    fn fit() -> Fit {
        let module = ir::text::parse(TEXT, ttgir::registry(), ir::text::ParseOptions::default());
        Fit::of(&module.expect("text"), 3).expect("there are loops")
    }

    /// Searches where the first loop takes `each[0]` bytes a stage and the other `each[1]`.
    fn search(limit: u64, need: fn(&[i64]) -> u64) -> Option<(Vec<i64>, usize)> {
        let mut measure = |module: ir::Module| Ok::<u64, ()>(need(&stages(&module)));
        let need = Need { bytes: need(&[4, 3]), staged: 0, limit };
        let fitted = fit().search(need, &mut measure).expect("measured");
        fitted.map(|fitted| (stages(&fitted.module), fitted.remarks.len()))
    }

    /// Searches where both loops take 10 bytes a stage, and a bulk store 40, or what it is asked to take, but never
    /// less than 16. Gives what it is asked to take with the stages.
    fn search_stores(limit: u64) -> Option<(Vec<i64>, Option<u64>)> {
        let need = |module: &ir::Module| {
            let stages: u64 = stages(module).iter().map(|&own| own as u64 * 10).sum();
            stages + store_bytes(module).map_or(40, |bytes| bytes.max(16))
        };
        let mut measure = |module: ir::Module| Ok::<u64, ()>(need(&module));
        let fitted = fit().search(Need { bytes: 110, staged: 40, limit }, &mut measure).expect("measured");
        fitted.map(|fitted| (stages(&fitted.module), store_bytes(&fitted.module)))
    }

    #[test]
    fn scaled_dots_are_dots() {
        let text = "module {
  tt.func public @f(%n: i32, %x: tensor<128x64xbf16>, %w: tensor<64x64xi8>, %s: tensor<64x4xi8>, %c: tensor<128x64xf32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> (tensor<128x64xf32>) : i32 {
      %e = tt.dot_scaled %x, %w scale %s, %sum lhs = bf16 rhs = e4m3 {fastMath = true} : tensor<128x64xbf16> * tensor<64x64xi8>, tensor<64x4xi8> -> tensor<128x64xf32>
      scf.yield %e : tensor<128x64xf32>
    }
    tt.return
  }
}
";
        let module = ir::text::parse(text, ttgir::registry(), ir::text::ParseOptions::default());
        let fit = Fit::of(&module.expect("text"), 4).expect("the loop has a dot");
        assert_eq!(fit.most_stages(), Some(4));
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
    fn stores_are_done_in_parts_where_that_keeps_a_stage() {
        assert_eq!(search_stores(100), Some((vec![4, 3], Some(20))));
        assert_eq!(search_stores(86), Some((vec![4, 3], Some(10))));
        // Two parts leave as many stages as four.
        assert_eq!(search_stores(80), Some((vec![3, 3], Some(20))));
        // Without a store nothing is gained by parts of it.
        let sum = |stages: &[i64]| stages.iter().map(|&own| own as u64 * 10).sum();
        assert_eq!(search(60, sum), Some((vec![3, 3], 1)));
    }

    #[test]
    fn stores_are_done_in_parts_where_no_stage_is_left() {
        let text = TEXT.replace("{tt.num_stages = 4 : i32}", "").replace("{tt.num_stages = 3 : i32}", "");
        let of = |text: &str| {
            let module = ir::text::parse(text, ttgir::registry(), ir::text::ParseOptions::default());
            Fit::of(&module.expect("text"), 1)
        };
        assert!(of(&text).is_none(), "no loop has a second stage, and nothing is stored");
        let store = "
    %x = arith.constant dense<0.0> : tensor<64x64xf16>
    tt.descriptor_store %d[%c0, %c0], %x : !tt.tensordesc<64x64xf16>, tensor<64x64xf16>
    tt.return";
        let text = text.replace("%n: i32", "%n: i32, %d: !tt.tensordesc<64x64xf16>");
        let fit = of(&text.replace("\n    tt.return", store)).expect("there are loops and a store");
        let found = |limit: u64| {
            let mut measure = |module: ir::Module| {
                Ok::<u64, ()>(60 + store_bytes(&module).map_or(40, |bytes| bytes.max(16)))
            };
            let fitted = fit.search(Need { bytes: 100, staged: 40, limit }, &mut measure).expect("measured");
            fitted.map(|fitted| (store_bytes(&fitted.module), fitted.remarks.len()))
        };
        assert_eq!(found(80), Some((Some(20), 0)));
        assert_eq!(found(79), Some((Some(10), 0)));
        assert_eq!(found(75), None);
    }

    #[test]
    fn loops_that_share_memory_get_fewer_together() {
        let largest = |stages: &[i64]| (10 * stages[0]).max(10 * stages[1]) as u64;
        assert_eq!(search(30, largest), Some((vec![3, 3], 1)));
        assert_eq!(search(20, largest), Some((vec![2, 2], 2)));
        assert_eq!(search(10, largest), Some((vec![1, 1], 2)));
    }
}
