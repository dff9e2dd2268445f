//! Encodings of shared memory.

use super::{BasisList, memo, shared_layout};
use crate::types;
use ir::{Attr, Type};
use layout::LinearLayout;

/// At which offset of shared memory each element of a memory descriptor is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SharedEncoding {
    /// Rows behind each other; in each row, groups of `vec` elements change places by the number of the row.
    Swizzled {
        /// Elements of a group.
        vec: u32,
        /// Rows that swap alike.
        per_phase: u32,
        /// Different ways to swap.
        max_phase: u32,
        /// The dimensions, fastest first.
        order: Vec<u32>,
        /// How blocks of a cluster split the whole; empty for one block.
        cga: BasisList,
    },
    /// As swizzled; every `per_phase * max_phase` rows the way to swap also changes by the number of the group of rows.
    Rotating {
        /// Elements of a group.
        vec: u32,
        /// Rows that swap alike.
        per_phase: u32,
        /// Different ways to swap.
        max_phase: u32,
        /// The dimensions, fastest first.
        order: Vec<u32>,
        /// How blocks of a cluster split the whole; empty for one block.
        cga: BasisList,
    },
    /// A linear layout in which gaps are left: offsets are linear before [`SharedEncoding::padding`] moves them.
    Padded {
        /// The gaps.
        padding: Vec<Padding>,
        /// Where the powers of two of offsets, in elements without gaps, go.
        offset: BasisList,
        /// The order of the dimensions, if offsets run through them one after the other and the text says so.
        identity: Option<Vec<u32>>,
        /// How blocks of a cluster split the whole; empty for one block.
        cga: BasisList,
    },
    /// Tiles as matrix instructions and bulk copies read them: 8 rows of `swizzling_byte_width` bytes, of which groups
    /// of 16 bytes change places by the number of the row.
    Nvmma {
        /// Bytes of a row of a tile, 32, 64 or 128; 0 for rows behind each other.
        swizzling_byte_width: u32,
        /// Whether the first dimension is the fastest, not the last.
        transposed: bool,
        /// Bits of an element.
        element_bit_width: u32,
        /// The number of dimensions.
        rank: u32,
        /// Whether half of each 16 bytes is left empty.
        fp4_padded: bool,
        /// How blocks of a cluster split the whole; empty for one block.
        cga: BasisList,
    },
    /// Any linear layout, by its bases.
    SharedLinear {
        /// Where the powers of two of offsets, in elements, go.
        offset: BasisList,
        /// Where the blocks of a cluster go.
        block: BasisList,
        /// Of the start, in bytes.
        alignment: u32,
    },
}

/// A gap behind every so many elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Padding {
    /// Elements between gaps.
    pub every: u32,
    /// Elements of a gap.
    pub gap: u32,
}

impl Padding {
    /// Elements that all gaps in front of an offset take.
    pub fn in_front(list: &[Padding], offset: u32) -> u32 {
        list.iter().map(|padding| offset / padding.every * padding.gap).sum()
    }
}

impl SharedEncoding {
    /// A padded encoding of dimensions that run one after the other.
    ///
    /// # Errors
    /// When the order is none, or sizes are no powers of two.
    pub fn padded_identity(
        padding: Vec<Padding>,
        order: Vec<u32>,
        shape: &[u32],
        cga: BasisList,
    ) -> Result<SharedEncoding, String> {
        shared_layout::check_identity(&order, shape)?;
        let offset = shared_layout::identity(&order, shape);
        Ok(SharedEncoding::Padded { padding, offset, identity: Some(order), cga })
    }

    /// The gaps between elements.
    pub fn padding(&self) -> &[Padding] {
        match self {
            SharedEncoding::Padded { padding, .. } => padding,
            _ => &[],
        }
    }

    /// The encoding that an attribute holds.
    pub fn from_attr(attr: &Attr) -> Option<SharedEncoding> {
        attr.data::<SharedEncoding>().cloned()
    }

    /// The encoding as an attribute.
    pub fn attr(&self) -> Attr {
        Attr::own(self.clone())
    }

    /// The encoding of a memory descriptor.
    pub fn of(ty: Type) -> Option<&'static SharedEncoding> {
        types::memdesc(ty)?.encoding.data()
    }

    /// The number of dimensions of what it encodes.
    pub fn rank(&self) -> usize {
        match self {
            SharedEncoding::Swizzled { order, .. } | SharedEncoding::Rotating { order, .. } => order.len(),
            SharedEncoding::Padded { offset, cga, .. } => offset.iter().chain(cga).next().map_or(1, Vec::len),
            SharedEncoding::Nvmma { rank, .. } => *rank as usize,
            SharedEncoding::SharedLinear { offset, block, .. } => {
                offset.iter().chain(block).next().map_or(1, Vec::len)
            }
        }
    }

    /// The dimensions, fastest first.
    pub fn order(&self) -> Vec<u32> {
        shared_layout::order(self)
    }

    /// Which element each offset of each block holds: from `offset`, in elements, and `block` to `dim0`, ….
    ///
    /// The shape is that of what was allocated ([`crate::types::MemDesc::alloc_shape`]), without leading dimensions
    /// beyond the rank of the encoding; a part of it (`memdesc_subslice`) is at the offsets of its elements in the
    /// whole.
    ///
    /// # Panics
    /// When the shape has not as many dimensions as the encoding: verified types have.
    pub fn to_linear(&self, shape: &[i64]) -> LinearLayout {
        memo::shared(self, shape)
    }

    /// Bytes to which the start must be aligned.
    pub fn alignment(&self) -> u32 {
        match self {
            SharedEncoding::Swizzled { .. }
            | SharedEncoding::Rotating { .. }
            | SharedEncoding::Padded { .. } => 16,
            SharedEncoding::Nvmma { swizzling_byte_width, .. } => (swizzling_byte_width * 8).max(128),
            SharedEncoding::SharedLinear { alignment, .. } => *alignment,
        }
    }

    /// How the blocks of a cluster split the whole.
    pub fn cga(&self) -> BasisList {
        match self {
            SharedEncoding::Swizzled { cga, .. }
            | SharedEncoding::Rotating { cga, .. }
            | SharedEncoding::Padded { cga, .. }
            | SharedEncoding::Nvmma { cga, .. } => cga.clone(),
            SharedEncoding::SharedLinear { block, .. } => block.clone(),
        }
    }

    /// What is wrong with the numbers in it, if anything is.
    ///
    /// # Errors
    /// Says what does not hold.
    pub fn check(&self) -> Result<(), String> {
        shared_layout::check(self)
    }
}
