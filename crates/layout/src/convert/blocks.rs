//! Two layouts of a cluster in coordinates of what one block holds, and which block holds what another wants.
//!
//! The word of a destination place has its coordinates in the low half and, above, by which bits the number of the
//! block that has the element differs from the number of the block that wants it: zero where that is itself.

use super::{Columns, ConversionError};
use crate::dims::{Dim, mask};
use crate::linear::LinearLayout;
use crate::matrix::{Echelon, apply};
use crate::subspace::Basis;

/// Where the number of a block stands in a word.
const SHIFT: u32 = 32;

/// The coordinates in a word.
pub(crate) fn near(word: u64) -> u64 {
    word & mask(SHIFT)
}

/// By which bits the number of the block differs.
pub(crate) fn far(word: u64) -> u32 {
    (word >> SHIFT) as u32
}

/// Both layouts onto the same words.
pub(super) fn columns(src: &LinearLayout, dst: &LinearLayout) -> Result<(Columns, Columns), ConversionError> {
    let (outs, ins) = (src.outs(), [Dim::LANE, Dim::WARP, Dim::BLOCK]);
    let same = outs.iter().count() == dst.outs().iter().count()
        && outs.iter().all(|(dim, bits)| dst.outs().has(dim) && dst.outs().bits(dim) == bits)
        && ins.iter().all(|&dim| src.ins().bits(dim) == dst.ins().bits(dim));
    if !same {
        return Err(ConversionError::Mismatch);
    }
    let order: Vec<Dim> = outs.iter().map(|dim| dim.0).collect();
    let (src, mut dst) = (Columns::of(src), Columns::of(&dst.reorder_outs(&order)));
    // A block that holds the element that stands where it stands in the source reads itself.
    dst.block.iter_mut().zip(&src.block).for_each(|(wanted, held)| *wanted ^= held);
    let source = Source::of(&src);
    let dst = dst.try_map(|column| source.find(column).ok_or(ConversionError::Missing))?;
    Ok((source.own(src)?, without_zeros(dst)))
}

/// A layout, and the same places each taking its element from the first that holds it.
pub(super) fn from_owners(layout: &LinearLayout) -> Result<(Columns, Columns), ConversionError> {
    let src = Columns::of(layout);
    let source = Source::of(&src);
    let mut dst = src.try_map(|column| source.find(column).ok_or(ConversionError::Missing))?;
    for (bit, word) in dst.block.iter_mut().enumerate() {
        *word ^= 1 << (SHIFT + bit as u32);
    }
    Ok((source.own(src)?, without_zeros(dst)))
}

/// The places of a source.
struct Source {
    program: Vec<u64>,
    basis: Basis,
    /// Of the block's own columns, then those of the number of the block: whatever the block has is found there.
    all: Echelon,
}

impl Source {
    fn of(src: &Columns) -> Source {
        let program = src.program();
        Source { basis: Basis::of(&program), all: Echelon::new(&src.cluster()), program }
    }

    /// The word of an element.
    fn find(&self, element: u64) -> Option<u64> {
        let place = self.all.solve(element)?;
        let own = self.program.len() as u32;
        let coordinates = self.basis.coordinates(apply(&self.program, place & mask(own)))?;
        (coordinates >> SHIFT == 0).then_some(coordinates | place >> own << SHIFT)
    }

    /// The source in its own coordinates; every block stores what it has, so that the number of the block does not
    /// matter.
    fn own(&self, src: Columns) -> Result<Columns, ConversionError> {
        let src = Columns { block: Vec::new(), ..src };
        src.try_map(|column| self.basis.coordinates(column).ok_or(ConversionError::Missing))
    }
}

/// Where the number of the block changes nothing it is not asked for.
fn without_zeros(mut columns: Columns) -> Columns {
    if columns.block.iter().all(|&word| word == 0) {
        columns.block.clear();
    }
    columns
}
