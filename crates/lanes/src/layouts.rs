//! The linear layout of a tensor type.

use crate::error::{Result, plain};
use ir::Type;
use layout::LinearLayout;
use ttgir::Encoding;

/// Which element each register of each lane of each warp of each block holds.
///
/// # Errors
/// When the type has no encoding.
pub fn layout_of(ty: Type) -> Result<LinearLayout> {
    let encoding = Encoding::of(ty).ok_or_else(|| plain(format!("{ty} has no encoding")))?;
    Ok(encoding.to_linear(ttir::types::shape(ty)))
}
