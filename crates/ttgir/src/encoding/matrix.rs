//! The layouts of matrix instructions: of their results and of operands in registers.
//!
//! Instructions that deal out runs are in [`super::fragments`]. One pattern serves all others: 4 lanes side by side
//! along the inner dimension with `width` neighbouring elements each, 8 lanes along the outer one, and registers for
//! what is left of the tile.

use super::Encoding;
use super::bases::{Bases, LANE, REGISTER, WARP};

/// What a family of instructions does: a row for each major version of their layouts.
struct Family {
    version: u32,
    /// Lanes along the inner dimension of a tile and along the outer one.
    lanes: [u32; 2],
    /// Whether warp groups execute them: warps then walk down the rows first, the right operand is in shared
    /// memory, and the shape of an instruction is m, n and k. Else it has the dimensions of the result.
    grouped: bool,
}

static FAMILIES: [Family; 2] = [
    Family { version: 2, lanes: [4, 8], grouped: false },
    Family { version: 3, lanes: [4, 8], grouped: true },
];

impl Family {
    fn of(version: [u32; 2]) -> &'static Family {
        Family::find(version).expect("checked: there is such a version")
    }

    fn find(version: [u32; 2]) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.version == version[0])
    }

    /// In which order warps walk.
    fn warp_order(&self, rank: usize) -> Vec<u32> {
        if self.grouped { column_major(rank) } else { row_major(rank) }
    }

    /// Rows and columns of a result.
    fn size<'s>(&self, instr_shape: &'s [u32]) -> Option<&'s [u32]> {
        instr_shape.get(if self.grouped {
            0..2
        } else {
            instr_shape.len().checked_sub(2)?..instr_shape.len()
        })
    }

    /// Appends a tile of one instruction.
    fn tile(&self, bases: &mut Bases, tile: &[u32], width: u32, order: &[u32]) {
        let (inner, outer) = (order[0] as usize, order[1] as usize);
        bases.along(REGISTER, inner, width);
        bases.along(LANE, inner, self.lanes[0]);
        bases.along(LANE, outer, self.lanes[1]);
        bases.along(REGISTER, outer, tile[outer] / self.lanes[1]);
        bases.along(REGISTER, inner, tile[inner] / (width * self.lanes[0]));
    }
}

/// Lanes that execute an instruction of this version together.
pub(super) fn lanes(version: [u32; 2]) -> u32 {
    Family::of(version).lanes.iter().product()
}

/// The dimensions with the last one fastest.
pub(super) fn row_major(rank: usize) -> Vec<u32> {
    (0..rank as u32).rev().collect()
}

/// The dimensions with the last but one fastest, then the last one.
fn column_major(rank: usize) -> Vec<u32> {
    let mut order = row_major(rank);
    if rank > 1 {
        order.swap(0, 1);
    }
    order
}

/// The dimensions of an operand of a dot, k fastest.
pub fn dot_operand_order(op_idx: u32, rank: usize) -> Vec<u32> {
    if op_idx == 0 { row_major(rank) } else { column_major(rank) }
}

/// The dimension k of an operand.
pub(super) fn k_dim(op_idx: u32, rank: usize) -> usize {
    rank - if op_idx == 0 { 1 } else { 2 }
}

/// The result of an instruction.
pub(super) fn result(
    version: [u32; 2],
    warps_per_cta: &[u32],
    instr_shape: &[u32],
    shape: &[u32],
    cga: &[Vec<u32>],
) -> Bases {
    let (family, rank) = (Family::of(version), shape.len());
    let mut size = vec![1; rank];
    size[rank - 2..].copy_from_slice(family.size(instr_shape).expect("checked: it has two sizes"));
    let order = row_major(rank);
    let mut bases = Bases::new(rank);
    family.tile(&mut bases, &size, 2, &order);
    bases.along_all(WARP, warps_per_cta, &family.warp_order(rank));
    bases.fit(cga, shape, &order)
}

/// An operand in registers.
pub(super) fn operand(
    op_idx: u32,
    parent: &Encoding,
    k_width: u32,
    shape: &[u32],
    cga: &[Vec<u32>],
) -> Bases {
    match parent {
        Encoding::Mma { version, warps_per_cta, .. } => {
            let (family, rank) = (Family::of(*version), shape.len());
            let mut size = vec![1; rank];
            let rows_and_columns = if op_idx == 0 { [16, k_width * 8] } else { [k_width * 8, 8] };
            size[rank - 2..].copy_from_slice(&rows_and_columns);
            let order = dot_operand_order(op_idx, rank);
            let mut bases = Bases::new(rank);
            family.tile(&mut bases, &size, k_width, &order);
            let warps = family.warp_order(rank);
            spread(&mut bases, WARP, warps_per_cta, &warps, k_dim(op_idx, rank));
            bases.fit(cga, shape, &order)
        }
        Encoding::Fragments(fragments) => fragments.operand(op_idx, k_width, shape, cga),
        Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, .. } => {
            let k = k_dim(op_idx, shape.len());
            let mut own = size_per_thread.clone();
            own[k] = shape[k];
            let mut bases = Bases::new(shape.len());
            bases.along_all(REGISTER, &own, order);
            spread(&mut bases, LANE, threads_per_warp, order, k);
            spread(&mut bases, WARP, warps_per_cta, order, k);
            bases.fit(cga, shape, order)
        }
        _ => unreachable!("the rules of encodings allow no other parent of an operand"),
    }
}

/// An input walks along all dimensions but k, along which its positions hold the same.
fn spread(bases: &mut Bases, input: usize, counts: &[u32], order: &[u32], k: usize) {
    for &dim in order {
        let dim = dim as usize;
        if dim == k {
            bases.repeated(input, counts[dim]);
        } else {
            bases.along(input, dim, counts[dim]);
        }
    }
}

/// What is wrong with the numbers of a result, if anything is.
pub(super) fn check_result(version: [u32; 2], warps: &[u32], instr_shape: &[u32]) -> Result<(), String> {
    let rank = warps.len();
    let family = Family::find(version).ok_or_else(|| format!("versionMajor {} is not 2 or 3", version[0]))?;
    let expected = if family.grouped { 3 } else { rank };
    let fits = (2..=3).contains(&rank)
        && instr_shape.len() == expected
        && family
            .size(instr_shape)
            .is_some_and(|size| size.iter().all(|side| side.is_power_of_two() && (8..=256).contains(side)));
    if fits {
        Ok(())
    } else {
        Err(format!("instrShape {instr_shape:?} does not fit version {} with {rank} dimensions", version[0]))
    }
}

/// What is wrong with an operand, if anything is.
pub(super) fn check_operand(op_idx: u32, parent: &Encoding, k_width: u32) -> Result<(), String> {
    if op_idx > 1 {
        return Err(format!("opIdx {op_idx} is not 0 or 1"));
    }
    match parent {
        Encoding::Mma { version, .. }
            if op_idx == 1 && Family::find(*version).is_some_and(|row| row.grouped) =>
        {
            Err("the right operand of this instruction cannot be in registers".into())
        }
        Encoding::Mma { .. } | Encoding::Fragments(_) if k_width.is_power_of_two() && k_width <= 32 => Ok(()),
        Encoding::Mma { .. } | Encoding::Fragments(_) => {
            Err(format!("kWidth {k_width} is not a power of two up to 32"))
        }
        Encoding::Blocked { order, .. } if k_width == 0 && order.len() >= 2 => Ok(()),
        Encoding::Blocked { .. } => {
            Err("kWidth must be 0 for a blocked parent of two dimensions or more".into())
        }
        _ => Err("the parent must be blocked or the result of a matrix instruction".into()),
    }
}
