//! Rules of operations that make blocks or move elements about, and of loads.

use super::{Axes, AxisInfo, AxisTable, RuleOf, divisor_of, sizes};
use crate::ops::access::AccessOp;
use crate::ops::constant::{ConstantOp, splat_bits};
use crate::ops::forms::UnaryOp;
use crate::ops::shape::{ExpandDimsOp, MakeRangeOp, ReshapeOp, TransOp};
use crate::ops::{constant, program, shape};
use crate::types::{elem, shape};
use ir::{Module, Op};
use smallvec::smallvec;

/// The rules of this file.
pub(super) const RULES: &[RuleOf] = &[
    (&constant::CONSTANT, constant),
    (&shape::MAKE_RANGE, make_range),
    (&shape::SPLAT, splat),
    (&shape::UNSPLAT, unsplat),
    (&shape::EXPAND_DIMS, expand_dims),
    (&shape::BROADCAST, broadcast),
    (&shape::TRANS, trans),
    (&shape::RESHAPE, reshape),
    (&program::GET_PROGRAM_ID, in_grid),
    (&program::GET_NUM_PROGRAMS, in_grid),
];

fn result_shape(module: &Module, op: Op) -> &'static [i64] {
    shape(module.ty(module.result(op, 0)))
}

fn source(module: &Module, op: Op, table: &AxisTable) -> AxisInfo {
    table.info(module, UnaryOp::new(module, op).src())
}

/// The operand, element for element.
pub(super) fn same(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    Some(source(module, op, table))
}

pub(super) fn constant(module: &Module, op: Op, _: &AxisTable) -> Option<AxisInfo> {
    let bits = splat_bits(ConstantOp::new(module, op).value())?;
    let width = elem(module.ty(module.result(op, 0))).as_int()?;
    Some(AxisInfo::constant(result_shape(module, op), ir::scalar::sign_extend(width, bits)))
}

pub(super) fn make_range(module: &Module, op: Op, _: &AxisTable) -> Option<AxisInfo> {
    let range = MakeRangeOp::new(module, op);
    let (end, start) = (i64::from(range.end()), i64::from(range.start()));
    let mut info = AxisInfo::unknown(1);
    info.contiguity = smallvec![(end - start).max(1) as u64];
    info.divisibility = smallvec![divisor_of(start)];
    info.non_negative = start >= 0;
    info.negative = start < 0;
    Some(info)
}

pub(super) fn splat(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let scalar = source(module, op, table);
    let constancy = sizes(result_shape(module, op));
    Some(AxisInfo {
        contiguity: smallvec![1; constancy.len()],
        divisibility: smallvec![scalar.divisibility[0]; constancy.len()],
        constancy,
        assumes_sign: Axes::default(),
        ..scalar
    })
}

pub(super) fn unsplat(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let block = source(module, op, table);
    let every = (0..block.rank()).map(|dim| block.every(dim)).max().unwrap_or(1);
    Some(AxisInfo { divisibility: smallvec![every], ..scalar_like(&block) })
}

fn scalar_like(block: &AxisInfo) -> AxisInfo {
    AxisInfo {
        constant: block.constant,
        non_negative: block.non_negative,
        negative: block.negative,
        ..AxisInfo::unknown(0)
    }
}

/// What every element of a block is a multiple of: the best that any dimension says.
fn every_element(info: &AxisInfo) -> u64 {
    (0..info.rank()).map(|dim| info.every(dim)).max().unwrap_or(1)
}

pub(super) fn expand_dims(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let mut info = source(module, op, table);
    let axis = ExpandDimsOp::new(module, op).axis();
    let every = every_element(&info);
    info.contiguity.insert(axis, 1);
    info.divisibility.insert(axis, every);
    info.constancy.insert(axis, 1);
    info.assumes_sign = info.assumes_sign.insert(axis);
    Some(info)
}

pub(super) fn broadcast(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let mut info = source(module, op, table);
    let from = shape(module.ty(UnaryOp::new(module, op).src()));
    for (dim, (&old, &new)) in from.iter().zip(result_shape(module, op)).enumerate() {
        if old == 1 && new != 1 {
            info.divisibility[dim] = every_element(&info).max(info.every(dim));
            info.contiguity[dim] = 1;
            info.constancy[dim] = new as u64;
        }
    }
    let assumed = info.assumes_sign;
    info.assumes_sign = Axes::which(info.rank(), |dim| assumed.contains(dim) && from[dim] != 1);
    Some(info)
}

pub(super) fn trans(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let info = source(module, op, table);
    let order = TransOp::new(module, op).order();
    let permuted = |dims: &super::Dims| order.iter().map(|&dim| dims[dim as usize]).collect();
    Some(AxisInfo {
        contiguity: permuted(&info.contiguity),
        divisibility: permuted(&info.divisibility),
        constancy: permuted(&info.constancy),
        assumes_sign: Axes::which(info.rank(), |dim| info.assumes_sign.contains(order[dim] as usize)),
        ..info
    })
}

/// The groups of a row that lie within groups of rows of another length.
fn groups_in(group: u64, old_size: u64, new_size: u64) -> u64 {
    gcd(gcd(group, old_size), new_size)
}

fn gcd(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// Groups along the last dimension stay groups along the new last dimension, as far as that reaches.
pub(super) fn reshape(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let reshape = ReshapeOp::new(module, op);
    if !reshape.keeps_order() {
        return None;
    }
    let info = source(module, op, table);
    let old_dims = sizes(shape(module.ty(reshape.src())));
    let dims = sizes(result_shape(module, op));
    let last = info.rank() - 1;
    let is_constant = info.constancy == old_dims;
    let mut result = scalar_like(&info);
    result.assumes_sign = Axes::which(dims.len(), |_| !info.assumes_sign.is_empty());
    result.contiguity = smallvec![1; dims.len()];
    result.divisibility = smallvec![every_element(&info); dims.len()];
    result.constancy = if is_constant { dims.clone() } else { smallvec![1; dims.len()] };
    let new_last = dims.len() - 1;
    result.contiguity[new_last] = groups_in(info.contiguity[last], old_dims[last], dims[new_last]);
    result.divisibility[new_last] = info.starts(last, result.contiguity[new_last]);
    let constancy = groups_in(info.constancy[last], old_dims[last], dims[new_last]);
    result.constancy[new_last] = result.constancy[new_last].max(constancy);
    Some(result)
}

/// Equal addresses that are loaded together hold equal values.
pub(super) fn load(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let load = AccessOp::new(module, op);
    let mut info = AxisInfo::unknown(shape(module.ty(load.ptr())).len());
    AxisInfo { constancy: info.constancy, assumes_sign: info.assumes_sign, .. } =
        table.info(module, load.ptr());
    for value in [load.mask(), load.other()].into_iter().flatten() {
        let other = table.info(module, value);
        info.assumes_sign = info.assumes_sign.union(other.assumes_sign);
        info.constancy = super::zip(&info.constancy, &other.constancy, u64::min);
    }
    Some(info)
}

pub(super) fn in_grid(_: &Module, _: Op, _: &AxisTable) -> Option<AxisInfo> {
    Some(AxisInfo { non_negative: true, ..AxisInfo::unknown(0) })
}
