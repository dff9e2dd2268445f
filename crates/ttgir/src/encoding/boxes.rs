//! Boxes: what one bulk copy moves between a tensor in memory and shared memory.
//!
//! The copy engine writes a box row by row, each row as wide as the swizzle, so only tiles whose rows run along the
//! last dimension are boxes. A block that is larger than a box is several of them, in the order of
//! [`SharedEncoding::to_linear`].

use super::SharedEncoding;
use ir::Type;
use layout::Dim;
use ttir::types::{elem, elem_bytes, shape};

/// The most elements of a box along a dimension.
const MAX_SIDE: u32 = 256;
/// The most dimensions of a box.
const MAX_RANK: usize = 5;
/// What the bytes of a row must be a multiple of.
const ROW_UNIT: u64 = 16;
/// Rows that swizzle in all ways there are, whatever their width. The copy engine swizzles by addresses: a box of fewer
/// rows behind another one would begin in the middle of them.
const SWIZZLED_ROWS: i64 = 8;

/// One box of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoxAt {
    /// Its first element in the block.
    pub corner: Vec<u32>,
    /// Where it begins in shared memory, in elements.
    pub offset: u32,
}

impl SharedEncoding {
    /// The encoding in which bulk copies leave blocks of a descriptor: the widest swizzle that fits, none for a few
    /// rows. `None` for elements that they do not know.
    pub fn of_box(descriptor: Type) -> Option<SharedEncoding> {
        let (dims, bytes) = (shape(descriptor), elem_bytes(elem(descriptor)));
        let row = *dims.last()? as u64 * bytes;
        let widths = [128, 64, 32].into_iter().filter(|_| has_all_ways(dims));
        let width = widths.into_iter().find(|&width| row >= u64::from(width)).unwrap_or(0);
        let whole = elem(descriptor).as_int() != Some(1) && matches!(bytes, 1 | 2 | 4 | 8);
        whole.then_some(SharedEncoding::Nvmma {
            swizzling_byte_width: width,
            transposed: false,
            element_bit_width: bytes as u32 * 8,
            rank: dims.len() as u32,
            fp4_padded: false,
            cga: Vec::new(),
        })
    }
}

impl SharedEncoding {
    /// The same place for each element of a block with more or fewer dimensions of size 1, if there is one.
    pub fn with_rank(&self, to: usize) -> Option<SharedEncoding> {
        let mut other = self.clone();
        let SharedEncoding::Nvmma { rank, transposed: false, cga, .. } = &mut other else { return None };
        *rank = to as u32;
        cga.is_empty().then_some(other)
    }
}

/// Whether a box of a block of these sides has as many rows as swizzle differently.
fn has_all_ways(shape: &[i64]) -> bool {
    shape.split_last().is_some_and(|(_, outer)| outer.iter().product::<i64>() >= SWIZZLED_ROWS)
}

/// The sides of the box of one bulk copy for a block that lies so in shared memory; `None` where bulk copies leave no
/// such block.
pub fn box_of(encoding: &SharedEncoding, shape: &[i64]) -> Option<Vec<u32>> {
    let SharedEncoding::Nvmma {
        swizzling_byte_width: width,
        transposed: false,
        element_bit_width: bits,
        fp4_padded: false,
        cga,
        ..
    } = encoding
    else {
        return None;
    };
    let (&row, outer) = shape.split_last()?;
    let columns = if *width == 0 { row.min(i64::from(MAX_SIDE)) as u32 } else { width * 8 / bits };
    let fits = cga.is_empty()
        && (*width == 0 || has_all_ways(shape))
        && shape.len() <= MAX_RANK
        && i64::from(columns) <= row
        && (u64::from(columns) * u64::from(*bits) / 8).is_multiple_of(ROW_UNIT);
    let outer = outer.iter().map(|&side| side.min(i64::from(MAX_SIDE)) as u32);
    fits.then(|| outer.chain([columns]).collect())
}

/// The boxes of a block, if it has any.
pub fn boxes(encoding: &SharedEncoding, shape: &[i64]) -> Option<Vec<BoxAt>> {
    let sides = box_of(encoding, shape)?;
    let counts: Vec<u32> = shape.iter().zip(&sides).map(|(&size, &side)| size as u32 / side).collect();
    let inverse = encoding.to_linear(shape).right_inverse().ok()?;
    let corner_of = |mut number: u32| {
        let mut corner = vec![0; sides.len()];
        for dim in (0..sides.len()).rev() {
            corner[dim] = number % counts[dim] * sides[dim];
            number /= counts[dim];
        }
        corner
    };
    let at = |number: u32| {
        let corner = corner_of(number);
        let place: Vec<(Dim, u32)> =
            corner.iter().enumerate().map(|(dim, &at)| (Dim::block(dim), at)).collect();
        let offset =
            inverse.apply(&place).iter().find(|(dim, _)| *dim == Dim::OFFSET).map_or(0, |(_, at)| *at);
        BoxAt { corner, offset }
    };
    Some((0..counts.iter().product()).map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::{box_of, boxes};
    use crate::SharedEncoding;
    use ir::{FloatKind, Type};
    use ttir::types::tensordesc;

    fn encoding(shape: &[i64]) -> SharedEncoding {
        SharedEncoding::of_box(tensordesc(shape, Type::float(FloatKind::F16))).expect("16-bit elements")
    }

    #[test]
    fn a_wide_block_is_several_boxes() {
        let shape = [128, 256];
        let encoding = encoding(&shape);
        assert_eq!(box_of(&encoding, &shape), Some(vec![128, 64]));
        let found: Vec<(Vec<u32>, u32)> =
            boxes(&encoding, &shape).expect("boxes").into_iter().map(|at| (at.corner, at.offset)).collect();
        let columns = |number: u32| (vec![0, 64 * number], 64 * 128 * number);
        assert_eq!(found, (0..4).map(columns).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_block_is_several_boxes() {
        let shape = [512, 64];
        let corners: Vec<_> = boxes(&encoding(&shape), &shape).expect("boxes");
        assert_eq!(corners.iter().map(|at| at.offset).collect::<Vec<_>>(), [0, 256 * 64]);
    }

    #[test]
    fn a_few_rows_are_not_swizzled() {
        for (shape, width, sides) in [
            ([8, 512], 128, [8, 64]),
            ([4, 512], 0, [4, 256]),
            ([1, 512], 0, [1, 256]),
            ([4, 16], 0, [4, 16]),
            ([8, 16], 32, [8, 16]),
        ] {
            let encoding = encoding(&shape);
            let SharedEncoding::Nvmma { swizzling_byte_width, .. } = &encoding else {
                panic!("{encoding:?}")
            };
            assert_eq!(*swizzling_byte_width, width, "{shape:?}");
            assert_eq!(box_of(&encoding, &shape), Some(sides.to_vec()), "{shape:?}");
            assert!(box_of(&SharedEncoding::of_box(wide()).expect("halves"), &[4, 512]).is_none());
        }
    }

    /// Of rows of 128 bytes, swizzled.
    fn wide() -> ir::Type {
        tensordesc(&[64, 64], Type::float(FloatKind::F16))
    }

    #[test]
    fn narrow_rows_have_no_box() {
        assert_eq!(box_of(&encoding(&[64, 4]), &[64, 4]), None);
        assert_eq!(box_of(&encoding(&[64, 8]), &[64, 8]), Some(vec![64, 8]));
        assert_eq!(box_of(&encoding(&[1024]), &[1024]), Some(vec![256]));
    }
}
