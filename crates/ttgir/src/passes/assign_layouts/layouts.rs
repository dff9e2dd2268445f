//! The layouts met in one run of the pass, each by a small number, and what follows from one of them.

use super::bases::Bases;
use super::{cost, derive};
use crate::Encoding;
use ir::Type;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ttir::types::{elem, elem_bytes, numel, shape};

/// A layout: the number of an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Layout(u32);

/// Encodings by number, and what was computed of them.
pub(crate) struct Layouts {
    encodings: Vec<Encoding>,
    numbers: FxHashMap<Encoding, Layout>,
    bases: FxHashMap<(Layout, Type), Rc<Bases>>,
    conversions: FxHashMap<(Layout, Layout, Type), f64>,
    defaults: FxHashMap<Vec<i64>, Layout>,
    /// Warps of a program.
    pub(crate) warps: u32,
    /// Lanes of a warp.
    pub(crate) lanes: u32,
}

impl Layouts {
    /// No layouts yet.
    pub(crate) fn new(warps: u32, lanes: u32) -> Layouts {
        Layouts {
            encodings: Vec::new(),
            numbers: FxHashMap::default(),
            bases: FxHashMap::default(),
            conversions: FxHashMap::default(),
            defaults: FxHashMap::default(),
            warps,
            lanes,
        }
    }

    /// The number of an encoding.
    pub(crate) fn number(&mut self, encoding: &Encoding) -> Layout {
        if let Some(&known) = self.numbers.get(encoding) {
            return known;
        }
        let layout = Layout(self.encodings.len() as u32);
        self.encodings.push(encoding.clone());
        self.numbers.insert(encoding.clone(), layout);
        layout
    }

    /// The encoding of a number.
    pub(crate) fn encoding(&self, layout: Layout) -> &Encoding {
        &self.encodings[layout.0 as usize]
    }

    /// Where a block of this type lies.
    pub(crate) fn bases(&mut self, layout: Layout, ty: Type) -> Rc<Bases> {
        if let Some(known) = self.bases.get(&(layout, ty)) {
            return known.clone();
        }
        let linear = self.encoding(layout).to_linear(shape(ty));
        let bases = Rc::new(Bases::new(&linear, shape(ty)));
        self.bases.insert((layout, ty), bases.clone());
        bases
    }

    /// What it costs to convert a value of this type.
    pub(crate) fn conversion(&mut self, from: Layout, to: Layout, ty: Type) -> f64 {
        if from == to {
            return 0.0;
        }
        if let Some(&known) = self.conversions.get(&(from, to, ty)) {
            return known;
        }
        let (source, target) = (self.bases(from, ty), self.bases(to, ty));
        let cost = cost::conversion(&source, &target, numel(ty) as u64, elem_bytes(elem(ty)));
        self.conversions.insert((from, to, ty), cost);
        cost
    }

    /// What stands where nothing says more: one element a lane, the last dimension fastest.
    pub(crate) fn default_for(&mut self, shape: &[i64]) -> Layout {
        if let Some(&known) = self.defaults.get(shape) {
            return known;
        }
        let order: Vec<u32> = (0..shape.len() as u32).rev().collect();
        let layout = self.blocked(shape, &vec![1; shape.len()], &order);
        self.defaults.insert(shape.to_vec(), layout);
        layout
    }

    /// A blocked layout: lanes and warps are dealt out along the dimensions in order, as far as the block reaches; the
    /// last one takes what is left.
    pub(crate) fn blocked(&mut self, shape: &[i64], per_lane: &[u32], order: &[u32]) -> Layout {
        let encoding = derive::blocked(shape, per_lane, order, self.warps, self.lanes);
        self.number(&encoding)
    }
}
