//! A block seen by lanes: the reduced dimension as what a lane holds further on, the lanes, and neighbours in a lane.

use super::{Carried, used};
use crate::infer::{Shapes, forward};
use crate::ops::convert::convert;
use crate::{Encoding, replace_encoding};
use ir::{Attr, Builder, Module, Op, OpRow, Place, Type, Value};
use layout::{Dim, LinearLayout};
use rustc_hash::FxHashMap;
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS, RESHAPE, SPLAT};
use ttir::types::{elem, is_tensor, shape, tensor, with_elem};

/// A reduction of one block by one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The `tt.reduce`.
    pub(super) op: Op,
    /// The operation that combines two elements.
    pub(super) row: &'static OpRow,
    /// The block.
    pub(super) source: Value,
    /// The dimension.
    pub(super) axis: usize,
}

impl Reduction {
    /// The reduction in the body of a loop that makes a value with one user.
    pub(super) fn of_value(module: &Module, carried: Carried, value: Value) -> Option<Reduction> {
        let reduction = Reduction::of(module, module.def_op(value)?)?;
        let is_in_body = module.block_of(reduction.op) == Some(carried.body);
        (is_in_body && used(module, value, 1)).then_some(reduction)
    }

    /// What an operation reduces, if it combines by a single operation.
    pub(super) fn of(module: &Module, op: Op) -> Option<Reduction> {
        let reduction = CombineOp::reduction(module, op)?;
        let row = module.row(reduction.single()?);
        Some(Reduction { op, row, source: reduction.srcs()[0], axis: reduction.axis() })
    }
}

/// How the blocks of a type are seen by lanes.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// The reduced dimension.
    axis: usize,
    /// What a lane holds further on, if anything, the lanes, neighbours in a lane.
    sizes: Vec<i64>,
    /// The type with those dimensions in place of the one.
    seen: Type,
}

impl Split {
    /// The split of a type along a dimension that several lanes share; `None` where they do not, or where its positions
    /// are not neighbours in a lane, lanes, further on in a lane.
    pub(super) fn of(ty: Type, axis: usize) -> Option<Split> {
        let encoding = Encoding::of(ty)?;
        let dims = shape(ty);
        let layout = encoding.to_linear(dims);
        let [near, lanes, far] = parts(&layout, axis)?;
        if lanes == 0 {
            return None;
        }
        let further = (far > 0).then_some(1i64 << far);
        let sizes: Vec<i64> = further.into_iter().chain([1 << lanes, 1 << near]).collect();
        let split: Vec<i64> = [&dims[..axis], &sizes, &dims[axis + 1..]].concat();
        let shapes = Shapes { attrs: &[], from: dims, to: &split };
        let seen = forward(&RESHAPE, encoding, shapes).ok()?;
        Some(Split { axis, sizes, seen: replace_encoding(tensor(&split, elem(ty)), &seen) })
    }

    /// The block as lanes see it.
    pub(super) fn view(&self, builder: &mut Builder<'_>, block: Value) -> Value {
        let ty = with_elem(self.seen, elem(builder.module.ty(block)));
        builder.build_as(&RESHAPE, &[block], &[None, None], ty)
    }

    /// The lanes that share the reduced dimension.
    pub(super) fn lanes(&self) -> i64 {
        self.sizes[self.sizes.len() - 2]
    }

    /// The dimension of what a lane holds further on.
    fn far(&self) -> Option<usize> {
        (self.sizes.len() == 3).then_some(self.axis)
    }

    /// The dimension of neighbours in a lane.
    fn near(&self) -> usize {
        self.axis + self.sizes.len() - 1
    }

    /// A view reduced within each lane, the way an operation does.
    pub(super) fn reduce(&self, builder: &mut Builder<'_>, like: Op, view: Value) -> Value {
        let near = reduce(builder, like, view, self.near());
        self.far().map_or(near, |far| reduce(builder, like, near, far))
    }

    /// The type of what [`Split::reduce`] gives, for elements of a type.
    pub(super) fn reduced(&self, element: Type) -> Type {
        let near = without(with_elem(self.seen, element), self.near());
        self.far().map_or(near, |far| without(near, far))
    }

    /// Private values repeated over what each lane holds.
    pub(super) fn repeat(&self, builder: &mut Builder<'_>, private: Value) -> Value {
        let element = elem(builder.module.ty(private));
        let lone = |ty: Type, dim: usize| {
            let mut dims = shape(ty).to_vec();
            dims[dim] = 1;
            let encoding = Encoding::of(ty).cloned();
            let ty = tensor(&dims, element);
            encoding.map_or(ty, |encoding| replace_encoding(ty, &encoding))
        };
        let seen = with_elem(self.seen, element);
        let near = self.near();
        let (mut value, mut whole) = (private, lone(seen, near));
        if let Some(far) = self.far() {
            let before = lone(without(seen, near), far);
            value = builder.build_as(&EXPAND_DIMS, &[value], &[Some(int(far as i64))], before);
            whole = lone(whole, far);
        }
        let value = builder.build_as(&EXPAND_DIMS, &[value], &[Some(int(near as i64))], whole);
        if whole == seen {
            return value;
        }
        builder.build_as(&BROADCAST, &[value], &[], seen)
    }

    /// Private values reduced over the lanes, as a value of a type.
    pub(super) fn finish(&self, builder: &mut Builder<'_>, like: Op, private: Value, ty: Type) -> Value {
        let value = reduce(builder, like, private, self.axis);
        convert(builder, value, ty)
    }

    /// A reduced value repeated for each lane.
    pub(super) fn hand_out(&self, builder: &mut Builder<'_>, reduced: Value) -> Value {
        let ty = builder.module.ty(reduced);
        let private = self.reduced(elem(ty));
        if !is_tensor(ty) {
            return builder.build_as(&SPLAT, &[reduced], &[], private);
        }
        let value = convert(builder, reduced, without(private, self.axis));
        let mut dims = shape(private).to_vec();
        dims[self.axis] = 1;
        let lone = tensor(&dims, elem(ty));
        let lone = Encoding::of(private).map_or(lone, |encoding| replace_encoding(lone, encoding));
        let value = builder.build_as(&EXPAND_DIMS, &[value], &[Some(int(self.axis as i64))], lone);
        builder.build_as(&BROADCAST, &[value], &[], private)
    }
}

fn int(value: i64) -> Attr {
    Attr::Int { value, ty: Type::int(32) }
}

/// A type without a dimension.
fn without(ty: Type, axis: usize) -> Type {
    let mut dims = shape(ty).to_vec();
    dims.remove(axis);
    let lost = tensor(&dims, elem(ty));
    match Encoding::of(ty) {
        Some(parent) if !dims.is_empty() => {
            replace_encoding(lost, &Encoding::Slice { dim: axis as u32, parent: Box::new(parent.clone()) })
        }
        _ => lost,
    }
}

/// A reduction of a block along a dimension, with the region of another.
fn reduce(builder: &mut Builder<'_>, like: Op, block: Value, axis: usize) -> Value {
    let ty = without(builder.module.ty(block), axis);
    let module = &mut *builder.module;
    let op = module.clone_op(like, &mut FxHashMap::default());
    module.set_operands(op, &[block]);
    CombineOp::set_axis(module, op, axis);
    let result = module.result(op, 0);
    module.set_ty(result, ty);
    match builder.place {
        Place::End(block) => module.append(block, op),
        Place::Before(anchor) => module.insert_before(anchor, op),
    }
    result
}

/// How many bits of the position along a dimension are neighbours in a lane, in lanes and warps, further on in a lane,
/// if they are in this order and each is in one place that does nothing else.
fn parts(layout: &LinearLayout, axis: usize) -> Option<[u32; 3]> {
    let dim = Dim::block(axis);
    let mut in_lane = vec![None; layout.outs().bits(dim) as usize];
    for input in [Dim::REGISTER, Dim::LANE, Dim::WARP, Dim::BLOCK] {
        for basis in layout.bases(input) {
            let along = basis.iter().find(|part| part.0 == dim).map_or(0, |part| part.1);
            if along == 0 {
                continue;
            }
            let pure = along.is_power_of_two() && basis.iter().all(|part| part.0 == dim || part.1 == 0);
            let slot = &mut in_lane[along.trailing_zeros() as usize];
            if !pure || slot.is_some() {
                return None;
            }
            *slot = Some(input == Dim::REGISTER);
        }
    }
    let in_lane: Vec<bool> = in_lane.into_iter().collect::<Option<_>>()?;
    let near = in_lane.iter().take_while(|held| **held).count();
    let lanes = in_lane[near..].iter().take_while(|held| !**held).count();
    let far = in_lane[near + lanes..].iter().take_while(|held| **held).count();
    (near + lanes + far == in_lane.len()).then_some([near as u32, lanes as u32, far as u32])
}
