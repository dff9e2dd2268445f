//! Loop nests as data: in which order the dimensions of an iteration space are walked, and how many lanes a chunk has.

use super::chunk::{Assumed, Chunks, Memo};
use super::emitter::Emitter;
use super::error::Result;
use super::plan::Group;
use super::subtarget::Subtarget;
use super::value::{At, Index, Lanes, Linear};
use ir::{Module, Value as IrValue};
use llir::Value;
use std::rc::Rc;

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
        let position =
            order.iter().position(|&dim| dim == vector).expect("the vector runs along a dimension");
        let offsets = offsets.into_iter().map(|lanes| Lanes(lanes.into())).collect();
        Nest { loops, offsets, lanes: lanes as u32, vector: position, most_unroll: 4, is_split: true }
    }

    /// The same without anything that makes code longer.
    pub(crate) fn plain(&self) -> Nest {
        Nest { most_unroll: 1, is_split: false, ..self.clone() }
    }

    /// The level of the innermost loop.
    pub(crate) fn innermost(&self) -> usize {
        self.loops.len() - 1
    }
}

/// A nest that is being built, or a part of it.
#[derive(Clone)]
pub(crate) struct Run<'g> {
    /// What runs in it.
    pub(crate) group: &'g Group,
    /// How.
    pub(crate) nest: Rc<Nest>,
    /// The positions along each dimension, as far as loops are open.
    pub(crate) linears: Vec<Linear>,
    /// Masks that are bounds of the vector dimension.
    pub(crate) masks: Vec<IrValue>,
    /// Where along that dimension the last of them ends.
    pub(crate) ends: Option<Value>,
    /// Masks that hold in all lanes here, or in none.
    pub(crate) known: Vec<(IrValue, bool)>,
    /// Where along the innermost loop accesses end, if not at the end of the block.
    pub(crate) limit: Option<Value>,
}

/// One iteration of the innermost loop.
#[derive(Clone, Debug)]
pub(crate) struct Iteration {
    /// Where its first chunk is.
    pub(crate) position: Linear,
    /// The counter, where there is a loop.
    pub(crate) counter: Option<Value>,
    /// Chunks that run together.
    pub(crate) chunks: i64,
}

/// Chunks of a loop of which no more than two run together.
const FEW_TRIPS: i64 = 8;

impl<'g> Run<'g> {
    /// The whole space of a group.
    pub(crate) fn new(group: &'g Group, nest: Nest) -> Run<'g> {
        let linears = vec![Linear::default(); group.shape.len()];
        Run {
            group,
            nest: Rc::new(nest),
            linears,
            masks: Vec::new(),
            ends: None,
            known: Vec::new(),
            limit: None,
        }
    }

    /// The innermost loop.
    pub(crate) fn innermost(&self) -> &Dim {
        &self.nest.loops[self.nest.innermost()]
    }

    /// The same for a loop that is open, or whose only position is the first.
    pub(crate) fn at_level(&self, level: usize, position: Linear) -> Run<'g> {
        let mut run = self.clone();
        run.linears[self.nest.loops[level].dim] = position;
        run
    }

    /// The same in chunks of no more than one register.
    pub(crate) fn in_single_registers(&self, most_lanes: u32) -> Run<'g> {
        let wide = &self.nest;
        if wide.lanes <= most_lanes {
            return self.clone();
        }
        let narrow = Nest::new(&self.group.shape, wide.loops[wide.vector].dim, self.group.axis, most_lanes);
        let nest = Nest { most_unroll: wide.most_unroll, is_split: wide.is_split, ..narrow };
        Run { nest: Rc::new(nest), ..self.clone() }
    }

    /// Chunks of the innermost loop that run together: enough to hide latencies, few enough to stay in registers.
    pub(crate) fn unroll(&self, module: &Module, machine: &Subtarget) -> i64 {
        let (group, one) = (self.group, self.innermost());
        let trips = one.end / one.step;
        let wanted = match group.size(module) {
            _ if group.has_effects() || group.scans() => 1,
            _ if group.is_sequential(module) || group.keeps_order(module) => 1,
            0..=24 => 4,
            25..=60 => 2,
            _ => 1,
        };
        // A loop of a few iterations is over before more code pays.
        let most = if trips <= FEW_TRIPS { 2 } else { self.nest.most_unroll };
        // Wide chunks are several at once already.
        let width = i64::from((self.nest.lanes / machine.lanes()).max(1));
        (wanted / width).min(most).min(self.nest.most_unroll).min(trips).max(1)
    }
}

/// What the accumulators of the innermost loop are.
pub(crate) type Accumulators = Vec<Vec<Vec<Value>>>;

/// The same nesting with other values.
pub(crate) fn refill(shape: &Accumulators, values: &[Value]) -> Accumulators {
    let mut next = values.iter().copied();
    shape
        .iter()
        .map(|results| {
            results
                .iter()
                .map(|partials| {
                    partials.iter().map(|_| next.next().expect("a value for each accumulator")).collect()
                })
                .collect()
        })
        .collect()
}

impl Chunks<'_, '_> {
    /// A position of a nest.
    pub(crate) fn position(&mut self, nest: &Nest, linears: &[Linear]) -> At {
        let dims = linears
            .iter()
            .zip(&nest.offsets)
            .map(|(linear, lanes)| Index::Known(linear.clone(), lanes.clone()))
            .collect();
        self.at(dims)
    }
}

impl Emitter<'_> {
    /// Runs a function on every chunk of a shape, one after the other.
    pub(crate) fn each_chunk(
        &mut self,
        shape: &[i64],
        most_lanes: u32,
        mut f: impl FnMut(&mut Chunks<'_, '_>, &At) -> Result<()>,
    ) -> Result<()> {
        let nest = Nest::new(shape, shape.len() - 1, None, most_lanes);
        let mut linears = vec![Linear::default(); shape.len()];
        let mut opened = Vec::new();
        for one in &nest.loops {
            let (start, end, step) = (self.b.i64(0), self.b.i64(one.end), self.b.i64(one.step));
            let inner = self.b.begin_for(start, end, step, &[]);
            linears[one.dim] = Linear::counter(self.counted_loop(one.step, one.end, inner.iv));
            opened.push(inner);
        }
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        Chunks::new(self, &mut memo, &assumed, nest.lanes).scoped(|chunks| {
            let at = chunks.position(&nest, &linears);
            f(chunks, &at)
        })?;
        for inner in opened.into_iter().rev() {
            self.b.end_for(inner, &[]);
        }
        Ok(())
    }
}
