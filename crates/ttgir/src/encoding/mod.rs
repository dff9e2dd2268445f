//! Encodings: where each element of a block lives.
//!
//! [`Encoding`] says which register of which lane of which warp holds each element of a tensor, [`SharedEncoding`] at
//! which offset of shared memory each element of a memory descriptor is. Both are plain data, stand on types as
//! attributes, and are ways to write a [`LinearLayout`], which every decision is made on.
//!
//! Rules: all sizes are powers of two, lists that say something for each dimension are as long as the rank, and `order`
//! lists are permutations with the fastest dimension first. [`Encoding::check`] and [`SharedEncoding::check`] tell; the
//! parser and the verifier call them.

mod bases;
mod boxes;
mod facts;
mod fragments;
mod matrix;
mod memo;
mod shared;
mod shared_layout;
mod tensor_layout;
mod text;
mod text_shared;

pub use boxes::{BoxAt, box_of, boxes};
pub(crate) use facts::replace_attr;
pub use facts::{Facts, distinct_registers, num_registers, replace_encoding, same_layout, shape_per_block};
pub use fragments::{Fragments, Tiles};
pub use matrix::dot_operand_order;
pub use shared::{Padding, SharedEncoding};
pub use text::SharedMemory;

use ir::{Attr, AttrRow, Type};
use layout::LinearLayout;

/// How each attribute is read.
pub static ATTR_ROWS: &[&AttrRow] = &[
    &text::BLOCKED,
    &text::SLICE,
    &text::DOT_OP,
    &text::MMA,
    &text::FRAGMENTS_64,
    &text::FRAGMENTS_32,
    &text::LINEAR,
    &text::SMEM,
    &text_shared::SWIZZLED,
    &text_shared::ROTATING,
    &text_shared::PADDED,
    &text_shared::NVMMA,
    &text_shared::SHARED_LINEAR,
];

/// Bases of one input dimension: for each power of two, a position in the block.
pub type BasisList = Vec<Vec<u32>>;

/// Which register of which lane of which warp of which block holds each element of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Encoding {
    /// Lanes and warps tile the block, each lane with a small box of neighbouring elements.
    Blocked {
        /// The box of a lane.
        size_per_thread: Vec<u32>,
        /// Lanes of a warp along each dimension.
        threads_per_warp: Vec<u32>,
        /// Warps along each dimension.
        warps_per_cta: Vec<u32>,
        /// The dimensions, fastest first.
        order: Vec<u32>,
        /// How blocks of a cluster split the tensor; empty for one block.
        cga: BasisList,
    },
    /// What is left of `parent` when its dimension `dim` is taken out.
    Slice {
        /// The dimension.
        dim: u32,
        /// The encoding of the larger block.
        parent: Box<Encoding>,
    },
    /// An operand of a dot whose result has encoding `parent`.
    DotOp {
        /// 0 for the left operand, 1 for the right one.
        op_idx: u32,
        /// The encoding of the result.
        parent: Box<Encoding>,
        /// Neighbouring elements along k in a lane; 0 for a blocked parent.
        k_width: u32,
    },
    /// The result of a matrix instruction.
    Mma {
        /// Generation and revision of the instruction.
        version: [u32; 2],
        /// Warps along each dimension.
        warps_per_cta: Vec<u32>,
        /// How blocks of a cluster split the tensor; empty for one block.
        cga: BasisList,
        /// m, n and, where it matters, k of the instruction.
        instr_shape: Vec<u32>,
    },
    /// The result of a matrix instruction that deals out runs of elements.
    Fragments(Fragments),
    /// Any linear layout, by its bases.
    Linear {
        /// Where the registers of a lane go.
        register: BasisList,
        /// Where the lanes of a warp go.
        lane: BasisList,
        /// Where the warps go.
        warp: BasisList,
        /// Where the blocks of a cluster go.
        block: BasisList,
    },
}

impl Encoding {
    /// The encoding that an attribute holds.
    pub fn from_attr(attr: &Attr) -> Option<Encoding> {
        attr.data::<Encoding>().cloned()
    }

    /// The encoding as an attribute.
    pub fn attr(&self) -> Attr {
        Attr::own(self.clone())
    }

    /// The encoding of a tensor type.
    pub fn of(ty: Type) -> Option<&'static Encoding> {
        ttir::types::encoding(ty)?.data()
    }

    /// The number of dimensions of the blocks that it encodes.
    pub fn rank(&self) -> usize {
        match self {
            Encoding::Blocked { order, .. } => order.len(),
            Encoding::Slice { parent, .. } => parent.rank().saturating_sub(1),
            Encoding::DotOp { parent, .. } => parent.rank(),
            Encoding::Mma { warps_per_cta, .. } => warps_per_cta.len(),
            Encoding::Fragments(fragments) => fragments.rank(),
            Encoding::Linear { register, lane, warp, block } => {
                register.iter().chain(lane).chain(warp).chain(block).next().map_or(1, Vec::len)
            }
        }
    }

    /// The dimensions, fastest first, in which registers of a lane advance.
    pub fn order(&self) -> Vec<u32> {
        tensor_layout::order(self)
    }

    /// Which element each register of each lane of each warp of each block holds, for a block of a shape.
    ///
    /// From `register`, `lane`, `warp`, `block` to `dim0`, …: where the block is smaller than the encoding, elements
    /// repeat in lanes, warps and registers (their bases are 0); where it is larger, lanes have more registers.
    ///
    /// # Panics
    /// When the shape has not as many dimensions as the encoding: verified types have.
    pub fn to_linear(&self, shape: &[i64]) -> LinearLayout {
        memo::tensor(self, shape)
    }

    /// What is wrong with the numbers in it, if anything is.
    ///
    /// # Errors
    /// Says what does not hold.
    pub fn check(&self) -> Result<(), String> {
        tensor_layout::check(self)
    }

    /// One that any layout from `register`, `lane`, `warp`, `block` to dimensions in order can be written as.
    pub fn from_linear(layout: &LinearLayout) -> Encoding {
        let [register, lane, warp, block] = bases::lists(layout);
        Encoding::Linear { register, lane, warp, block }
    }

    /// How the blocks of a cluster split the tensor, as positions in units of the part of one block.
    pub fn cga(&self) -> BasisList {
        tensor_layout::cga(self)
    }

    /// Lanes of a warp and warps of a block.
    pub fn lanes_and_warps(&self) -> (u32, u32) {
        tensor_layout::lanes_and_warps(self)
    }
}
