//! Layouts that are made here and not by a rule of an operation: blocked ones, and larger ones of which one is a slice.

use crate::{BasisList, Encoding, shape_per_block};

/// The layout whose slice this is; for a blocked one, the same with nothing else along a new dimension.
pub(crate) fn unsliced(encoding: &Encoding, at: usize) -> Option<Encoding> {
    if let Some(parent) = parent_of_slice(encoding, at) {
        return Some(parent.clone());
    }
    let Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga } = encoding else {
        return None;
    };
    let widened = |sizes: &[u32]| {
        let mut sizes = sizes.to_vec();
        sizes.insert(at, 1);
        sizes
    };
    let moved = order.iter().map(|&dim| if dim as usize >= at { dim + 1 } else { dim });
    Some(Encoding::Blocked {
        size_per_thread: widened(size_per_thread),
        threads_per_warp: widened(threads_per_warp),
        warps_per_cta: widened(warps_per_cta),
        order: moved.chain([at as u32]).collect(),
        cga: cga.iter().map(|basis| with(basis, at, 0)).collect(),
    })
}

fn with(basis: &[u32], at: usize, value: u32) -> Vec<u32> {
    let mut basis = basis.to_vec();
    basis.insert(at, value);
    basis
}

/// The layout of which this is the slice along this dimension.
pub(crate) fn parent_of_slice(encoding: &Encoding, dim: usize) -> Option<&Encoding> {
    match encoding {
        Encoding::Slice { dim: own, parent } if *own as usize == dim => Some(parent),
        _ => None,
    }
}

/// How the blocks of a cluster split a tensor where nothing else says it: along the first dimension as far as it
/// reaches, then along the next. All tensors of a shape are split alike, whatever order their elements have in memory.
pub(crate) fn split(shape: &[i64], blocks: u32) -> BasisList {
    let mut bases = BasisList::new();
    let mut unit = |dim: Option<(usize, u32)>| {
        let mut basis = vec![0; shape.len()];
        if let Some((dim, at)) = dim {
            basis[dim] = at;
        }
        bases.push(basis);
    };
    let mut left = blocks.max(1).ilog2();
    for (dim, size) in shape.iter().enumerate() {
        let bits = left.min(size.max(&1).ilog2());
        (0..bits).for_each(|bit| unit(Some((dim, 1 << bit))));
        left -= bits;
    }
    (0..left).for_each(|_| unit(None));
    bases
}

/// A blocked layout: lanes and warps are dealt out along the dimensions in order, as far as the part of each block of
/// the cluster reaches; the last dimension takes what is left.
pub(crate) fn blocked(
    shape: &[i64],
    per_lane: &[u32],
    order: &[u32],
    (warps, lanes): (u32, u32),
    cga: BasisList,
) -> Encoding {
    let rank = shape.len();
    let shape = &shape_per_block(&cga, shape)[..];
    let per_lane: Vec<u32> = (0..rank).map(|dim| per_lane[dim].min(shape[dim] as u32)).collect();
    let (mut threads, mut groups) = (vec![1; rank], vec![1; rank]);
    let (mut lanes_left, mut warps_left) = (lanes, warps);
    for &dim in order {
        let dim = dim as usize;
        let boxes = (shape[dim] as u32 / per_lane[dim]).max(1);
        threads[dim] = lanes_left.min(boxes);
        groups[dim] = warps_left.min(boxes / threads[dim]);
        lanes_left /= threads[dim];
        warps_left /= groups[dim];
    }
    let last = order[rank - 1] as usize;
    threads[last] *= lanes_left;
    groups[last] *= warps_left;
    Encoding::Blocked {
        size_per_thread: per_lane,
        threads_per_warp: threads,
        warps_per_cta: groups,
        order: order.to_vec(),
        cga,
    }
}
