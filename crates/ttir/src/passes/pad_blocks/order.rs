//! What depends on the row-major order of elements: reshapes, concatenation, gathers, other sizes.
//!
//! A reshape leaves the elements of padded blocks where they are as long as, in each group of dimensions that become
//! each other, all but the first are powers of two: `96 <-> 48 x 2`, `96 x 80 <-> 96 x 5 x 16`. In any other group each
//! element is taken by its index:
//!
//! ```text
//! 48 x 80 -> 3840:   element i of the padded line is element (i / 80) * 128 + i % 80 of the padded block
//! ```

use super::padding::{broadcast, positions};
use super::{Pad, elem_of};
use crate::ops::arith_int::{ADDI, ANDI, DIVUI, MULI, REMUI, SHRUI, SUBI};
use crate::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use crate::ops::constant;
use crate::ops::forms::UnaryOp;
use crate::ops::shape::{BROADCAST, CatOp, GATHER, GatherOp, RESHAPE, ReshapeOp};
use crate::types::{padded, shape, tensor};
use ir::{Builder, Op, OpRow, Type, Value};

/// Dimensions that become each other in a reshape.
struct Group<'a> {
    from: &'a [i64],
    to: &'a [i64],
}

/// The smallest groups of dimensions with as many elements before and after a reshape.
fn groups<'a>(from: &'a [i64], to: &'a [i64]) -> Vec<Group<'a>> {
    let (mut rest_from, mut rest_to, mut groups) = (from, to, Vec::new());
    while !rest_from.is_empty() || !rest_to.is_empty() {
        let (mut i, mut j) = (rest_from.len().min(1), rest_to.len().min(1));
        loop {
            let (before, after) =
                (rest_from[..i].iter().product::<i64>(), rest_to[..j].iter().product::<i64>());
            match before.cmp(&after) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => break,
            }
        }
        groups.push(Group { from: &rest_from[..i], to: &rest_to[..j] });
        (rest_from, rest_to) = (&rest_from[i..], &rest_to[j..]);
    }
    groups
}

fn product_padded(dims: &[i64]) -> i64 {
    dims.iter().map(|&dim| padded(dim)).product()
}

impl Group<'_> {
    /// Whether padded elements stand where they should.
    fn stays(&self) -> bool {
        let is_plain =
            |dims: &[i64]| dims.iter().filter(|&&dim| dim != 1).skip(1).all(|&dim| padded(dim) == dim);
        is_plain(self.from) && is_plain(self.to)
    }

    /// Where each element of the group's padded line stands in the padded line that it was.
    fn sources(&self, b: &mut Builder<'_>) -> Value {
        let count = product_padded(self.to);
        let range = positions(b, count, 0, 1);
        let mut each = Numbers { b, ty: tensor(&[count], Type::int(32)) };
        // The number of an element among those that are there.
        let (mut number, mut stride, mut step) = (None, 1, 1);
        for &dim in self.to.iter().rev() {
            let at = each.digit(range, step, padded(dim), step * padded(dim) == count);
            let part = each.with(&MULI, at, stride);
            number = Some(each.sum(number, part));
            (stride, step) = (stride * dim, step * padded(dim));
        }
        let number = number.unwrap_or(range);
        let (mut place, mut stride, mut step) = (None, 1, 1);
        for (index, &dim) in self.from.iter().enumerate().rev() {
            let quotient = each.with(&DIVUI, number, stride);
            let at = if index == 0 { quotient } else { each.with(&REMUI, quotient, dim) };
            let part = each.with(&MULI, at, step);
            place = Some(each.sum(place, part));
            (stride, step) = (stride * dim, step * padded(dim));
        }
        let place = place.unwrap_or(number);
        each.with(&ANDI, place, product_padded(self.from) - 1)
    }
}

/// Arithmetic on lines of numbers.
struct Numbers<'b, 'm> {
    b: &'b mut Builder<'m>,
    ty: Type,
}

impl Numbers<'_, '_> {
    fn with(&mut self, row: &'static OpRow, value: Value, number: i64) -> Value {
        let changes = if [&MULI, &DIVUI].iter().any(|own| row.is(own)) { number != 1 } else { true };
        if !changes {
            return value;
        }
        let number = constant::int(self.b, self.ty, number);
        self.b.build(row, &[value, number], &[])
    }

    fn sum(&mut self, sum: Option<Value>, value: Value) -> Value {
        sum.map_or(value, |sum| self.b.build(&ADDI, &[sum, value], &[]))
    }

    /// `value / step % size`, of powers of two.
    fn digit(&mut self, value: Value, step: i64, size: i64, is_first: bool) -> Value {
        let value =
            if step == 1 { value } else { self.with(&SHRUI, value, i64::from(step.trailing_zeros())) };
        if is_first { value } else { self.with(&ANDI, value, size - 1) }
    }
}

/// See the file. What is there in any order keeps its order, which tells elements from padding.
pub(super) fn reshape(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let reshape = ReshapeOp::new(pad.module, op);
    let (source, result) = (reshape.src(), reshape.result());
    if !pad.was_odd(source) && !pad.was_odd(result) {
        return Ok(());
    }
    if pad.module.is_unused(result) {
        pad.module.erase(op);
        return Ok(());
    }
    let (from, to) = (pad.shape(source), pad.shape(result));
    let ty = pad.module.ty(result);
    let groups = groups(from, to);
    let mut sizes: Vec<i64> = groups.iter().map(|group| product_padded(group.from)).collect();
    let mut b = Builder::before(pad.module, op);
    let mut value = source;
    for (index, group) in groups.iter().enumerate().filter(|(_, group)| !group.stays()) {
        let places = group.sources(&mut b);
        value = taken(&mut b, value, places, (&sizes, index));
        sizes[index] = product_padded(group.to);
    }
    let value = reshaped(&mut b, value, shape(ty));
    pad.replace(op, value);
    Ok(())
}

/// The same elements, in their order, in another shape.
fn reshaped(b: &mut Builder<'_>, value: Value, dims: &[i64]) -> Value {
    let ty = tensor(dims, elem_of(b.module, value));
    if b.module.ty(value) == ty {
        return value;
    }
    b.build_as(&RESHAPE, &[value], &ReshapeOp::attrs(false, false), ty)
}

/// Takes elements along one of several groups of dimensions by the places in a line.
fn taken(b: &mut Builder<'_>, value: Value, places: Value, (sizes, index): (&[i64], usize)) -> Value {
    let (before, behind) = (&sizes[..index], &sizes[index + 1..]);
    let around = [before.iter().product::<i64>(), behind.iter().product::<i64>()];
    let dims = |size: i64| -> Vec<i64> {
        let [before, behind] = around.map(|count| (count > 1).then_some(count));
        [before, Some(size), behind].into_iter().flatten().collect()
    };
    let axis = usize::from(around[0] > 1);
    let value = reshaped(b, value, &dims(sizes[index]));
    let count = shape(b.module.ty(places))[0];
    gathered(b, value, places, &dims(count), axis)
}

/// The elements of a block at places along an axis, which are given as a line.
fn gathered(b: &mut Builder<'_>, value: Value, places: Value, dims: &[i64], axis: usize) -> Value {
    let mut line = vec![1; dims.len()];
    line[axis] = dims[axis];
    let places = reshaped(b, places, &line);
    let places = broadcast(b, places, dims);
    b.build(&GATHER, &[value, places], &GatherOp::attrs(axis, false))
}

/// Indices of padding elements are cut to the size.
pub(super) fn gather(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let gather = GatherOp::new(pad.module, op);
    let (source, indices, axis) = (gather.src(), gather.indices(), gather.axis());
    if pad.was_odd(indices) {
        let size = padded(pad.shape(source)[axis]);
        let mut b = Builder::before(pad.module, op);
        let ty = b.module.ty(indices);
        let most = constant::int(&mut b, ty, size - 1);
        let indices = b.build(&ANDI, &[indices, most], &[]);
        pad.module.set_operands(op, &[source, indices]);
    }
    Ok(())
}

/// Each element is taken from the left block or from the right one, unless the left one has no padding there.
pub(super) fn cat(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let cat = CatOp::new(pad.module, op);
    let (left, right, result) = (cat.lhs(), cat.rhs(), cat.result());
    let [n, m] = [left, right].map(|value| pad.shape(value)[0]);
    if padded(n) == n && padded(m) == n {
        return Ok(());
    }
    let ty = pad.module.ty(result);
    let dims = shape(ty);
    let mut b = Builder::before(pad.module, op);
    let range = positions(&mut b, dims[0], 0, 1);
    let mut each = Numbers { b: &mut b, ty: tensor(&dims[..1], Type::int(32)) };
    let in_left = each.with(&ANDI, range, padded(n) - 1);
    let in_right = each.with(&SUBI, range, n);
    let in_right = each.with(&ANDI, in_right, padded(m) - 1);
    let limit = constant::int(each.b, each.ty, n);
    let is_left = b.build(&CMPI, &[range, limit], &CmpIOp::attrs(CmpIPredicate::Slt));
    let [left, right] =
        [(left, in_left), (right, in_right)].map(|(value, places)| gathered(&mut b, value, places, dims, 0));
    let mut line = vec![1; dims.len()];
    line[0] = dims[0];
    let is_left = reshaped(&mut b, is_left, &line);
    let is_left = broadcast(&mut b, is_left, dims);
    let value = b.build(&SELECT, &[is_left, left, right], &[]);
    pad.replace(op, value);
    Ok(())
}

/// A dimension that has the same size once it is padded stays; any other is taken element by element.
pub(super) fn resize(pad: &mut Pad<'_>, op: Op) -> Result<(), String> {
    let resize = UnaryOp::new(pad.module, op);
    let (mut value, result) = (resize.src(), resize.result());
    let mut dims = shape(pad.module.ty(value)).to_vec();
    let wanted = shape(pad.module.ty(result));
    let mut b = Builder::before(pad.module, op);
    for axis in 0..dims.len() {
        let size = std::mem::replace(&mut dims[axis], wanted[axis]);
        if size != wanted[axis] {
            let range = positions(&mut b, wanted[axis], 0, 1);
            let mut each = Numbers { b: &mut b, ty: tensor(&wanted[axis..=axis], Type::int(32)) };
            let places = each.with(&ANDI, range, size - 1);
            value = gathered(&mut b, value, places, &dims, axis);
        }
    }
    // The value that was there has another size, and other padding elements. This one goes when nobody asks any more.
    let value = broadcast_as(&mut Builder::before(pad.module, op), value);
    pad.replace(op, value);
    Ok(())
}

/// The same value under another name.
fn broadcast_as(b: &mut Builder<'_>, value: Value) -> Value {
    let ty = b.module.ty(value);
    b.build_as(&BROADCAST, &[value], &[], ty)
}
