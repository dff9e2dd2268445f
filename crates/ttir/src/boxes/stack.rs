//! Where a block begins along each axis of its tensor: its offset divided among them.
//!
//! ```text
//! %z * %sz + %i * 128 * %stride + %k * 64       rows of %stride elements, columns
//!   flat:     row %i * 128, column %z * %sz + %k * 64
//!   stacked:  row %i * 128, column %k * 64, of matrix %z of several that are %sz apart
//! ```
//!
//! Flat is tried first. Where a mask ends rows or columns of one matrix, the end would then move with the matrix, which
//! no tensor's does: positions are those that masks speak of, and what is left of the offset says which matrix it is.

use super::forms::{Axis, Form};
use super::poly::{Monomial, Poly};
use super::{BoxAxis, Reason, bound};
use ir::Value;

/// The most axes of a stack: tensors have five.
const MOST_STACKED: usize = 3;

/// A block of addresses of one or two dimensions, with the conditions of its mask.
pub(super) struct Block<'a> {
    /// What all its addresses have in common.
    pub(super) offset: &'a Poly,
    /// Its axes with their sizes.
    pub(super) along: Vec<(Axis, i64)>,
    /// The one along which neighbours are neighbours in memory.
    pub(super) fastest: usize,
    pub(super) conditions: &'a [Form],
}

/// Axes of a block, and of the stack of which it is in one matrix.
pub(super) type Placed = (Vec<BoxAxis>, Vec<BoxAxis>);

impl Block<'_> {
    /// Where it begins along each axis; `is_param` says of a value that it is a parameter of the kernel.
    pub(super) fn place(&self, is_param: impl Fn(Value) -> bool) -> Result<Placed, Reason> {
        if self.along.iter().any(|(axis, _)| !axis.scale.atoms().all(&is_param)) {
            return Err("the distance of rows is made of more than parameters");
        }
        let is_known = |poly: &Poly| poly.atoms().all(&is_param);
        let ends = |axes: &[BoxAxis]| axes.iter().filter_map(|axis| axis.extent.as_ref()).all(is_known);
        let flat = self.flat().and_then(|axes| {
            ends(&axes).then_some(axes).ok_or("the end of the mask is made of more than parameters")
        });
        match flat {
            Ok(axes) => Ok((axes, Vec::new())),
            Err(reason) => self.stacked(&is_param).filter(|(axes, _)| ends(axes)).ok_or(reason),
        }
    }

    /// The axis across the rows.
    fn across(&self) -> Option<usize> {
        (0..self.along.len()).find(|&at| at != self.fastest)
    }

    /// In a tensor that has the axes of the block.
    fn flat(&self) -> Result<Vec<BoxAxis>, Reason> {
        let (rows, columns) = match self.across() {
            Some(at) => self.offset.split_by(&self.along[at].0.scale),
            None => (Poly::constant(0), self.offset.clone()),
        };
        let start = |at: usize| if at == self.fastest { &columns } else { &rows };
        let is_moved = |(at, (axis, _)): (usize, &(Axis, i64))| axis.wrap.is_some() && !start(at).is_zero();
        if self.along.iter().enumerate().any(is_moved) {
            return Err("positions that go on from the begin of the tensor are moved");
        }
        self.bounded((0..self.along.len()).map(|at| start(at).clone()))
    }

    /// Its axes, from where they begin but for those that go on from the begin of the tensor.
    fn bounded(&self, starts: impl Iterator<Item = Poly>) -> Result<Vec<BoxAxis>, Reason> {
        let axes = self.along.iter().zip(starts).map(|((axis, size), start)| {
            let (size, stride, wrap) = (*size, axis.scale.clone(), axis.wrap.clone());
            match &wrap {
                None => BoxAxis { size, start, stride, extent: None, wrap },
                Some(own) => {
                    let (start, extent) = (own.start.clone(), Some(own.extent.clone()));
                    BoxAxis { size, start, stride, extent, wrap }
                }
            }
        });
        let mut axes: Vec<BoxAxis> = axes.collect();
        for condition in self.conditions {
            bound(condition, &mut axes)?;
        }
        Ok(axes)
    }

    /// In one of several matrices of a tensor.
    fn stacked(&self, is_param: &impl Fn(Value) -> bool) -> Option<Placed> {
        let is_fixed = |monomial: &Monomial| monomial.iter().all(|&atom| is_param(atom));
        let mut rest = self.offset.clone();
        let mut starts = vec![Poly::default(); self.along.len()];
        for (at, (axis, _)) in self.along.iter().enumerate().filter(|(_, (axis, _))| axis.wrap.is_none()) {
            let Some(condition) = self.condition(at) else { continue };
            let (_, position) = condition.uniform.split(is_fixed);
            let offset = position.times(&axis.scale)?;
            let left = rest.minus(&offset)?;
            if left.terms().len() + offset.terms().len() != rest.terms().len() {
                return None;
            }
            (starts[at], rest) = (position, left);
        }
        let is_open = |at: usize| self.along[at].0.wrap.is_none() && self.condition(at).is_none();
        let (mut fixed, mut moved) = rest.split(is_fixed);
        if let Some(at) = self.across().filter(|&at| self.along[at].0.wrap.is_none()) {
            let scale = &self.along[at].0.scale;
            let (rows, columns) = fixed.split_by(scale);
            (starts[at], fixed) = (starts[at].plus(&rows)?, columns);
            if is_open(at) {
                let (rows, columns) = moved.split_by(scale);
                (starts[at], moved) = (starts[at].plus(&rows)?, columns);
            }
        }
        if self.along[self.fastest].0.wrap.is_none() {
            starts[self.fastest] = starts[self.fastest].plus(&fixed)?;
        } else if !fixed.is_zero() {
            return None;
        }
        if is_open(self.fastest) {
            starts[self.fastest] = starts[self.fastest].plus(&moved)?;
            moved = Poly::default();
        }
        let stack = stack_of(&moved, is_param)?;
        Some((self.bounded(starts.into_iter()).ok()?, stack))
    }

    /// The condition that ends an axis.
    fn condition(&self, axis: usize) -> Option<&Form> {
        let ends = |condition: &&Form| {
            let along = condition.axes.get(axis).and_then(Option::as_ref);
            along.is_some_and(|along| along.scale.as_constant() == Some(1))
        };
        self.conditions.iter().find(ends)
    }
}

/// An offset as positions along axes: terms with the same parameters are positions of one axis.
fn stack_of(offset: &Poly, is_param: &impl Fn(Value) -> bool) -> Option<Vec<BoxAxis>> {
    let mut groups: Vec<(Monomial, Vec<(Monomial, i64)>)> = Vec::new();
    for (monomial, coefficient) in offset.terms() {
        let (stride, position): (Monomial, Monomial) =
            monomial.iter().copied().partition(|&atom| is_param(atom));
        let term = (position, *coefficient);
        match groups.iter_mut().find(|(own, _)| *own == stride) {
            Some((_, terms)) => terms.push(term),
            None => groups.push((stride, vec![term])),
        }
    }
    let axis = |(stride, terms): (Monomial, Vec<(Monomial, i64)>)| {
        let unit = terms.iter().fold(0, |unit, &(_, coefficient)| common(unit, coefficient.unsigned_abs()));
        let unit = i64::try_from(unit).ok()?;
        let start = Poly::of(terms).divided_by(unit)?;
        Some(BoxAxis { size: 1, start, stride: Poly::of([(stride, unit)]), extent: None, wrap: None })
    };
    let axes: Vec<BoxAxis> = groups.into_iter().map(axis).collect::<Option<_>>()?;
    (axes.len() <= MOST_STACKED).then_some(axes)
}

/// The greatest common divisor.
fn common(one: u64, two: u64) -> u64 {
    if two == 0 { one } else { common(two, one % two) }
}
