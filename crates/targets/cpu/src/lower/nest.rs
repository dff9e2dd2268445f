//! Loop nests: how the iteration space of a group is walked, chunk by chunk.
//!
//! One dimension is the vector dimension: chunks run along it. Where all masks of a group are bounds of that dimension,
//! its loop is split: chunks inside of all bounds run without masks, several at a time; the others follow one by one.

use super::cx::Cx;
use super::error::Result;
use super::plan::{Group, Root};
use super::strides;
use super::value::{At, Index, Lanes, Linear, Val, Window};
use ir::Value as IrValue;
use llir::{Type, Value};

/// The loop over one dimension.
#[derive(Clone, Debug)]
pub(crate) struct Dim {
    /// Which dimension.
    pub(crate) dim: usize,
    /// Elements that a chunk covers.
    pub(crate) step: i64,
    /// The size of the dimension.
    pub(crate) end: i64,
}

/// How an iteration space is walked.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// Loops from the outside in.
    pub(crate) loops: Vec<Dim>,
    /// The offsets of the lanes along each dimension.
    pub(crate) offsets: Vec<Lanes>,
    /// Lanes of a chunk.
    pub(crate) lanes: u32,
    /// The loop whose chunks are vectors.
    pub(crate) vector: usize,
    /// The most chunks of the innermost loop that run together.
    pub(crate) most_unroll: i64,
    /// Whether the vector loop is split at the bounds that masks give.
    pub(crate) is_split: bool,
}

impl Nest {
    /// A nest over a shape. Chunks run along `vector`; `axis` is that of a reduction, whose loop is the innermost.
    pub(crate) fn new(shape: &[i64], vector: usize, axis: Option<usize>, most_lanes: u32) -> Nest {
        let mut order: Vec<usize> =
            (0..shape.len()).filter(|&dim| dim != vector && Some(dim) != axis).collect();
        order.push(vector);
        let axis = axis.filter(|&axis| axis != vector);
        order.extend(axis);
        let mut steps = vec![1; shape.len()];
        let mut lanes = 1;
        // The vector dimension first; where it is short, its neighbours to the left.
        for &dim in order.iter().rev().filter(|&&dim| Some(dim) != axis) {
            steps[dim] = shape[dim].min(i64::from(most_lanes) / lanes);
            lanes *= steps[dim];
        }
        let mut offsets = vec![vec![0; lanes as usize]; shape.len()];
        let mut below = 1;
        for &dim in order.iter().rev().filter(|&&dim| Some(dim) != axis) {
            for (lane, offset) in offsets[dim].iter_mut().enumerate() {
                *offset = (lane as i64 / below) % steps[dim];
            }
            below *= steps[dim];
        }
        let loops: Vec<Dim> =
            order.iter().map(|&dim| Dim { dim, step: steps[dim], end: shape[dim] }).collect();
        let position = order.iter().position(|&dim| dim == vector).unwrap_or(0);
        let offsets = offsets.into_iter().map(|lanes| Lanes(lanes.into())).collect();
        Nest { loops, offsets, lanes: lanes as u32, vector: position, most_unroll: 4, is_split: true }
    }

    fn innermost(&self) -> usize {
        self.loops.len() - 1
    }
}

/// A nest that is being made.
pub(crate) struct Run<'g> {
    /// What runs in it.
    pub(crate) group: &'g Group,
    /// How.
    pub(crate) nest: Nest,
    /// The positions along each dimension, as far as loops are open.
    pub(crate) linears: Vec<Linear>,
    /// Masks that are bounds of the vector dimension.
    pub(crate) masks: Vec<IrValue>,
    /// Where along that dimension the last of them ends.
    pub(crate) ends: Option<Value>,
    /// Whether those masks hold in all lanes here.
    pub(crate) is_full: bool,
    /// The masks that hold in no lane here.
    pub(crate) none: Vec<IrValue>,
    /// Where along the innermost loop accesses end, if not at the end of the block.
    pub(crate) limit: Option<Value>,
}

/// Bounds of the vector loop.
struct Bounds {
    /// Before it all lanes hold.
    extent: Value,
    /// Before it all chunks are full.
    full: Value,
    /// From it on nothing is left to do.
    end: Value,
    /// The only mask, where it holds in all lanes or in none: then in none behind the full chunks.
    none: Vec<IrValue>,
}

impl Bounds {
    /// Whether nothing is left to do behind the full chunks.
    fn is_done(&self) -> bool {
        self.end == self.full
    }
}

/// How far a mask holds along the vector dimension.
struct Extent {
    mask: IrValue,
    end: Value,
    /// Whether that is nowhere or everywhere.
    is_uniform: bool,
}

/// What the accumulators of the innermost loop are.
pub(crate) type Accumulators = Vec<Vec<Vec<Value>>>;

impl Cx<'_> {
    /// A loop nest for a group.
    pub(crate) fn group(&mut self, group: &Group) -> Result<()> {
        self.walk(group)?;
        for root in &group.roots {
            self.finished(root);
        }
        Ok(())
    }

    /// The loops of a group.
    pub(crate) fn walk(&mut self, group: &Group) -> Result<()> {
        self.group_number += 1;
        let nest = self.shape_nest(group);
        let lanes = std::mem::replace(&mut self.lanes, nest.lanes);
        self.enter();
        let result = self.divided(group, nest);
        self.leave();
        self.lanes = lanes;
        result
    }

    /// Writes a value to a buffer, which the value itself does not move to.
    pub(crate) fn copy_block(&mut self, value: IrValue, buffer: &super::scratch::Buffer) -> Result<()> {
        let shape = super::types::shape(self.module.ty(value)).to_vec();
        let roots = vec![Root::Keep(value, buffer.clone())];
        self.walk(&Group { shape, roots, ..Group::default() })
    }

    /// From now on, values that a root has written are read from memory.
    fn finished(&mut self, root: &Root) {
        match root {
            Root::Keep(value, buffer) => {
                self.buffers.insert(*value, buffer.clone());
            }
            Root::KeepWide(value, buffer) => {
                self.wide.insert(*value, buffer.clone());
            }
            Root::Reduce(op, buffers) => {
                for (&result, buffer) in self.module.results(*op).iter().zip(buffers) {
                    self.buffers.insert(result, buffer.clone());
                }
            }
            Root::Store(_) | Root::Effect(_) | Root::Scan(_) => {}
        }
    }

    /// Runs a nest over the whole space of a group.
    pub(crate) fn run_nest(&mut self, group: &Group, nest: Nest) -> Result<()> {
        let linears = vec![Linear::default(); group.shape.len()];
        let mut run = Run {
            group,
            nest,
            linears,
            masks: vec![],
            ends: None,
            is_full: false,
            none: vec![],
            limit: None,
        };
        self.enter();
        let result = self.level(&mut run, 0);
        self.leave();
        result
    }

    fn level(&mut self, run: &mut Run<'_>, level: usize) -> Result<()> {
        if level == run.nest.innermost() {
            return self.innermost(run);
        }
        let one = run.nest.loops[level].clone();
        let bounds = if level == run.nest.vector { self.bounds(run, level, one.step)? } else { None };
        match bounds {
            None => {
                let (start, end) = (self.b.i64(0), self.b.i64(one.end));
                self.outer(run, level, start, end)
            }
            Some(bounds) => {
                let start = self.b.i64(0);
                run.is_full = true;
                self.outer(run, level, start, bounds.full)?;
                run.is_full = false;
                if bounds.is_done() {
                    return Ok(());
                }
                run.none = bounds.none;
                let rest =
                    self.in_single_registers(run, |cx, run| cx.outer(run, level, bounds.full, bounds.end));
                run.none.clear();
                rest
            }
        }
    }

    /// One loop that is not the innermost.
    fn outer(&mut self, run: &mut Run<'_>, level: usize, start: Value, end: Value) -> Result<()> {
        let one = run.nest.loops[level].clone();
        if one.step == one.end && self.b.as_int(start).is_some() && self.b.as_int(end).is_some() {
            run.linears[one.dim] = Linear::default();
            return self.level(run, level + 1);
        }
        let var = self.new_loop(one.step, one.end);
        let step = self.b.i64(one.step);
        let opened = self.b.begin_for(start, end, step, &[]);
        self.loops[var.0 as usize].counter = Some(opened.iv);
        run.linears[one.dim] = Linear::counter(var);
        self.enter();
        let result = self.level(run, level + 1);
        self.leave();
        self.b.end_for(opened, &[]);
        result
    }

    /// The innermost loop with its accumulators, and what becomes of them.
    fn innermost(&mut self, run: &mut Run<'_>) -> Result<()> {
        let level = run.nest.innermost();
        let one = run.nest.loops[level].clone();
        let unroll = self.unroll(run, &one);
        let is_vector = level == run.nest.vector;
        let bounds = if is_vector { self.bounds(run, level, one.step * unroll)? } else { None };
        let start = self.b.i64(0);
        if let Some(peel) = self.streams.peel.filter(|_| is_vector && !run.group.scans()) {
            return self.peeled(run, &one, unroll, bounds, peel);
        }
        let accumulators = match bounds {
            None => {
                let inits = self.initial(run, unroll as usize);
                let end = self.b.i64(one.end);
                self.inner(run, &one, (start, end), unroll, inits)?
            }
            Some(bounds) => {
                let inits = self.initial(run, unroll as usize);
                run.is_full = true;
                let full = self.inner(run, &one, (start, bounds.full), unroll, inits)?;
                run.is_full = false;
                let merged = self.merge(run, full)?;
                if bounds.is_done() {
                    merged
                } else {
                    run.none = bounds.none;
                    let rest = self.rest(run, (bounds.full, bounds.end), merged);
                    run.none.clear();
                    rest?
                }
            }
        };
        let merged = self.merge(run, accumulators)?;
        self.finish_reductions(run, &merged)
    }

    /// The innermost loop of a group of stores, whose full chunks begin `peel` elements into the block.
    fn peeled(
        &mut self,
        run: &mut Run<'_>,
        one: &Dim,
        unroll: i64,
        bounds: Option<Bounds>,
        peel: Value,
    ) -> Result<()> {
        let size = self.b.i64(one.end);
        let (extent, end) = bounds.map_or((size, size), |bounds| (bounds.extent, bounds.end));
        run.limit = Some(peel);
        let start = self.b.i64(0);
        let plain = self.streams.peel.take();
        let first = self.rest(run, (start, peel), Vec::new());
        self.streams.peel = plain;
        run.limit = None;
        first?;
        let rest = self.b.sub(extent, peel);
        let zero = self.b.i64(0);
        let rest = self.b.intrinsic("llvm.smax", Type::I64, &[rest, zero]);
        let whole = self.b.i64(-(one.step * unroll));
        let rest = self.b.and(rest, whole);
        let full = self.b.add(peel, rest);
        run.is_full = true;
        let done = self.inner(run, one, (peel, full), unroll, Vec::new());
        run.is_full = false;
        done?;
        run.limit = Some(size);
        let peel = self.streams.peel.take();
        let tail = self.rest(run, (full, end), Vec::new());
        self.streams.peel = peel;
        run.limit = None;
        tail.map(|_| ())
    }

    /// The chunks of the innermost loop that run one by one: of one register each.
    fn rest(
        &mut self,
        run: &mut Run<'_>,
        range: (Value, Value),
        partials: Accumulators,
    ) -> Result<Accumulators> {
        self.in_single_registers(run, |cx, run| {
            let partials = cx.narrow_partials(run, partials)?;
            let one = run.nest.loops[run.nest.innermost()].clone();
            let Some(last) = cx.end_of_difference(run, &one, range.0) else {
                return cx.inner(run, &one, range, 1, partials);
            };
            let partials = cx.inner(run, &one, (range.0, last), 1, partials)?;
            cx.until_nothing_changes(run, &one, (last, range.1), partials)
        })
    }

    /// Runs part of a nest in chunks of one register: few elements are left, and code for several would be as long again.
    fn in_single_registers<T>(
        &mut self,
        run: &mut Run<'_>,
        part: impl FnOnce(&mut Self, &mut Run<'_>) -> Result<T>,
    ) -> Result<T> {
        let (most, wide) = (self.machine.lanes(), run.nest.clone());
        if wide.lanes <= most {
            return part(self, run);
        }
        let narrow = Nest::new(&run.group.shape, wide.loops[wide.vector].dim, run.group.axis, most);
        run.nest = Nest { most_unroll: wide.most_unroll, is_split: wide.is_split, ..narrow };
        let lanes = std::mem::replace(&mut self.lanes, run.nest.lanes);
        let result = part(self, run);
        self.lanes = lanes;
        run.nest = wide;
        result
    }

    /// One loop over chunks, `unroll` at a time.
    fn inner(
        &mut self,
        run: &mut Run<'_>,
        one: &Dim,
        range: (Value, Value),
        unroll: i64,
        inits: Accumulators,
    ) -> Result<Accumulators> {
        let (start, end) = range;
        let step = one.step * unroll;
        let is_single = self.b.as_int(start) == Some(0) && self.b.as_int(end) == Some(i128::from(step));
        if is_single {
            return self.body(run, one, Linear::default(), unroll, inits, None);
        }
        let var = self.new_loop(step, one.end);
        let step = self.b.i64(step);
        let inits = if unroll > 1 { self.with_opposites(run, inits) } else { inits };
        let flat: Vec<Value> = inits.iter().flatten().flatten().copied().collect();
        let opened = self.b.begin_for(start, end, step, &flat);
        self.loops[var.0 as usize].counter = Some(opened.iv);
        self.enter();
        let carried = refill(&inits, &opened.carried);
        let results = self.body(run, one, Linear::counter(var), unroll, carried, Some(opened.iv));
        self.leave();
        let results = results?;
        let flat: Vec<Value> = results.iter().flatten().flatten().copied().collect();
        let after = refill(&results, &self.b.end_for(opened, &flat));
        Ok(if unroll > 1 { self.without_opposites(run, after) } else { after })
    }

    /// The chunks of one round.
    pub(crate) fn body(
        &mut self,
        run: &mut Run<'_>,
        one: &Dim,
        position: Linear,
        unroll: i64,
        mut accumulators: Accumulators,
        counter: Option<Value>,
    ) -> Result<Accumulators> {
        let chunks: Vec<At> = (0..unroll)
            .map(|number| {
                let mut linears = run.linears.clone();
                linears[one.dim] = position.add(&Linear::constant(number * one.step));
                self.position(&run.nest, &linears)
            })
            .collect();
        let none = std::mem::replace(&mut self.none, run.none.clone());
        let outer = (std::mem::take(&mut self.full), none, std::mem::take(&mut self.full_at));
        if run.is_full {
            self.full = run.masks.iter().copied().collect();
        }
        if run.is_full || !run.none.is_empty() {
            self.full_at = chunks.iter().map(|at| at.id).collect();
        }
        let inside = Window { start: None, count: run.limit, linear: position.scale(-1) };
        self.streams.limit = run.limit.map(|_| self.window_vector(&inside));
        let result = self.roots(run, &chunks, &mut accumulators, counter);
        self.streams.limit = None;
        (self.full, self.none, self.full_at) = outer;
        result.map(|()| accumulators)
    }

    fn roots(
        &mut self,
        run: &Run<'_>,
        chunks: &[At],
        accumulators: &mut Accumulators,
        counter: Option<Value>,
    ) -> Result<()> {
        let mut carried = accumulators.iter_mut();
        for root in &run.group.roots {
            match root {
                Root::Store(op) => {
                    for at in chunks {
                        self.store(*op, at).map_err(|error| error.at(self.module, *op))?;
                    }
                }
                Root::Effect(op) => {
                    for at in chunks {
                        self.effect(*op, at).map_err(|error| error.at(self.module, *op))?;
                    }
                }
                Root::Keep(value, buffer) => {
                    for at in chunks {
                        let val = self.eval(*value, at)?;
                        self.keep(buffer, &val, self.module.ty(*value), at)?;
                    }
                }
                Root::KeepWide(value, buffer) => {
                    for at in chunks {
                        let vector = self.eval_wide(*value, at)?;
                        self.write(buffer, vector, at)?;
                    }
                }
                Root::Scan(op) => {
                    let Some(partials) = carried.next() else { continue };
                    self.scan_chunks(*op, chunks, partials, counter)
                        .map_err(|error| error.at(self.module, *op))?;
                }
                Root::Reduce(op, _) => {
                    let Some(partials) = carried.next() else { continue };
                    self.accumulate(*op, chunks, partials, counter)
                        .map_err(|error| error.at(self.module, *op))?;
                }
            }
        }
        Ok(())
    }

    /// A position of a nest.
    pub(crate) fn position(&mut self, nest: &Nest, linears: &[Linear]) -> At {
        let dims = linears
            .iter()
            .zip(&nest.offsets)
            .map(|(linear, lanes)| Index::Known(linear.clone(), lanes.clone()))
            .collect();
        self.at(dims)
    }

    /// The bounds of the vector loop, if masks give any. `step` is that of the unmasked loop.
    fn bounds(&mut self, run: &mut Run<'_>, level: usize, step: i64) -> Result<Option<Bounds>> {
        run.ends = None;
        let one = run.nest.loops[level].clone();
        if !run.nest.is_split
            || run.nest.offsets[one.dim].stride() != Some(1)
            || i64::from(run.nest.lanes) != one.step
        {
            return Ok(None);
        }
        let candidates = self.masks_of(run.group);
        let mut linears = run.linears.clone();
        let var = self.new_loop(one.step, one.end);
        linears[one.dim] = Linear::counter(var);
        for deeper in &run.nest.loops[level + 1..] {
            linears[deeper.dim] = Linear::counter(self.new_loop(deeper.step, deeper.end));
        }
        let at = self.position(&run.nest, &linears);
        let end = self.b.i64(one.end);
        let mut extents: Vec<Extent> = Vec::new();
        for mask in candidates {
            extents.extend(self.extent(mask, &at, var, end)?);
        }
        if extents.is_empty() {
            return Ok(None);
        }
        run.masks = extents.iter().map(|extent| extent.mask).collect();
        if let [Extent { mask, end: full, is_uniform: true }] = extents[..]
            && one.end % step == 0
        {
            let end = if self.stores_only(run.group, mask) { full } else { end };
            return Ok(Some(Bounds { extent: full, full, end, none: vec![mask] }));
        }
        let zero = self.b.i64(0);
        let (mut full, mut ends) = (end, zero);
        for extent in &extents {
            full = self.b.intrinsic("llvm.smin", Type::I64, &[full, extent.end]);
            ends = self.b.intrinsic("llvm.smax", Type::I64, &[ends, extent.end]);
        }
        run.ends = Some(ends);
        full = self.b.intrinsic("llvm.smax", Type::I64, &[full, zero]);
        let extent = full;
        let whole = self.b.i64(-step);
        full = self.b.and(full, whole);
        let last = self.last_needed(run.group, &extents, end);
        let last = self.b.intrinsic("llvm.smax", Type::I64, &[last, full]);
        Ok(Some(Bounds { extent, full, end: last, none: Vec::new() }))
    }

    /// Where a group that only stores under masks may stop.
    fn last_needed(&mut self, group: &Group, extents: &[Extent], end: Value) -> Value {
        let mut last = self.b.i64(0);
        for root in group.roots.iter().filter(|root| !matches!(root, Root::Scan(_))) {
            let Root::Store(op) = root else { return end };
            if self.starts_late(*op) {
                return end;
            }
            let mask = ttir::ops::memory::mask(self.module, *op);
            let extent = extents.iter().find(|extent| Some(extent.mask) == mask);
            let Some(extent) = extent else { return end };
            last = self.b.intrinsic("llvm.smax", Type::I64, &[last, extent.end]);
        }
        self.b.intrinsic("llvm.smin", Type::I64, &[last, end])
    }

    /// Whether the mask of a store may begin behind the first lane.
    fn starts_late(&self, op: ir::Op) -> bool {
        let mask = ttir::ops::memory::mask(self.module, op);
        mask.is_some_and(|mask| strides::compares_from_below(self.module, mask, 8))
    }

    /// How far a mask holds along the vector dimension, if its form alone says so.
    fn extent(
        &mut self,
        mask: IrValue,
        at: &At,
        var: super::value::LoopVar,
        end: Value,
    ) -> Result<Option<Extent>> {
        self.probe = Some(false);
        self.enter();
        let val = self.eval(mask, at);
        let is_uniform = matches!(val, Ok(Val::Uniform(_)));
        let extent = match val {
            Ok(Val::Window(window)) if window.linear.coefficient(var) == -1 => {
                let more = self.linear(&window.linear.add(&Linear::counter(var)));
                let extent = match window.count {
                    Some(count) => self.b.add(count, more),
                    None => end,
                };
                // A window that starts later leaves no chunk to run unmasked from the first on.
                Some(match window.start {
                    Some(start) => {
                        let start = self.b.add(start, more);
                        let zero = self.b.i64(0);
                        let is_first = self.b.icmp(llir::IntCompare::Sle, start, zero);
                        self.b.select(is_first, extent, zero)
                    }
                    None => extent,
                })
            }
            Ok(Val::Uniform(condition)) => {
                let zero = self.b.i64(0);
                Some(self.b.select(condition, end, zero))
            }
            Ok(_) => None,
            Err(_) => None,
        };
        self.leave();
        let failed = self.probe.take() == Some(true);
        Ok(extent.filter(|_| !failed).map(|end| Extent { mask, end, is_uniform }))
    }
}

/// The same nesting with other values.
pub(crate) fn refill(shape: &Accumulators, values: &[Value]) -> Accumulators {
    let mut next = values.iter().copied();
    shape
        .iter()
        .map(|results| {
            results
                .iter()
                .map(|partials| partials.iter().map(|&old| next.next().unwrap_or(old)).collect())
                .collect()
        })
        .collect()
}
