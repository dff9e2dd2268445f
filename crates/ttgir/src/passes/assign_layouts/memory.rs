//! How operations on memory run through a block, and the layout that suits each best.

use super::cost::Access;
use super::derive;
use super::layouts::{Layout, Layouts};
use crate::ops::shared::AllocOp;
use crate::passes::context::machine_of;
use crate::{BasisList, SharedEncoding, shape_per_block};
use ir::{AccessWidth, Module, Op};
use smallvec::SmallVec;
use ttir::axis::AxisTable;
use ttir::ops::access::AccessOp;
use ttir::ops::atomic::Rmw;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::types::{elem, elem_bytes, is_tensor, numel, pointee, shape};

/// How an operation runs through memory, if it does so with a block of addresses.
pub(crate) fn access(module: &Module, op: Op, axis: &AxisTable, widest: u64) -> Option<Access> {
    let access = AccessOp::of(module, op)?;
    let pointer = access.ptr();
    let ty = module.ty(pointer);
    if !is_tensor(ty) {
        return None;
    }
    let shape = shape(ty);
    let info = axis.info(module, pointer);
    let mut order: SmallVec<[u32; 4]> = (0..shape.len() as u32).rev().collect();
    // Stable, so that the last dimension comes first where nothing else decides.
    order.sort_by_key(|&dim| std::cmp::Reverse(info.contiguity[dim as usize]));
    let dim = order[0] as usize;
    let mask = access.mask().map(|mask| axis.info(module, mask));
    let masked = |dim: usize| mask.as_ref().map_or(u64::MAX, |mask| mask.sure_constancy(dim));
    let aligned = axis.aligned_run(module, pointer, dim);
    // What has the same address if numbers have the sign that is expected is loaded again all the same.
    let constancy = (0..shape.len()).map(|dim| info.sure_constancy(dim).min(masked(dim))).collect();
    let bytes = elem_bytes(pointee(ty)?);
    let width = module.row(op).access?;
    let most = match width {
        _ if is_wide_reduction(access, bytes) => reduction_bytes(module),
        AccessWidth::Any => u64::MAX,
        AccessWidth::Bytes(most) => most,
        AccessWidth::Single => 0,
    };
    let most = (most / bytes.max(1)).max(1);
    let whole = aligned.min(masked(dim)).min(most);
    let in_parts = access.mask().filter(|_| width == AccessWidth::Any && machine_of(module).predicated);
    let run = in_parts.map_or(whole, |mask| aligned.min(axis.prefix_run(module, mask, dim)).min(most));
    Some(Access {
        shape,
        bytes,
        dim,
        contiguity: info.contiguity[dim],
        run,
        whole,
        constancy,
        order,
        widest,
        reads: access.value().is_none(),
    })
}

/// Whether an atomic adds floats of at most 32 bits and nobody asks what was there before: machines take more of these
/// at once.
fn is_wide_reduction(access: AccessOp<'_>, bytes: u64) -> bool {
    let is_unused = access.result().is_none_or(|before| access.module.is_unused(before));
    bytes <= 4 && access.rmw() == Some(Rmw::Fadd) && is_unused
}

fn reduction_bytes(module: &Module) -> u64 {
    u64::from(machine_of(module).reduction_bytes)
}

/// Lanes side by side along the contiguous dimension, each with as much as one access can move; blocks of a cluster
/// share the whole as is asked for. Where a dot takes runs of `(dimension, elements)` along another dimension, a lane
/// has a box of both, so that it can turn it in its registers.
pub(crate) fn preferred(
    access: &Access,
    split: Option<BasisList>,
    runs: Option<(usize, u32)>,
    layouts: &mut Layouts,
) -> Layout {
    let threads = u64::from(layouts.warps * layouts.lanes);
    let split = split.unwrap_or_else(|| derive::split(access.shape, layouts.blocks));
    let elements = shape_per_block(&split, access.shape).iter().product::<i64>() as u64;
    let each = access.vector().min((elements / threads).max(1)) as u32;
    let mut per_lane = vec![1; access.shape.len()];
    per_lane[access.dim] = each;
    if let Some((dim, most)) = runs.filter(|&(dim, _)| dim != access.dim) {
        let box_side = (elements / threads / u64::from(each)).clamp(1, u64::from(most.max(1)));
        per_lane[dim] = 1 << box_side.ilog2();
    }
    layouts.blocked_in(access.shape, &per_lane, &access.order, split)
}

/// What suits a block that a bulk copy brings, which lies in rows: lanes side by side along them.
pub(crate) fn boxed(module: &Module, op: Op, layouts: &mut Layouts) -> Option<Layout> {
    let ty = module.ty(DescriptorAccessOp::load(module, op)?.block());
    let (dims, bytes) = (shape(ty), elem_bytes(elem(ty)));
    let threads = i64::from(layouts.warps * layouts.lanes);
    let order: Vec<u32> = (0..dims.len() as u32).rev().collect();
    let mut per_lane = vec![1; dims.len()];
    let widest = (16 / bytes as i64).max(1);
    *per_lane.last_mut()? = widest.min(numel(ty) / threads).clamp(1, *dims.last()?) as u32;
    let split = derive::split(dims, layouts.blocks);
    Some(layouts.blocked_in(dims, &per_lane, &order, split))
}

/// Where each block of a cluster holds all of what it puts into memory of its own: lanes stand side by side along what
/// is fastest there. `None` without clusters, where any layout will do.
pub(crate) fn stored(module: &Module, op: Op, layouts: &mut Layouts) -> Option<Layout> {
    let alloc = AllocOp::of(module, op).filter(|_| layouts.blocks > 1)?;
    let encoding = SharedEncoding::of(module.ty(alloc.result()))?;
    let ty = module.ty(alloc.src()?);
    let order = encoding.order();
    let mut per_lane = vec![1; order.len()];
    per_lane[order[0] as usize] = (16 / elem_bytes(elem(ty))).max(1) as u32;
    Some(layouts.blocked_in(shape(ty), &per_lane, &order, encoding.cga().clone()))
}
