//! The rules of operations that change shapes.

use crate::encoding::{BasisList, Encoding, SharedEncoding};
use crate::types::{memdesc, memdesc_type};
use ir::Type;
use layout::{Dim, LinearLayout};

/// Without dimension `axis`.
pub fn reduce(operand: &Encoding, axis: usize) -> Encoding {
    Encoding::Slice { dim: axis as u32, parent: Box::new(operand.clone()) }
}

/// With a dimension of size 1 in front of dimension `axis`; `shape` is that of the operand.
///
/// # Errors
/// When there is no such dimension.
pub fn expand_dims(operand: &Encoding, axis: usize, shape: &[i64]) -> Result<Encoding, String> {
    if axis > shape.len() {
        return Err(format!("axis {axis} is outside a block of rank {}", shape.len()));
    }
    check_rank(shape.len() + 1)?;
    match operand {
        Encoding::Slice { dim, parent } if *dim as usize == axis => Ok((**parent).clone()),
        operand => Ok(explicit(&operand.to_linear(shape), |basis| basis.insert(axis, 0))),
    }
}

/// With dimension `i` of the result being dimension `order[i]`; `shape` is that of the operand.
///
/// # Errors
/// When `order` is not a permutation of the dimensions.
pub fn trans(operand: &Encoding, order: &[i64], shape: &[i64]) -> Result<Encoding, String> {
    let order = permutation(order, shape.len())?;
    if order.iter().copied().eq(0..order.len()) {
        return Ok(operand.clone());
    }
    let picked = |list: &[u32]| order.iter().map(|&from| list[from]).collect::<Vec<_>>();
    match operand {
        Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order: own, cga } => {
            Ok(Encoding::Blocked {
                size_per_thread: picked(size_per_thread),
                threads_per_warp: picked(threads_per_warp),
                warps_per_cta: picked(warps_per_cta),
                order: own.iter().map(|&dim| place(&order, dim)).collect(),
                cga: cga.iter().map(|basis| picked(basis)).collect(),
            })
        }
        operand => Ok(explicit(&operand.to_linear(shape), |basis| *basis = picked(basis))),
    }
}

/// The encoding that [`trans`] takes to this one; `shape` is that of the result.
///
/// # Errors
/// When `order` is not a permutation of the dimensions.
pub fn trans_back(result: &Encoding, order: &[i64], shape: &[i64]) -> Result<Encoding, String> {
    let order = permutation(order, shape.len())?;
    let back: Vec<i64> = (0..order.len() as u32).map(|dim| i64::from(place(&order, dim))).collect();
    trans(result, &back, shape)
}

fn permutation(order: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.iter().copied().eq(0..rank as i64) {
        Ok(order.iter().map(|&dim| dim as usize).collect())
    } else {
        Err(format!("{order:?} is not a permutation of {rank} dimensions"))
    }
}

/// Where a dimension comes to stand.
fn place(order: &[usize], dim: u32) -> u32 {
    order.iter().position(|&from| from == dim as usize).expect("verified: a permutation") as u32
}

/// The same elements in row-major order in another shape.
///
/// # Errors
/// When the shapes differ in size.
pub fn reshape(operand: &Encoding, from: &[i64], to: &[i64]) -> Result<Encoding, String> {
    if from == to {
        return Ok(operand.clone());
    }
    let layout = reshaped(&operand.to_linear(from), to)?;
    Ok(Encoding::from_linear(&layout))
}

/// A layout onto another shape: outputs as a number in row-major order stay.
fn reshaped(layout: &LinearLayout, to: &[i64]) -> Result<LinearLayout, String> {
    check_rank(to.len())?;
    let fast_first: Vec<Dim> = (0..layout.outs().iter().count()).rev().map(Dim::block).collect();
    let outs: Vec<(Dim, u32)> =
        to.iter().enumerate().rev().map(|(dim, &size)| (Dim::block(dim), size.max(1).ilog2())).collect();
    let names: Vec<Dim> = (0..to.len()).map(Dim::block).collect();
    let renamed = layout.reorder_outs(&fast_first).rename_outs(&outs);
    renamed.map(|layout| layout.reorder_outs(&names)).map_err(|_| format!("{to:?} has another size"))
}

/// With a new last dimension of size 2, both halves in one lane; `shape` is that of the operand.
///
/// # Errors
/// When there are too many dimensions.
pub fn join(operand: &Encoding, shape: &[i64]) -> Result<Encoding, String> {
    check_rank(shape.len() + 1)?;
    let rank = shape.len() as u32;
    match operand {
        Encoding::Slice { dim, parent } if *dim == rank && halves_in_lane(parent) => Ok((**parent).clone()),
        Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga } => {
            let with = |list: &[u32], last: u32| [list, &[last]].concat();
            Ok(Encoding::Blocked {
                size_per_thread: with(size_per_thread, 2),
                threads_per_warp: with(threads_per_warp, 1),
                warps_per_cta: with(warps_per_cta, 1),
                order: [&[rank][..], order].concat(),
                cga: cga.iter().map(|basis| with(basis, 0)).collect(),
            })
        }
        operand => {
            let mut joined = explicit(&operand.to_linear(shape), |basis| basis.push(0));
            if let Encoding::Linear { register, .. } = &mut joined {
                let mut basis = vec![0; shape.len()];
                basis.push(1);
                register.insert(0, basis);
            }
            Ok(joined)
        }
    }
}

/// Whether a blocked encoding has both halves of its last dimension in one lane.
fn halves_in_lane(encoding: &Encoding) -> bool {
    let Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, cga, .. } = encoding else {
        return false;
    };
    size_per_thread.last() == Some(&2)
        && threads_per_warp.last() == Some(&1)
        && warps_per_cta.last() == Some(&1)
        && cga.iter().all(|basis| basis.last() == Some(&0))
}

/// Without the last dimension, which has size 2 and both halves in one lane; `shape` is that of the operand.
///
/// # Errors
/// When the halves are in different lanes.
pub fn split(operand: &Encoding, shape: &[i64]) -> Result<Encoding, String> {
    let last = shape.len().checked_sub(1).ok_or("a scalar has no dimension to split")?;
    if let Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga } = operand
        && halves_in_lane(operand)
        && order.len() > 1
        && order[0] as usize == last
    {
        return Ok(Encoding::Blocked {
            size_per_thread: size_per_thread[..last].to_vec(),
            threads_per_warp: threads_per_warp[..last].to_vec(),
            warps_per_cta: warps_per_cta[..last].to_vec(),
            order: order[1..].to_vec(),
            cga: cga.iter().map(|basis| basis[..last].to_vec()).collect(),
        });
    }
    let layout = operand.to_linear(shape);
    let half = |basis: &Vec<u32>| basis[last] == 1 && basis[..last].iter().all(|&at| at == 0);
    let whole = explicit(&layout, |_| {});
    let Encoding::Linear { mut register, lane, warp, block } = whole else {
        return Err("an explicit encoding is linear".into());
    };
    let at =
        register.iter().position(half).ok_or("the halves of the last dimension are in different lanes")?;
    register.remove(at);
    let mut lists = [register, lane, warp, block];
    if lists.iter().flatten().any(|basis| basis[last] != 0) {
        return Err("the halves of the last dimension are in different lanes".into());
    }
    lists.iter_mut().flatten().for_each(|basis| basis.truncate(last));
    let [register, lane, warp, block] = lists;
    Ok(Encoding::Linear { register, lane, warp, block })
}

fn check_rank(rank: usize) -> Result<(), String> {
    if rank <= Dim::MOST {
        return Ok(());
    }
    Err(format!("layouts have up to {} dimensions, not {rank}", Dim::MOST))
}

/// A layout by its bases, each changed.
fn explicit(layout: &LinearLayout, change: impl Fn(&mut Vec<u32>)) -> Encoding {
    let mut encoding = Encoding::from_linear(layout);
    if let Encoding::Linear { register, lane, warp, block } = &mut encoding {
        for basis in [register, lane, warp, block].into_iter().flatten() {
            change(basis);
        }
    }
    encoding
}

/// The type of `ttg.memdesc_trans`.
///
/// # Errors
/// When `order` is not a permutation of the dimensions, or the encoding does not follow.
pub fn memdesc_trans(ty: Type, order: &[i64]) -> Result<Type, String> {
    let desc = memdesc(ty).ok_or("not a memory descriptor")?;
    let encoding: &SharedEncoding = desc.encoding.data().ok_or("not an encoding of shared memory")?;
    let order = permutation(order, desc.shape.len())?;
    if encoding.rank() != order.len() {
        return Err("the encoding and the block differ in rank".into());
    }
    let shape: Vec<i64> = order.iter().map(|&from| desc.shape[from]).collect();
    let leading = desc.alloc_shape.len() - order.len();
    let mut alloc = desc.alloc_shape[..leading].to_vec();
    alloc.extend(order.iter().map(|&from| desc.alloc_shape[leading + from]));
    let encoding = trans_shared(encoding, &order)?;
    Ok(crate::types::memdesc_part_type(&shape, desc.elem, &encoding, desc.mutable, &alloc))
}

fn trans_shared(encoding: &SharedEncoding, order: &[usize]) -> Result<SharedEncoding, String> {
    let picked = |basis: &Vec<u32>| order.iter().map(|&from| basis[from]).collect::<Vec<_>>();
    let all = |list: &BasisList| list.iter().map(picked).collect::<BasisList>();
    if order.iter().copied().eq(0..order.len()) {
        return Ok(encoding.clone());
    }
    match encoding {
        SharedEncoding::Swizzled { vec, per_phase, max_phase, order: own, cga } => {
            Ok(SharedEncoding::Swizzled {
                vec: *vec,
                per_phase: *per_phase,
                max_phase: *max_phase,
                order: own.iter().map(|&dim| place(order, dim)).collect(),
                cga: all(cga),
            })
        }
        SharedEncoding::Rotating { vec, per_phase, max_phase, order: own, cga } => {
            Ok(SharedEncoding::Rotating {
                vec: *vec,
                per_phase: *per_phase,
                max_phase: *max_phase,
                order: own.iter().map(|&dim| place(order, dim)).collect(),
                cga: all(cga),
            })
        }
        SharedEncoding::Padded { padding, offset, identity, cga } => Ok(SharedEncoding::Padded {
            padding: padding.clone(),
            offset: all(offset),
            identity: identity.as_ref().map(|own| own.iter().map(|&dim| place(order, dim)).collect()),
            cga: all(cga),
        }),
        SharedEncoding::Nvmma {
            swizzling_byte_width,
            transposed,
            element_bit_width,
            rank: 2,
            fp4_padded: false,
            cga,
        } => Ok(SharedEncoding::Nvmma {
            swizzling_byte_width: *swizzling_byte_width,
            transposed: !transposed,
            element_bit_width: *element_bit_width,
            rank: 2,
            fp4_padded: false,
            cga: all(cga),
        }),
        SharedEncoding::Nvmma { .. } => Err("this encoding cannot be permuted".into()),
        SharedEncoding::SharedLinear { offset, block, alignment } => {
            Ok(SharedEncoding::SharedLinear { offset: all(offset), block: all(block), alignment: *alignment })
        }
    }
}

/// The type of `ttg.memdesc_reshape`.
///
/// # Errors
/// When the shapes differ in size.
pub fn memdesc_reshape(ty: Type, shape: &[i64]) -> Result<Type, String> {
    let desc = memdesc(ty).ok_or("not a memory descriptor")?;
    let encoding: &SharedEncoding = desc.encoding.data().ok_or("not an encoding of shared memory")?;
    if encoding.rank() != desc.shape.len() {
        return Err("the encoding and the block differ in rank".into());
    }
    if desc.shape == shape {
        return Ok(ty);
    }
    let layout = reshaped(&encoding.to_linear(desc.shape), shape)?;
    let list = |dim: Dim| -> BasisList {
        layout.bases(dim).iter().map(|basis| basis.iter().map(|part| part.1).collect()).collect()
    };
    let (offset, block) = (list(Dim::OFFSET), list(Dim::BLOCK));
    let encoding = if encoding.padding().is_empty() {
        SharedEncoding::SharedLinear { offset, block, alignment: encoding.alignment() }
    } else if block.is_empty() {
        let padding = encoding.padding().to_vec();
        SharedEncoding::Padded { padding, offset, identity: None, cga: block }
    } else {
        return Err("padded memory of a cluster keeps its shape".into());
    };
    Ok(memdesc_type(shape, desc.elem, &encoding, desc.mutable))
}
