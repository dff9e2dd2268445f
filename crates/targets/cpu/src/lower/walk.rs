//! How the iteration space of a group is walked, chunk by chunk.
//!
//! One dimension is the vector dimension: chunks run along it. Where all masks of a group are bounds of that dimension,
//! its loop is split: chunks inside of all bounds run without masks, several at a time; the others follow one by one.

use super::bounds::Bounds;
use super::chunk::Chunks;
use super::error::Result;
use super::nest::{Accumulators, Dim, Iteration, Run, refill};
use super::plan::Root;
use super::value::{At, Linear, Val, Window};
use llir::{Type, Value, intrinsics};

impl Chunks<'_, '_> {
    /// Walks the whole space of a group.
    pub(crate) fn walk_space(&mut self, run: &Run<'_>) -> Result<()> {
        self.scoped(|chunks| chunks.level(run, 0))?;
        self.fold_rows()
    }

    fn level(&mut self, run: &Run<'_>, level: usize) -> Result<()> {
        if level == run.nest.innermost() {
            return self.innermost(run);
        }
        let one = run.nest.loops[level].clone();
        let bounds = if level == run.nest.vector { self.bounds(run, level, one.step)? } else { None };
        let start = self.b.i64(0);
        let Some(bounds) = bounds else {
            let end = self.b.i64(one.end);
            return self.outer(run, level, start, end);
        };
        self.outer(&bounds.inside(run), level, start, bounds.full)?;
        if bounds.is_done() {
            return Ok(());
        }
        let rest = bounds.behind(run).in_single_registers(self.machine.lanes());
        self.of_lanes(rest.nest.lanes).outer(&rest, level, bounds.full, bounds.end)
    }

    /// One loop that is not the innermost.
    fn outer(&mut self, run: &Run<'_>, level: usize, start: Value, end: Value) -> Result<()> {
        let one = &run.nest.loops[level];
        if one.step == one.end && self.b.as_int(start).is_some() && self.b.as_int(end).is_some() {
            return self.level(&run.at_level(level, Linear::default()), level + 1);
        }
        let step = self.b.i64(one.step);
        let opened = self.b.begin_for(start, end, step, &[]);
        let var = self.counted_loop(one.step, one.end, opened.iv);
        let run = run.at_level(level, Linear::counter(var));
        self.scoped(|chunks| chunks.level(&run, level + 1))?;
        self.b.end_for(opened, &[]);
        Ok(())
    }

    /// The innermost loop with its accumulators, and what becomes of them.
    fn innermost(&mut self, run: &Run<'_>) -> Result<()> {
        let (level, one) = (run.nest.innermost(), run.innermost());
        let unroll = run.unroll(self.module, self.machine);
        let is_vector = level == run.nest.vector;
        let bounds = if is_vector { self.bounds(run, level, one.step * unroll)? } else { None };
        let start = self.b.i64(0);
        if let Some(peel) = self.assumed.peel.filter(|_| is_vector && !self.assumed.begins_first) {
            return self.peeled(run, unroll, bounds, peel);
        }
        let inits = self.initial(run, unroll as usize);
        let accumulators = match bounds {
            None => {
                let end = self.b.i64(one.end);
                self.inner(run, (start, end), unroll, inits)?
            }
            Some(bounds) => {
                let full = self.inner(&bounds.inside(run), (start, bounds.full), unroll, inits)?;
                let merged = self.merge(run, full)?;
                match bounds.is_done() {
                    true => merged,
                    false => self.rest(&bounds.behind(run), (bounds.full, bounds.end), merged)?,
                }
            }
        };
        let merged = self.merge(run, accumulators)?;
        self.finish_reductions(run, &merged)
    }

    /// The innermost loop of a group of stores, whose full chunks begin `peel` elements into the block.
    fn peeled(&mut self, run: &Run<'_>, unroll: i64, bounds: Option<Bounds>, peel: Value) -> Result<()> {
        let one = run.innermost();
        let (size, start) = (self.b.i64(one.end), self.b.i64(0));
        let (extent, end) = bounds.as_ref().map_or((size, size), |bounds| (bounds.extent, bounds.end));
        let first = Run { limit: Some(peel), ..run.clone() };
        self.rest(&first, (start, peel), Vec::new())?;
        let rest = self.b.sub(extent, peel);
        let zero = self.b.i64(0);
        let rest = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[rest, zero]);
        let whole = self.b.i64(-(one.step * unroll));
        let rest = self.b.and(rest, whole);
        let full = self.b.add(peel, rest);
        let inside = bounds.map_or_else(|| run.clone(), |bounds| bounds.inside(run));
        self.inner(&inside, (peel, full), unroll, Vec::new())?;
        let tail = Run { limit: Some(size), ..run.clone() };
        self.rest(&tail, (full, end), Vec::new()).map(|_| ())
    }

    /// Part of a group of stores of one dimension: whole chunks as far as masks hold, then what is left.
    pub(crate) fn stretch(
        &mut self,
        run: &Run<'_>,
        bounds: Option<&Bounds>,
        [start, end]: [Value; 2],
        extent: Value,
    ) -> Result<()> {
        let unroll = run.unroll(self.module, self.machine);
        let step = run.innermost().step * unroll;
        let held = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[end, extent]);
        let length = self.b.sub(held, start);
        let zero = self.b.i64(0);
        let length = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[length, zero]);
        let whole = self.b.i64(-step);
        let length = self.b.and(length, whole);
        let full = self.b.add(start, length);
        let inside = bounds.map_or_else(|| run.clone(), |bounds| bounds.inside(run));
        self.inner(&inside, (start, full), unroll, Vec::new())?;
        let tail = Run { limit: Some(end), ..run.clone() };
        self.rest(&tail, (full, end), Vec::new()).map(|_| ())
    }

    /// The chunks of the innermost loop that run one by one, of one register each: few elements are left, and code for
    /// several would be as long again.
    fn rest(&mut self, run: &Run<'_>, range: (Value, Value), partials: Accumulators) -> Result<Accumulators> {
        let run = &run.in_single_registers(self.machine.lanes());
        let mut chunks = self.of_lanes(run.nest.lanes);
        let partials = chunks.narrow_partials(run, partials)?;
        let Some(last) = chunks.end_of_difference(run, range.0) else {
            return chunks.inner(run, range, 1, partials);
        };
        let partials = chunks.inner(run, (range.0, last), 1, partials)?;
        chunks.until_nothing_changes(run, (last, range.1), partials, |chunks, run, one, partials| {
            chunks.body(run, one, partials)
        })
    }

    /// One loop over chunks, `unroll` at a time.
    fn inner(
        &mut self,
        run: &Run<'_>,
        (start, end): (Value, Value),
        unroll: i64,
        inits: Accumulators,
    ) -> Result<Accumulators> {
        let one = run.innermost();
        let step = one.step * unroll;
        if self.b.as_int(start) == Some(0) && self.b.as_int(end) == Some(i128::from(step)) {
            let only = Iteration { position: Linear::default(), counter: None, chunks: unroll };
            return self.body(run, only, inits);
        }
        let by = self.b.i64(step);
        let inits = if unroll > 1 { self.with_opposites(run, inits) } else { inits };
        let flat: Vec<Value> = inits.iter().flatten().flatten().copied().collect();
        let opened = self.b.begin_for(start, end, by, &flat);
        let position = Linear::counter(self.counted_loop(step, one.end, opened.iv));
        let carried = refill(&inits, &opened.carried);
        let each = Iteration { position, counter: Some(opened.iv), chunks: unroll };
        let results = self.body(run, each, carried)?;
        let flat: Vec<Value> = results.iter().flatten().flatten().copied().collect();
        let after = refill(&results, &self.b.end_for(opened, &flat));
        Ok(if unroll > 1 { self.without_opposites(run, after) } else { after })
    }

    /// The chunks of one iteration.
    fn body(
        &mut self,
        run: &Run<'_>,
        one: Iteration,
        mut accumulators: Accumulators,
    ) -> Result<Accumulators> {
        let Dim { dim, step, .. } = *run.innermost();
        let chunks: Vec<At> = (0..one.chunks)
            .map(|number| {
                let mut linears = run.linears.clone();
                linears[dim] = one.position.add(&Linear::constant(number * step));
                self.position(&run.nest, &linears)
            })
            .collect();
        let inside = Window { start: None, count: run.limit, linear: one.position.scale(-1) };
        let limit = run.limit.map(|_| self.window_vector(&inside));
        self.inside(limit).scoped(|own| {
            for &(mask, holds) in &run.known {
                let holds = Val::Uniform(own.b.bool(holds));
                chunks.iter().for_each(|at| own.remember(mask, at, holds.clone()));
            }
            own.roots(run, &chunks, &mut accumulators, one.counter)
        })?;
        Ok(accumulators)
    }

    fn roots(
        &mut self,
        run: &Run<'_>,
        chunks: &[At],
        accumulators: &mut Accumulators,
        counter: Option<Value>,
    ) -> Result<()> {
        let module = self.module;
        let mut carried = accumulators.iter_mut();
        for root in &run.group.roots {
            match root {
                Root::Store(op) => chunks
                    .iter()
                    .try_for_each(|at| self.store(*op, at))
                    .map_err(|error| error.at(module, *op))?,
                Root::Effect(op) => chunks
                    .iter()
                    .try_for_each(|at| self.effect(*op, at))
                    .map_err(|error| error.at(module, *op))?,
                Root::Keep(value, buffer) => {
                    chunks.iter().try_for_each(|at| self.keep(*value, buffer, at))?;
                }
                Root::KeepWide(value, buffer) => {
                    chunks.iter().try_for_each(|at| self.keep_wide(*value, buffer, at))?;
                }
                Root::Scan(op) => {
                    let Some(partials) = carried.next() else { continue };
                    self.scan_chunks(*op, chunks, partials, counter)
                        .map_err(|error| error.at(module, *op))?;
                }
                Root::Reduce(op, _) => {
                    let Some(partials) = carried.next() else { continue };
                    let is_along = run.group.axis == Some(run.nest.loops[run.nest.vector].dim);
                    self.accumulate(*op, (chunks, is_along), partials, counter)
                        .map_err(|error| error.at(module, *op))?;
                }
            }
        }
        Ok(())
    }
}
