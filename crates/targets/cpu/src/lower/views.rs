//! Operations that only move elements: the same values at other positions.

use super::chunk::Chunks;
use super::error::{LowerError, Result};
use super::types;
use super::value::{At, Index, split_digits};
use ir::{Op, Value};
use llir::Value as Scalar;
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::{self, ExpandDimsOp, ReshapeOp, TransOp};

/// The position in the operand of a `trans`.
fn permuted(order: &[i64], at: &At) -> Vec<Index> {
    let mut dims = at.dims.to_vec();
    for (index, &from) in at.dims.iter().zip(order) {
        dims[from as usize] = index.clone();
    }
    dims
}

impl Chunks<'_, '_> {
    /// The operand of a view, and where it is to be read for a position of the result.
    pub(crate) fn moved(&mut self, op: Op, number: u32, at: &At) -> Result<(Value, At)> {
        let row = self.module.row(op);
        let operand = UnaryOp::new(self.module, op).src();
        let dims = if let Some(expand) = ExpandDimsOp::of(self.module, op) {
            let mut dims = at.dims.to_vec();
            dims.remove(expand.axis());
            dims
        } else if row.is(&shape::BROADCAST) {
            self.narrowed(operand, at)
        } else if let Some(trans) = TransOp::of(self.module, op) {
            permuted(trans.order(), at)
        } else if row.is(&shape::SPLIT) {
            let mut dims = at.dims.to_vec();
            dims.push(Index::constant(i64::from(number), self.lanes));
            dims
        } else if let Some(reshape) = ReshapeOp::of(self.module, op) {
            self.reshaped(reshape, at)?
        } else {
            unreachable!("`{}` is no view", row.name)
        };
        Ok((operand, self.at(dims)))
    }

    fn narrowed(&self, operand: Value, at: &At) -> Vec<Index> {
        let sizes = types::shape(self.module.ty(operand));
        let narrow = |(index, &size): (&Index, &i64)| {
            if size == 1 { Index::constant(0, self.lanes) } else { index.clone() }
        };
        at.dims.iter().zip(sizes).map(narrow).collect()
    }

    fn reshaped(&mut self, reshape: ReshapeOp<'_>, at: &At) -> Result<Vec<Index>> {
        let module = self.module;
        let (from, to) = (types::shape(module.ty(reshape.src())), types::shape(module.ty(reshape.result())));
        let place = self.place(&types::row_major(to), at);
        self.digits(place, from)
    }

    /// The position of an element by its number in a block of a shape.
    pub(crate) fn digits(&mut self, place: Index, sizes: &[i64]) -> Result<Vec<Index>> {
        let mut dims = Vec::with_capacity(sizes.len());
        let mut rest = place;
        for &size in sizes.iter().rev() {
            let (quotient, digit) = self.divide(rest, size)?;
            dims.push(digit);
            rest = quotient;
        }
        dims.reverse();
        Ok(dims)
    }

    /// Quotient and rest of an index by a power of two.
    pub(crate) fn divide(&mut self, index: Index, size: i64) -> Result<(Index, Index)> {
        if size == 1 {
            let zero = Index::constant(0, self.lanes);
            return Ok((index, zero));
        }
        if let Index::Known(linear, lanes) = &index
            && let Some((high, low)) = split_digits(linear, lanes, size, |var| self.range(var))
        {
            return Ok((Index::Known(high.0, high.1), Index::Known(low.0, low.1)));
        }
        if size.count_ones() != 1 {
            return Err(LowerError::new(format!("a dimension of {size} is not a power of two")));
        }
        let vector: Scalar = self.index_vector(&index);
        let ty = self.b.ty(vector);
        let (shift, mask) = (self.b.int(ty, i64::from(size.trailing_zeros())), self.b.int(ty, size - 1));
        let quotient = self.b.lshr(vector, shift);
        let rest = self.b.and(vector, mask);
        Ok((Index::Vector(quotient), Index::Vector(rest)))
    }
}
