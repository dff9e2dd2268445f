//! How encodings of results follow from those of operands, and back.
//!
//! [`forward`] and [`backward`] read a table of rules keyed by row. A rule is exact: an operation whose encodings follow
//! it only renames positions, so it costs nothing to compute. [`check`] is the verifier's side of the same table.

mod shape;
mod verify;

pub use shape::{
    expand_dims, join, memdesc_reshape, memdesc_trans, reduce, reshape, split, trans, trans_back,
};
pub use verify::check;

use crate::encoding::Encoding;
use ir::{Attr, OpRow, Traits};
use ttir::ops;

/// How the encoding of the result follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Operands and results that are tensors have one encoding.
    Same,
    /// The result lacks dimension `axis`.
    Reduce,
    /// The result has dimension `axis` more.
    ExpandDims,
    /// The dimensions are permuted.
    Trans,
    /// The same elements in row-major order in another shape.
    Reshape,
    /// Pairs in a new last dimension.
    Join,
    /// The last dimension goes.
    Split,
    /// The result is that of a product: c has its encoding, a and b are operands of it.
    Dot,
    /// The result has the encoding of the indices.
    Gather,
    /// Nothing follows.
    Free,
}

const RULES: &[(&OpRow, Rule)] = &[
    (&ops::memory::LOAD, Rule::Same),
    (&ops::memory::STORE, Rule::Same),
    (&ops::memory::ADDPTR, Rule::Same),
    (&ops::atomic::ATOMIC_RMW, Rule::Same),
    (&ops::atomic::ATOMIC_CAS, Rule::Same),
    (&ops::atomic::ATOMIC_LOAD, Rule::Same),
    (&ops::atomic::ATOMIC_STORE, Rule::Same),
    (&ops::extern_call::EXTERN_ELEMENTWISE, Rule::Same),
    (&ops::extern_call::INLINE_ASM, Rule::Same),
    (&ops::reduce::SCAN, Rule::Same),
    (&ops::reduce::MAP_ELEMENTWISE, Rule::Same),
    (&ops::shape::BROADCAST, Rule::Same),
    (&ops::reduce::REDUCE, Rule::Reduce),
    (&ops::shape::EXPAND_DIMS, Rule::ExpandDims),
    (&ops::shape::TRANS, Rule::Trans),
    (&ops::shape::RESHAPE, Rule::Reshape),
    (&ops::shape::JOIN, Rule::Join),
    (&ops::shape::SPLIT, Rule::Split),
    (&ops::shape::GATHER, Rule::Gather),
    (&ops::dot::DOT, Rule::Dot),
    (&ops::dot::DOT_SCALED, Rule::Free),
];

/// The rule of a row.
pub fn rule(row: &'static OpRow) -> Rule {
    match RULES.iter().find(|(own, _)| own.is(row)) {
        Some(&(_, rule)) => rule,
        None if row.traits.has(Traits::ELEMENTWISE) => Rule::Same,
        None => Rule::Free,
    }
}

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
    fn axis(&self) -> Result<usize, String> {
        let axis = self.attrs.first().and_then(|attr| attr.as_ref()?.as_int());
        axis.and_then(|axis| usize::try_from(axis).ok()).ok_or_else(|| "`axis` is missing".into())
    }
}

/// The encoding of the result of an operation on an operand with an encoding: for [`Rule::Dot`] of operand c, for
/// [`Rule::Gather`] of the indices.
///
/// # Errors
/// When the rule of the row gives none; the text says why.
pub fn forward(row: &'static OpRow, operand: &Encoding, shapes: Shapes<'_>) -> Result<Encoding, String> {
    match rule(row) {
        Rule::Same | Rule::Gather | Rule::Dot => Ok(operand.clone()),
        Rule::Reduce => Ok(reduce(operand, shapes.axis()?)),
        Rule::ExpandDims => expand_dims(operand, shapes.axis()?, shapes.from),
        Rule::Trans => trans(operand, ops::shape::ints(shapes.attrs[0].as_ref()), shapes.from),
        Rule::Reshape => reshape(operand, shapes.from, shapes.to),
        Rule::Join => join(operand, shapes.from),
        Rule::Split => split(operand, shapes.from),
        Rule::Free => Err(format!("no encoding follows through `{}`", row.name)),
    }
}

/// The encoding that an operand must have for the result to have a given one.
///
/// # Errors
/// When the rule of the row gives none; the text says why.
pub fn backward(row: &'static OpRow, result: &Encoding, shapes: Shapes<'_>) -> Result<Encoding, String> {
    match rule(row) {
        Rule::Same | Rule::Gather | Rule::Dot => Ok(result.clone()),
        Rule::Reduce => expand_dims(result, shapes.axis()?, shapes.to),
        Rule::ExpandDims => Ok(reduce(result, shapes.axis()?)),
        Rule::Trans => trans_back(result, ops::shape::ints(shapes.attrs[0].as_ref()), shapes.to),
        Rule::Reshape => reshape(result, shapes.to, shapes.from),
        Rule::Join => split(result, shapes.to),
        Rule::Split => join(result, shapes.to),
        Rule::Free => Err(format!("no encoding follows through `{}`", row.name)),
    }
}
