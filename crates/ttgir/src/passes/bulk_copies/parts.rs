//! Stores that go on while their loop does, in parts that share a buffer.
//!
//! ```text
//!                                                   %l, %r = tt.split (tt.trans (tt.reshape %x))
//! ttg.local_store %x, %m                            wait ; ttg.local_store %l, %m ; ttng.fence_async_shared
//! ttng.fence_async_shared                      =>   ttng.async_tma_copy_local_to_global %d[%i, %j] %m
//! ttng.async_tma_copy_local_to_global …             wait ; ttg.local_store %r, %m ; ttng.fence_async_shared
//!                                                   ttng.async_tma_copy_local_to_global %d[%i, %j + half] %m
//! ```
//!
//! A module says with `ttg.store-bytes` how much a part may take: who compiles it asks for that where the rings of its
//! loops would otherwise lose a stage. A block is halved along one axis, and only where each lane has elements of both
//! halves, so that nothing moves between lanes; and each part is written by some of the copies that would write the
//! whole. Left out: blocks that several axes would have to be halved for.

use crate::encoding::box_of;
use crate::ops::bulk::BulkWriteOp;
use crate::ops::shared::AllocOp;
use crate::types::memdesc;
use crate::{Encoding, SharedEncoding, infer, replace_encoding};
use ir::{Attr, Builder, Module, OpInit, Type, Value};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};
use ttir::ops::arith_int::ADDI;
use ttir::ops::constant::CONSTANT;
use ttir::ops::shape::{RESHAPE, SPLIT, TRANS, TransOp};
use ttir::types::{elem, elem_bytes, numel, shape, tensor};

/// How a block is put into shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts {
    axis: usize,
    halvings: u32,
}

impl Parts {
    /// At once.
    pub(super) const WHOLE: Parts = Parts { axis: 0, halvings: 0 };

    /// The fewest parts of a block of which each takes at most so many bytes; as many as there can be where none is so
    /// small.
    pub(super) fn of(block: Type, memory: &SharedEncoding, most: u64) -> Parts {
        let bytes = |ty: Type| numel(ty) as u64 * elem_bytes(elem(ty));
        let whole = box_of(memory, shape(block));
        let halvings = |axis: usize| {
            let halves = |&ty: &Type| halves(ty, axis).map(|types| types[2]);
            let smaller = std::iter::successors(Some(block), halves)
                .take_while(|&part| box_of(memory, shape(part)) == whole);
            smaller.take_while(|&part| bytes(part) * 2 > most).skip(1).count() as u32
        };
        let axes = (0..shape(block).len()).rev().map(|axis| Parts { axis, halvings: halvings(axis) });
        axes.fold(Parts::WHOLE, |best, parts| if parts.halvings > best.halvings { parts } else { best })
    }

    /// How many there are.
    pub(super) fn count(self) -> u32 {
        1 << self.halvings
    }

    /// The sides of each, of a block with such sides.
    pub(super) fn sides(self, whole: &[i64]) -> Vec<i64> {
        let side = |(axis, &side)| if axis == self.axis { side >> self.halvings } else { side };
        whole.iter().enumerate().map(side).collect()
    }

    /// The parts of a block, in the order in which they lie.
    pub(super) fn split(self, builder: &mut Builder<'_>, block: Value) -> Vec<Value> {
        (0..self.halvings).fold(vec![block], |blocks, _| {
            blocks.into_iter().flat_map(|block| self.halve(builder, block)).collect()
        })
    }

    fn halve(self, builder: &mut Builder<'_>, block: Value) -> [Value; 2] {
        let types = halves(builder.module.ty(block), self.axis).expect("planned: each lane has both halves");
        let [in_two, turned, half] = types;
        let block = builder.build_as(&RESHAPE, &[block], &[None, None], in_two);
        let order = TransOp::attrs(&last_of(shape(in_two).len(), self.axis));
        let block = builder.build_as(&TRANS, &[block], &order, turned);
        let init = OpInit {
            operands: smallvec![block],
            results: smallvec![half, half],
            attrs: SmallVec::new(),
            regions: 0,
        };
        let split = builder.insert(&SPLIT, init);
        [0, 1].map(|at| builder.module.result(split, at))
    }

    /// Where a part begins, of a block with such sides that begins at `corner`.
    pub(super) fn corner(
        self,
        builder: &mut Builder<'_>,
        corner: &[Value],
        whole: &[i64],
        part: u32,
    ) -> Vec<Value> {
        let mut corner = corner.to_vec();
        if part > 0 {
            let at = corner[self.axis];
            let ty = builder.module.ty(at);
            let by = Attr::int(i64::from(part) * self.sides(whole)[self.axis], ty);
            let by = builder.build_as(&CONSTANT, &[], &[Some(by)], ty);
            corner[self.axis] = builder.build(&ADDI, &[at, by], &[]);
        }
        corner
    }
}

/// All axes in their order, but one behind the others.
fn last_of(rank: usize, axis: usize) -> Vec<i64> {
    (0..rank).filter(|&at| at != axis).chain([axis]).map(|at| at as i64).collect()
}

/// A block as two halves along an axis: with that axis as two, with the first of these behind the others, and a half.
/// `None` where a lane does not have both halves.
fn halves(ty: Type, axis: usize) -> Option<[Type; 3]> {
    let (encoding, sides) = (Encoding::of(ty)?, shape(ty));
    let mut in_two = sides.to_vec();
    if sides[axis] < 2 {
        return None;
    }
    in_two[axis] /= 2;
    let half = in_two.clone();
    in_two.insert(axis, 2);
    let with = |sides: &[i64], encoding: &Encoding| replace_encoding(tensor(sides, elem(ty)), encoding);
    let reshaped = infer::reshape(encoding, sides, &in_two).ok()?;
    let turned = infer::trans(&reshaped, &last_of(in_two.len(), axis), &in_two).ok()?;
    let behind: Vec<i64> = half.iter().copied().chain([2]).collect();
    let split = infer::split(&turned, &behind).ok()?;
    Some([with(&in_two, &reshaped), with(&behind, &turned), with(&half, &split)])
}

/// Bytes of the buffers of bulk stores that go on while their loops do.
pub fn staged_bytes(module: &Module) -> u64 {
    let stores = module.walk(module.top()).into_iter().filter_map(|op| BulkWriteOp::of(module, op));
    let buffers: FxHashSet<Value> = stores.map(BulkWriteOp::src).collect();
    let is_staged = |&buffer: &Value| {
        let alloc = module.def_op(buffer).and_then(|op| AllocOp::of(module, op));
        alloc.is_some_and(|alloc| alloc.src().is_none())
    };
    let bytes = |buffer: Value| {
        let of = memdesc(module.ty(buffer)).expect("verified: it is memory");
        of.shape.iter().product::<i64>() as u64 * elem_bytes(of.elem)
    };
    buffers.into_iter().filter(is_staged).map(bytes).sum()
}
