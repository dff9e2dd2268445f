//! The linear layouts of tensor encodings.

use super::bases::{BLOCK, Bases, LANE, REGISTER, WARP, cga_sizes, sizes};
use super::{BasisList, Encoding, Fragments, matrix};
use layout::{Dim, LinearLayout};

/// Without looking in the table.
pub(super) fn linear(encoding: &Encoding, shape: &[i64]) -> LinearLayout {
    assert_eq!(encoding.rank(), shape.len(), "the encoding and the shape differ in rank");
    match encoding {
        Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga } => {
            let mut bases = Bases::new(shape.len());
            bases.along_all(REGISTER, size_per_thread, order);
            bases.along_all(LANE, threads_per_warp, order);
            bases.along_all(WARP, warps_per_cta, order);
            let mut bases = bases.fit(cga, &sizes(shape), order);
            // A lane keeps no copies of its own.
            bases.inputs[REGISTER].retain(|basis| basis.iter().any(|&at| at != 0));
            bases.finish()
        }
        Encoding::Slice { dim, parent } => slice(*dim as usize, parent, shape),
        Encoding::DotOp { op_idx, parent, k_width } => {
            matrix::operand(*op_idx, parent, *k_width, &sizes(shape), &encoding.cga()).finish()
        }
        Encoding::Mma { version, warps_per_cta, cga, instr_shape } => {
            matrix::result(*version, warps_per_cta, instr_shape, &sizes(shape), cga).finish()
        }
        Encoding::Fragments(fragments) => fragments.result(&sizes(shape)).finish(),
        Encoding::Linear { register, lane, warp, block } => {
            explicit([register, lane, warp, block], &sizes(shape), encoding)
        }
    }
}

fn slice(dim: usize, parent: &Encoding, shape: &[i64]) -> LinearLayout {
    let mut whole = shape.to_vec();
    whole.insert(dim, 1);
    let parent = parent.to_linear(&whole);
    let mut bases = Bases::new(shape.len());
    bases.sizes = sizes(shape);
    bases.inputs = super::bases::lists(&parent);
    for basis in bases.inputs.iter_mut().flatten() {
        basis.remove(dim);
    }
    // Registers that only walked along the dimension that is gone would be copies.
    bases.inputs[REGISTER].retain(|basis| basis.iter().any(|&at| at != 0));
    bases.finish()
}

fn explicit(inputs: [&BasisList; 4], shape: &[u32], encoding: &Encoding) -> LinearLayout {
    let mut bases = Bases::new(shape.len());
    bases.inputs = inputs.map(Clone::clone);
    bases.sizes = explicit_sizes(&inputs, shape.len());
    bases.grow(shape, &encoding.order());
    let zeros = |basis: &Vec<u32>| basis.iter().all(|&at| at == 0);
    let fits = bases.inputs[REGISTER].iter().map(zeros).collect::<Vec<_>>();
    bases.cut(shape);
    // Registers that the cut made copies go; those that were copies before stay.
    let mut was = fits.iter();
    bases.inputs[REGISTER].retain(|basis| was.next() == Some(&true) || !zeros(basis));
    bases.finish()
}

fn explicit_sizes(inputs: &[&BasisList; 4], rank: usize) -> Vec<u32> {
    let reach =
        |dim: usize| inputs.iter().flat_map(|list| list.iter()).map(|basis| basis[dim]).max().unwrap_or(0);
    (0..rank).map(|dim| (reach(dim) + 1).next_power_of_two()).collect()
}

/// See [`Encoding::order`].
pub(super) fn order(encoding: &Encoding) -> Vec<u32> {
    match encoding {
        Encoding::Blocked { order, .. } => order.clone(),
        Encoding::Slice { dim, parent } => {
            let rest = parent.order().into_iter().filter(|own| own != dim);
            rest.map(|own| if own > *dim { own - 1 } else { own }).collect()
        }
        Encoding::DotOp { op_idx, parent, .. } => match &**parent {
            Encoding::Blocked { order, .. } => order.clone(),
            parent => matrix::dot_operand_order(*op_idx, parent.rank()),
        },
        Encoding::Mma { warps_per_cta, .. } => matrix::row_major(warps_per_cta.len()),
        Encoding::Fragments(fragments) => matrix::row_major(fragments.rank()),
        Encoding::Linear { register, .. } => {
            let mut order = Vec::new();
            for basis in register {
                if let Some(dim) = basis.iter().position(|&at| at != 0)
                    && !order.contains(&(dim as u32))
                {
                    order.push(dim as u32);
                }
            }
            for dim in matrix::row_major(encoding.rank()) {
                if !order.contains(&dim) {
                    order.push(dim);
                }
            }
            order
        }
    }
}

/// See [`Encoding::cga`].
pub(super) fn cga(encoding: &Encoding) -> BasisList {
    match encoding {
        Encoding::Blocked { cga, .. }
        | Encoding::Mma { cga, .. }
        | Encoding::Fragments(Fragments { cga, .. }) => cga.clone(),
        Encoding::Slice { dim, parent } => {
            let mut cga = parent.cga();
            cga.iter_mut().for_each(|basis| _ = basis.remove(*dim as usize));
            cga
        }
        Encoding::DotOp { op_idx, parent, .. } => {
            let mut cga = parent.cga();
            let k = matrix::k_dim(*op_idx, parent.rank());
            cga.iter_mut().for_each(|basis| basis[k] = 0);
            cga
        }
        Encoding::Linear { register, lane, warp, block } => {
            let part = explicit_sizes(&[register, lane, warp, &Vec::new()], encoding.rank());
            let scaled = |basis: &Vec<u32>| basis.iter().zip(&part).map(|(at, size)| at / size).collect();
            block.iter().map(scaled).collect()
        }
    }
}

/// See [`Encoding::lanes_and_warps`].
pub(super) fn lanes_and_warps(encoding: &Encoding) -> (u32, u32) {
    match encoding {
        Encoding::Blocked { threads_per_warp, warps_per_cta, .. } => {
            (threads_per_warp.iter().product(), warps_per_cta.iter().product())
        }
        Encoding::Slice { parent, .. } | Encoding::DotOp { parent, .. } => lanes_and_warps(parent),
        Encoding::Mma { version, warps_per_cta, .. } => {
            (matrix::lanes(*version), warps_per_cta.iter().product())
        }
        Encoding::Fragments(fragments) => (fragments.lanes, fragments.num_warps()),
        Encoding::Linear { lane, warp, .. } => (1 << lane.len(), 1 << warp.len()),
    }
}

/// See [`Encoding::check`].
pub(super) fn check(encoding: &Encoding) -> Result<(), String> {
    match encoding {
        Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga } => {
            check_order(order)?;
            let lists = [
                ("sizePerThread", size_per_thread),
                ("threadsPerWarp", threads_per_warp),
                ("warpsPerCTA", warps_per_cta),
            ];
            lists.iter().try_for_each(|(name, list)| check_powers(name, list, order.len()))?;
            check_total("sizePerThread", size_per_thread, 1 << 12)?;
            check_total("threadsPerWarp", threads_per_warp, 1 << 10)?;
            check_total("warpsPerCTA", warps_per_cta, 1 << 10)?;
            check_cga(cga, order.len())
        }
        Encoding::Slice { dim, parent } => {
            if (*dim as usize) < parent.rank() && parent.rank() > 1 {
                Ok(())
            } else {
                Err(format!("dim {dim} cannot be taken out of {} dimensions", parent.rank()))
            }
        }
        Encoding::DotOp { op_idx, parent, k_width } => matrix::check_operand(*op_idx, parent, *k_width),
        Encoding::Mma { version, warps_per_cta, cga, instr_shape } => {
            check_powers("warpsPerCTA", warps_per_cta, warps_per_cta.len())?;
            check_total("warpsPerCTA", warps_per_cta, 1 << 10)?;
            check_cga(cga, warps_per_cta.len())?;
            matrix::check_result(*version, warps_per_cta, instr_shape)
        }
        Encoding::Fragments(fragments) => {
            fragments.check()?;
            check_cga(&fragments.cga, fragments.rank())
        }
        Encoding::Linear { register, lane, warp, block } => check_explicit([register, lane, warp, block]),
    }
}

fn check_explicit(inputs: [&BasisList; 4]) -> Result<(), String> {
    let rank = inputs.iter().flat_map(|list| list.iter()).map(Vec::len).next();
    let Some(rank) = rank.filter(|&rank| (1..=Dim::MOST).contains(&rank)) else {
        return Err(format!("a linear encoding has bases of 1 to {} dimensions", Dim::MOST));
    };
    if inputs.iter().flat_map(|list| list.iter()).any(|basis| basis.len() != rank) {
        return Err("all bases have as many dimensions".into());
    }
    check_reach(&inputs)?;
    let mut bases = Bases::new(rank);
    bases.sizes = explicit_sizes(&inputs, rank);
    bases.inputs = inputs.map(Clone::clone);
    let bits: usize = inputs.iter().map(|list| list.len()).sum();
    let outs: u32 = bases.sizes.iter().map(|size| size.ilog2()).sum();
    if bits > 40 || outs > 40 {
        return Err("a linear encoding has at most 40 bits".into());
    }
    if bases.finish().is_surjective() { Ok(()) } else { Err("the bases do not reach every element".into()) }
}

pub(super) fn check_order(order: &[u32]) -> Result<(), String> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if (1..=Dim::MOST).contains(&order.len()) && sorted.iter().copied().eq(0..order.len() as u32) {
        Ok(())
    } else {
        Err(format!("order {order:?} is not a permutation of the dimensions"))
    }
}

pub(super) fn check_powers(name: &str, list: &[u32], rank: usize) -> Result<(), String> {
    if list.len() != rank || rank == 0 || rank > Dim::MOST {
        return Err(format!("{name} has {} numbers, not {rank}", list.len()));
    }
    match list.iter().find(|size| !size.is_power_of_two() || **size > 1 << 20) {
        None => Ok(()),
        Some(size) => Err(format!("{name} has {size}, which is not a power of two")),
    }
}

fn check_total(name: &str, list: &[u32], limit: u64) -> Result<(), String> {
    let total = list.iter().fold(1u64, |total, &size| total.saturating_mul(u64::from(size)));
    if total <= limit { Ok(()) } else { Err(format!("{name} is more than {limit} in all")) }
}

/// Bases stay where blocks can be.
pub(super) fn check_reach(lists: &[&BasisList]) -> Result<(), String> {
    match lists.iter().flat_map(|list| list.iter()).flatten().find(|&&at| at >= 1 << 20) {
        None => Ok(()),
        Some(at) => Err(format!("a basis reaches {at}, beyond any block")),
    }
}

pub(super) fn check_cga(cga: &[Vec<u32>], rank: usize) -> Result<(), String> {
    let fits = |basis: &Vec<u32>| basis.len() == rank && basis.iter().all(|at| *at < 1 << 8);
    if cga.len() > 8 || !cga.iter().all(fits) {
        return Err(format!("CGALayout is not a list of positions in {rank} dimensions"));
    }
    let mut bases = Bases::new(rank);
    bases.inputs[BLOCK] = cga.to_vec();
    bases.sizes = cga_sizes(cga, rank);
    if bases.finish().is_surjective() { Ok(()) } else { Err("CGALayout does not reach every part".into()) }
}
