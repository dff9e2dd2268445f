//! The linear layout of a tensor type.

use crate::error::{Result, plain};
use ir::Type;
use layout::{Dim, LinearLayout};
use ttgir::Encoding;

/// Which element each register of each lane of each warp of each block holds.
///
/// # Errors
/// When the type has no encoding.
pub fn layout_of(ty: Type) -> Result<LinearLayout> {
    let encoding = Encoding::of(ty).ok_or_else(|| plain(format!("{ty} has no encoding")))?;
    Ok(encoding.to_linear(ttir::types::shape(ty)))
}

/// The layout of one element that every lane of every warp holds, with so many bits of blocks.
///
/// # Errors
/// When there are too many bits.
pub(crate) fn everywhere(lanes: u32, num_warps: u32, block_bits: u32) -> Result<LinearLayout> {
    let zeros = |count: u32| vec![&[] as &[(Dim, u32)]; count as usize];
    let (lane, warp, block) = (zeros(lanes.ilog2()), zeros(num_warps.ilog2()), zeros(block_bits));
    let ins = [(Dim::REGISTER, &[] as &[_]), (Dim::LANE, &lane), (Dim::WARP, &warp), (Dim::BLOCK, &block)];
    LinearLayout::new(&ins, &[]).map_err(|error| plain(error.to_string()))
}
