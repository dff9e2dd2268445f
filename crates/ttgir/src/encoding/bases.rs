//! A layout under construction: lists of bases, to which factors are appended.
//!
//! All layouts here are built the same way: a tile of lanes and registers, warps over it, registers up to the shape of
//! one block, then the blocks of a cluster.

use super::BasisList;
use layout::{Bases as LayoutBases, Dim, LinearLayout};

/// The input dimensions of a tensor's layout in order.
pub(super) const INPUTS: [Dim; 4] = [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK];
/// Places in [`INPUTS`].
pub(super) const REGISTER: usize = 0;
pub(super) const LANE: usize = 1;
pub(super) const WARP: usize = 2;
pub(super) const BLOCK: usize = 3;

/// A layout under construction.
#[derive(Clone, Debug)]
pub(super) struct Bases {
    /// For each input, where its powers of two go.
    pub(super) inputs: [BasisList; 4],
    /// How far the layout reaches along each dimension.
    pub(super) sizes: Vec<u32>,
}

impl Bases {
    pub(super) fn new(rank: usize) -> Bases {
        Bases { inputs: Default::default(), sizes: vec![1; rank] }
    }

    /// `count` more positions of an input walk along a dimension, beyond what is there.
    pub(super) fn along(&mut self, input: usize, dim: usize, count: u32) {
        for _ in 0..count.max(1).ilog2() {
            let mut basis = vec![0; self.sizes.len()];
            basis[dim] = self.sizes[dim];
            self.sizes[dim] *= 2;
            self.inputs[input].push(basis);
        }
    }

    /// `count` more positions of an input hold the same elements.
    pub(super) fn repeated(&mut self, input: usize, count: u32) {
        for _ in 0..count.max(1).ilog2() {
            self.inputs[input].push(vec![0; self.sizes.len()]);
        }
    }

    /// Positions of an input walk along all dimensions, those of `order` in order.
    pub(super) fn along_all(&mut self, input: usize, counts: &[u32], order: &[u32]) {
        for &dim in order {
            self.along(input, dim as usize, counts[dim as usize]);
        }
    }

    /// Registers (or offsets, which stand in their place) walk on until the layout reaches a shape, dimensions in
    /// order.
    pub(super) fn grow(&mut self, shape: &[u32], order: &[u32]) {
        for &dim in order {
            let dim = dim as usize;
            self.along(REGISTER, dim, shape[dim] / self.sizes[dim].min(shape[dim]));
        }
    }

    /// Positions beyond a shape hold copies instead.
    pub(super) fn cut(&mut self, shape: &[u32]) {
        for basis in self.inputs.iter_mut().flatten() {
            for (at, &size) in basis.iter_mut().zip(shape) {
                if *at >= size {
                    *at = 0;
                }
            }
        }
        for (size, &limit) in self.sizes.iter_mut().zip(shape) {
            *size = limit.min(*size);
        }
    }

    /// Fits the part of one block to a shape and lets the blocks of a cluster split the whole.
    pub(super) fn fit(mut self, cga: &[Vec<u32>], shape: &[u32], order: &[u32]) -> Bases {
        let mut blocks = Bases::new(shape.len());
        blocks.inputs[BLOCK] = cga.to_vec();
        blocks.sizes = cga_sizes(cga, shape.len());
        blocks.cut(shape);
        let part: Vec<u32> =
            shape.iter().zip(&blocks.sizes).map(|(size, split)| (size / split).max(1)).collect();
        self.grow(&part, order);
        self.cut(&part);
        for basis in &mut blocks.inputs[BLOCK] {
            for (at, &size) in basis.iter_mut().zip(&part) {
                *at *= size;
            }
        }
        self.inputs[BLOCK] = std::mem::take(&mut blocks.inputs[BLOCK]);
        for (size, &whole) in self.sizes.iter_mut().zip(shape) {
            *size = whole;
        }
        self
    }

    /// The layout of a tensor.
    pub(super) fn finish(&self) -> LinearLayout {
        self.layout(&INPUTS)
    }

    /// The layout of shared memory: offsets stand where registers do.
    pub(super) fn finish_shared(&self) -> LinearLayout {
        let own = [&self.inputs[REGISTER], &self.inputs[BLOCK]];
        make(&own, &[Dim::OFFSET, Dim::BLOCK], &self.sizes)
    }

    fn layout(&self, names: &[Dim; 4]) -> LinearLayout {
        make(&self.inputs.each_ref(), names, &self.sizes)
    }
}

fn make(inputs: &[&BasisList], names: &[Dim], sizes: &[u32]) -> LinearLayout {
    let outs: Vec<(Dim, u32)> =
        sizes.iter().enumerate().map(|(dim, size)| (Dim::block(dim), size.max(&1).ilog2())).collect();
    let placed: Vec<Vec<Vec<(Dim, u32)>>> = inputs
        .iter()
        .map(|list| {
            let place =
                |basis: &Vec<u32>| basis.iter().enumerate().map(|(dim, &at)| (Dim::block(dim), at)).collect();
            list.iter().map(place).collect()
        })
        .collect();
    let views: Vec<Vec<&[(Dim, u32)]>> =
        placed.iter().map(|list| list.iter().map(Vec::as_slice).collect()).collect();
    let bases: Vec<LayoutBases<'_>> =
        names.iter().zip(&views).map(|(&dim, list)| (dim, list.as_slice())).collect();
    LinearLayout::new(&bases, &outs).expect("bases lie inside the sizes, and blocks have few bits")
}

/// How many parts the blocks of a cluster make along each dimension.
pub(super) fn cga_sizes(cga: &[Vec<u32>], rank: usize) -> Vec<u32> {
    let along = |dim: usize| cga.iter().map(|basis| basis.get(dim).copied().unwrap_or(0)).max().unwrap_or(0);
    (0..rank).map(|dim| (along(dim) + 1).next_power_of_two()).collect()
}

/// The bases of the four inputs of a tensor's layout.
pub(super) fn lists(layout: &LinearLayout) -> [BasisList; 4] {
    INPUTS.map(|dim| list(layout, dim))
}

/// The bases of one input.
pub(super) fn list(layout: &LinearLayout, dim: Dim) -> BasisList {
    if !layout.ins().has(dim) {
        return Vec::new();
    }
    layout.bases(dim).iter().map(|basis| basis.iter().map(|part| part.1).collect()).collect()
}

/// The layout with exactly the bases of a linear encoding.
pub(super) fn explicit(encoding: &super::Encoding, shape: &[i64]) -> LinearLayout {
    let mut bases = Bases::new(shape.len());
    if let super::Encoding::Linear { register, lane, warp, block } = encoding {
        bases.inputs = [register, lane, warp, block].map(Clone::clone);
    }
    bases.sizes = sizes(shape);
    bases.finish()
}

/// A shape as sizes.
pub(super) fn sizes(shape: &[i64]) -> Vec<u32> {
    shape.iter().map(|&size| u32::try_from(size).unwrap_or(1).max(1)).collect()
}
