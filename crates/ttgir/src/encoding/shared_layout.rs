//! The linear layouts of encodings of shared memory.
//!
//! Offsets are built where [`Bases`] keeps registers.

use super::bases::{BLOCK, Bases, REGISTER, cga_sizes, sizes};
use super::tensor_layout::{check_cga, check_order, check_powers, check_reach};
use super::{BasisList, Padding, SharedEncoding, matrix};
use layout::LinearLayout;

/// The largest side of a box that a bulk copy moves.
const MAX_BOX: u32 = 256;

/// Without looking in the table.
pub(super) fn linear(encoding: &SharedEncoding, shape: &[i64]) -> LinearLayout {
    assert_eq!(encoding.rank(), shape.len(), "the encoding and the shape differ in rank");
    let shape = sizes(shape);
    let bases = match encoding {
        SharedEncoding::Swizzled { vec, per_phase, max_phase, order, cga } => {
            let way = |row: u32| row / per_phase % max_phase;
            swizzled(*vec, &way, order, &part(cga, &shape)).fit(cga, &shape, order)
        }
        SharedEncoding::Rotating { vec, per_phase, max_phase, order, cga } => {
            let way = |row: u32| (row / per_phase % max_phase) ^ (row / (per_phase * max_phase) % max_phase);
            swizzled(*vec, &way, order, &part(cga, &shape)).fit(cga, &shape, order)
        }
        SharedEncoding::Padded { offset, cga, .. } => {
            let mut bases = Bases::new(shape.len());
            bases.inputs[REGISTER] = offset.clone();
            bases.sizes = reach(offset, shape.len());
            bases.fit(cga, &shape, &order(encoding))
        }
        SharedEncoding::Nvmma { cga, .. } => {
            let order = matrix::row_major(shape.len());
            tiled(encoding, &part(cga, &shape)).fit(cga, &shape, &order)
        }
        SharedEncoding::SharedLinear { offset, block, .. } => {
            let mut bases = Bases::new(shape.len());
            bases.inputs[REGISTER] = offset.clone();
            bases.inputs[BLOCK] = block.clone();
            bases.sizes = shape.clone();
            bases.cut(&shape);
            bases
        }
    };
    bases.finish_shared()
}

/// The shape of the part of one block.
pub(super) fn part(cga: &[Vec<u32>], shape: &[u32]) -> Vec<u32> {
    shape.iter().zip(cga_sizes(cga, shape.len())).map(|(size, split)| (size / split).max(1)).collect()
}

/// `way` says how a row swaps its groups; it is linear in the bits of the number of the row.
fn swizzled(vec: u32, way: &dyn Fn(u32) -> u32, order: &[u32], shape: &[u32]) -> Bases {
    let mut bases = Bases::new(shape.len());
    let &[column, row, ..] = order else {
        bases.along(REGISTER, 0, shape[0]);
        return bases;
    };
    let (column, row) = (column as usize, row as usize);
    bases.along(REGISTER, column, shape[column]);
    for bit in 0..shape[row].ilog2() {
        let at = 1u32 << bit;
        let mut basis = vec![0; shape.len()];
        basis[row] = at;
        basis[column] = (vec * way(at)) % shape[column];
        bases.inputs[REGISTER].push(basis);
    }
    bases.sizes[row] = shape[row];
    for &dim in &order[2..] {
        bases.along(REGISTER, dim as usize, shape[dim as usize]);
    }
    bases
}

/// Tiles over the box of a bulk copy, boxes over the shape.
fn tiled(encoding: &SharedEncoding, shape: &[u32]) -> Bases {
    let SharedEncoding::Nvmma {
        swizzling_byte_width: width, transposed, element_bit_width, fp4_padded, ..
    } = encoding
    else {
        unreachable!("the caller has matched");
    };
    let rank = shape.len();
    let mut bases = Bases::new(rank);
    let mut boxed: Vec<u32> = shape.iter().map(|&size| size.min(MAX_BOX)).collect();
    // The dimensions with the slowest first; rows run along the last.
    let mut dims: Vec<usize> = (0..rank).collect();
    if *transposed {
        dims.rotate_left(1);
    }
    let columns = dims.pop().expect("blocks have dimensions");
    if *width == 0 {
        bases.along(REGISTER, columns, boxed[columns]);
        for &dim in dims.iter().rev() {
            bases.along(REGISTER, dim, boxed[dim]);
        }
        return bases;
    }
    let row_elements = width * 8 / (*element_bit_width).max(8);
    boxed[columns] = if *fp4_padded { row_elements / 2 } else { row_elements };
    let padding = if *fp4_padded { 128 / element_bit_width / 2 } else { 0 };
    bases.along(REGISTER, columns, if *fp4_padded { padding } else { row_elements });
    if *fp4_padded {
        bases.repeated(REGISTER, 2);
        bases.along(REGISTER, columns, row_elements / 2 / padding);
    }
    rows(&mut bases, encoding, &boxed, columns, &dims);
    bases
}

/// Appends rows: the number of a row counts through all dimensions but that of the columns, the last one fastest.
fn rows(bases: &mut Bases, encoding: &SharedEncoding, boxed: &[u32], columns: usize, dims: &[usize]) {
    let mut number = 1;
    for &dim in dims.iter().rev() {
        while bases.sizes[dim] < boxed[dim] {
            let mut basis = vec![0; boxed.len()];
            basis[dim] = bases.sizes[dim];
            basis[columns] = if number < 8 { swap(encoding, number) } else { 0 };
            bases.sizes[dim] *= 2;
            bases.inputs[REGISTER].push(basis);
            number *= 2;
        }
    }
}

/// By how many elements the groups of a row change places.
fn swap(encoding: &SharedEncoding, row: u32) -> u32 {
    let (vec, per_phase, max_phase) = phases(encoding);
    let at = vec * (row / per_phase % max_phase);
    if let SharedEncoding::Nvmma { fp4_padded: true, .. } = encoding { at / 2 } else { at }
}

/// Elements of a group, rows that swap alike, different ways to swap.
fn phases(encoding: &SharedEncoding) -> (u32, u32, u32) {
    match encoding {
        SharedEncoding::Swizzled { vec, per_phase, max_phase, .. } => (*vec, *per_phase, *max_phase),
        SharedEncoding::Nvmma { swizzling_byte_width: width @ 32.., element_bit_width, .. } => {
            (128 / element_bit_width, 128 / width, width / 16)
        }
        _ => (1, 1, 1),
    }
}

/// See [`SharedEncoding::order`].
pub(super) fn order(encoding: &SharedEncoding) -> Vec<u32> {
    match encoding {
        SharedEncoding::Swizzled { order, .. } | SharedEncoding::Rotating { order, .. } => order.clone(),
        SharedEncoding::Padded { identity: Some(order), .. } => order.clone(),
        SharedEncoding::Nvmma { rank, transposed, .. } => {
            let mut order = matrix::row_major(*rank as usize);
            if *transposed {
                order.rotate_right(1);
            }
            order
        }
        SharedEncoding::SharedLinear { offset, .. } | SharedEncoding::Padded { offset, .. } => {
            let mut order: Vec<u32> = Vec::new();
            let walked = offset.iter().filter_map(|basis| basis.iter().position(|&at| at != 0));
            for dim in walked.map(|dim| dim as u32).chain(matrix::row_major(encoding.rank())) {
                if !order.contains(&dim) {
                    order.push(dim);
                }
            }
            order
        }
    }
}

/// See [`SharedEncoding::check`].
pub(super) fn check(encoding: &SharedEncoding) -> Result<(), String> {
    match encoding {
        SharedEncoding::Swizzled { vec, per_phase, max_phase, order, cga }
        | SharedEncoding::Rotating { vec, per_phase, max_phase, order, cga } => {
            check_order(order)?;
            let named = [("vec", vec), ("perPhase", per_phase), ("maxPhase", max_phase)];
            match named.iter().find(|(_, size)| !size.is_power_of_two() || **size > 1 << 20) {
                None => check_cga(cga, order.len()),
                Some((name, size)) => Err(format!("{name} {size} is not a power of two")),
            }
        }
        SharedEncoding::Nvmma {
            swizzling_byte_width: width,
            element_bit_width: bits,
            rank,
            transposed,
            cga,
            ..
        } => {
            if ![0, 32, 64, 128].contains(width) {
                return Err(format!("swizzlingByteWidth {width} is not 0, 32, 64 or 128"));
            }
            if ![8, 16, 32, 64].contains(bits) {
                return Err(format!("elementBitWidth {bits} is not 8, 16, 32 or 64"));
            }
            if !(1..=8).contains(rank) || (*rank == 1 && *width != 0) {
                return Err(format!("rank {rank} does not fit swizzlingByteWidth {width}"));
            }
            if *transposed && *rank > 2 {
                return Err(format!("a transposed encoding has at most 2 dimensions, not {rank}"));
            }
            check_cga(cga, *rank as usize)
        }
        SharedEncoding::Padded { padding, offset, cga, .. } => {
            check_padding(padding)?;
            check_linear(offset, &BasisList::new(), encoding.rank())?;
            check_cga(cga, encoding.rank())
        }
        SharedEncoding::SharedLinear { offset, block, alignment } => {
            if !alignment.is_power_of_two() {
                return Err(format!("alignment {alignment} is not a power of two"));
            }
            check_linear(offset, block, encoding.rank())
        }
    }
}

/// Gaps come every power of two of elements, each of another one.
fn check_padding(padding: &[Padding]) -> Result<(), String> {
    let fits = |padding: &Padding| {
        padding.every.is_power_of_two() && padding.every <= 1 << 20 && (1..=1 << 16).contains(&padding.gap)
    };
    let mut all: Vec<u32> = padding.iter().map(|padding| padding.every).collect();
    all.sort_unstable();
    all.dedup();
    if !padding.is_empty() && padding.len() <= 8 && padding.iter().all(fits) && all.len() == padding.len() {
        Ok(())
    } else {
        Err("padding is a list of gaps, each behind another power of two of elements".into())
    }
}

fn check_linear(offset: &BasisList, block: &BasisList, rank: usize) -> Result<(), String> {
    let all = || offset.iter().chain(block);
    if !(1..=8).contains(&rank) || all().any(|basis| basis.len() != rank) || all().count() > 40 {
        return Err("bases are positions in 1 to 8 dimensions".into());
    }
    check_reach(&[offset, block])?;
    let mut bases = Bases::new(rank);
    bases.sizes = reach(&all().cloned().collect(), rank);
    bases.inputs[REGISTER] = offset.clone();
    bases.inputs[BLOCK] = block.clone();
    if bases.finish_shared().is_surjective() {
        Ok(())
    } else {
        Err("the bases do not reach every element".into())
    }
}

/// The sizes of the block that bases reach.
fn reach(list: &BasisList, rank: usize) -> Vec<u32> {
    let along = |dim: usize| list.iter().map(|basis| basis[dim]).max().unwrap_or(0);
    (0..rank).map(|dim| (along(dim) + 1).next_power_of_two()).collect()
}

/// Offsets that run through dimensions one after the other.
pub(super) fn identity(order: &[u32], shape: &[u32]) -> BasisList {
    let mut bases = Bases::new(shape.len());
    bases.along_all(REGISTER, shape, order);
    std::mem::take(&mut bases.inputs[REGISTER])
}

/// What is wrong with an order and sizes, if anything is.
pub(super) fn check_identity(order: &[u32], shape: &[u32]) -> Result<(), String> {
    check_order(order)?;
    check_powers("shape", shape, order.len())
}
