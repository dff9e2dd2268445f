//! How encodings of results follow from those of operands, and back.
//!
//! [`forward`] and [`backward`] read the layout rule of the row. A rule is exact: an operation whose encodings follow
//! it only renames positions, so it costs nothing to compute. [`check`] is the verifier's side of the same rule.

mod shape;
mod verify;

pub use shape::{
    expand_dims, join, memdesc_reshape, memdesc_trans, reduce, reshape, split, trans, trans_back,
};
pub use verify::check;

use crate::encoding::Encoding;
use ir::{Attr, LayoutRule, OpRow};
use ttir::ops;

/// What a rule needs to know of an operation besides encodings.
#[derive(Clone, Copy, Debug)]
pub struct Shapes<'a> {
    /// The attribute slots.
    pub attrs: &'a [Option<Attr>],
    /// The shape of the operand that is a tensor.
    pub from: &'a [i64],
    /// The shape of the result.
    pub to: &'a [i64],
}

impl Shapes<'_> {
    /// The dimension that an operation is about, of a block of so many.
    fn axis(&self, rank: usize) -> Result<usize, String> {
        let axis = ops::reduce::axis(self.attrs)?;
        let is_one = axis < rank;
        is_one.then_some(axis).ok_or_else(|| format!("axis {axis} is no dimension of a block of rank {rank}"))
    }
}

/// The encoding of the result of an operation on an operand with an encoding: for [`LayoutRule::Dot`] of operand c, for
/// [`LayoutRule::Gather`] of the indices.
///
/// # Errors
/// When the rule of the row gives none; the text says why.
pub fn forward(row: &'static OpRow, operand: &Encoding, shapes: Shapes<'_>) -> Result<Encoding, String> {
    match row.layout {
        LayoutRule::Same | LayoutRule::Broadcast | LayoutRule::Gather | LayoutRule::Dot => {
            Ok(operand.clone())
        }
        LayoutRule::Reduce => Ok(reduce(operand, shapes.axis(operand.rank())?)),
        LayoutRule::ExpandDims => expand_dims(operand, shapes.axis(operand.rank() + 1)?, shapes.from),
        LayoutRule::Trans => trans(operand, ops::shape::order(shapes.attrs), shapes.from),
        LayoutRule::Reshape => reshape(operand, shapes.from, shapes.to),
        LayoutRule::Join => join(operand, shapes.from),
        LayoutRule::Split => split(operand, shapes.from),
        LayoutRule::Apart | LayoutRule::Stored | LayoutRule::Free => {
            Err(format!("no encoding follows through `{}`", row.name))
        }
    }
}

/// The encoding that an operand must have for the result to have a given one.
///
/// # Errors
/// When the rule of the row gives none; the text says why.
pub fn backward(row: &'static OpRow, result: &Encoding, shapes: Shapes<'_>) -> Result<Encoding, String> {
    match row.layout {
        LayoutRule::Same | LayoutRule::Broadcast | LayoutRule::Gather | LayoutRule::Dot => Ok(result.clone()),
        LayoutRule::Reduce => expand_dims(result, shapes.axis(result.rank() + 1)?, shapes.to),
        LayoutRule::ExpandDims => Ok(reduce(result, shapes.axis(result.rank())?)),
        LayoutRule::Trans => trans_back(result, ops::shape::order(shapes.attrs), shapes.to),
        LayoutRule::Reshape => reshape(result, shapes.to, shapes.from),
        LayoutRule::Join => split(result, shapes.to),
        LayoutRule::Split => join(result, shapes.to),
        LayoutRule::Apart | LayoutRule::Stored | LayoutRule::Free => {
            Err(format!("no encoding follows through `{}`", row.name))
        }
    }
}
