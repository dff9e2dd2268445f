//! The layouts met in one run of the pass, each by a small number, and what follows from one of them.

use super::bases::Bases;
use super::{cost, derive};
use crate::encoding::replace_attr;
use crate::{BasisList, Config, Encoding, shape_per_block};
use ir::{Attr, Op, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ttir::types::{elem, elem_bytes, numel, shape};

/// A layout: the number of an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Layout(u32);

/// What of an operation has a layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    /// What operands must have, for the layout of the operation.
    Operand,
    /// What results have.
    Result,
    /// What the operation must have for its operands to have this.
    FromOperand,
    /// What the operation must have for its results to have this.
    FromResult,
}

/// Encodings by number, and what was computed of them.
pub(crate) struct Layouts {
    encodings: Vec<Encoding>,
    /// Encodings as attributes, as far as they were asked for.
    attrs: FxHashMap<Layout, Attr>,
    numbers: FxHashMap<Encoding, Layout>,
    /// They depend on the sizes of a block, not on what it is of.
    bases: FxHashMap<(Layout, &'static [i64]), Rc<Bases>>,
    conversions: FxHashMap<(Layout, Layout, Type), f64>,
    types: FxHashMap<(Layout, Type), Type>,
    defaults: FxHashMap<Vec<i64>, Layout>,
    ties: FxHashMap<(Op, Side, Layout), Option<Layout>>,
    /// Warps of a program.
    pub(crate) warps: u32,
    /// Lanes of a warp.
    pub(crate) lanes: u32,
    /// Blocks of a cluster.
    pub(crate) blocks: u32,
}

impl Layouts {
    /// No layouts yet.
    pub(crate) fn new(config: Config) -> Layouts {
        Layouts {
            encodings: Vec::new(),
            attrs: FxHashMap::default(),
            numbers: FxHashMap::default(),
            bases: FxHashMap::default(),
            conversions: FxHashMap::default(),
            types: FxHashMap::default(),
            defaults: FxHashMap::default(),
            ties: FxHashMap::default(),
            warps: config.num_warps,
            lanes: config.threads_per_warp,
            blocks: config.num_ctas,
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
        let shape = shape(ty);
        if let Some(known) = self.bases.get(&(layout, shape)) {
            return known.clone();
        }
        let linear = self.encoding(layout).to_linear(shape);
        let bases = Rc::new(Bases::new(&linear, shape));
        self.bases.insert((layout, shape), bases.clone());
        bases
    }

    /// The same type in a layout.
    pub(crate) fn retyped(&mut self, layout: Layout, ty: Type) -> Type {
        let Layouts { encodings, attrs, types, .. } = self;
        *types.entry((layout, ty)).or_insert_with(|| {
            let attr = attrs.entry(layout).or_insert_with(|| encodings[layout.0 as usize].attr());
            replace_attr(ty, attr)
        })
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

    /// What a side of an operation has for a layout of the other one; `compute` is asked once for each.
    pub(super) fn tied_once(
        &mut self,
        key: (Op, Side, Layout),
        compute: impl FnOnce(&mut Layouts) -> Option<Layout>,
    ) -> Option<Layout> {
        if let Some(&known) = self.ties.get(&key) {
            return known;
        }
        let layout = compute(self);
        self.ties.insert(key, layout);
        layout
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

    /// Lanes of a warp.
    pub(crate) fn lanes(&self) -> i64 {
        i64::from(self.lanes)
    }

    /// Lanes of a program in one block of a cluster.
    pub(crate) fn threads(&self) -> i64 {
        i64::from(self.warps * self.lanes)
    }

    /// A blocked layout: lanes and warps are dealt out along the dimensions in order, as far as the block reaches; the
    /// last one takes what is left.
    pub(crate) fn blocked(&mut self, shape: &[i64], per_lane: &[u32], order: &[u32]) -> Layout {
        self.blocked_in(shape, per_lane, order, derive::split(shape, self.blocks))
    }

    /// The same where the blocks of a cluster split the whole in a given way.
    pub(crate) fn blocked_in(
        &mut self,
        shape: &[i64],
        per_lane: &[u32],
        order: &[u32],
        cga: BasisList,
    ) -> Layout {
        let encoding = derive::blocked(shape, per_lane, order, (self.warps, self.lanes), cga);
        self.number(&encoding)
    }

    /// A layout in which each block of a cluster has the part that another layout gives it; lanes stand as in the first
    /// as far as that is blocked.
    pub(crate) fn split_as(&mut self, layout: Layout, shape: &[i64], cga: &BasisList) -> Option<Layout> {
        let encoding = self.encoding(layout);
        let splits = |cga: &[Vec<u32>]| shape_per_block(cga, shape);
        if encoding.cga() == *cga && splits(&encoding.cga()) == splits(cga) {
            return Some(layout);
        }
        let Encoding::Blocked { size_per_thread, order, .. } = encoding.clone() else { return None };
        Some(self.blocked_in(shape, &size_per_thread, &order, cga.clone()))
    }
}
