//! Rules for addresses: constants go outwards, so that what varies is computed once and loads take the rest as it is.

use super::{Change, Rule, Simplifier, with_operands};
use crate::flags::Flags;
use crate::function::{InstData, Payload, Value};
use crate::rows::Op;
use crate::types::Type;

pub(super) const RULES: &[(Op, Rule)] = &[
    (Op::GEP, nowhere),
    (Op::GEP, in_bytes),
    (Op::GEP, chain),
    (Op::GEP, constant_outwards),
    (Op::GEP, split_index),
];

/// An address so many bytes further on.
fn bytes_on(s: &mut Simplifier<'_>, data: &InstData, base: Value, bytes: i64) -> InstData {
    let by = s.constant_int(Type::I64, bytes);
    InstData::new(Op::GEP, data.ty, &[base, by]).with(Payload::Element(Type::I8, 0))
}

fn nowhere(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let base = data.operands[0];
    (s.int(data.operands[1]) == Some(0) && s.ty(base) == data.ty).then_some(Change::Value(base))
}

/// Constant indices count bytes, in 64 bits.
fn in_bytes(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let index = s.int(data.operands[1])?;
    let is_done =
        matches!(data.payload, Payload::Element(Type::I8, _)) && s.ty(data.operands[1]) == Type::I64;
    if is_done || data.ty.is_vector() {
        return None;
    }
    let bytes = index.checked_mul(data.element_bytes()?)?;
    let mut on = bytes_on(s, data, data.operands[0], bytes);
    on.flags = data.flags;
    Some(Change::Inst(on))
}

/// `(p + 16) + 32` is `p + 48`.
fn chain(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    let outer = constant_bytes(s, data)?;
    let inner = s.made_by(data.operands[0], Op::GEP)?;
    let (base, inner_bytes) = (inner.operands[0], constant_bytes(s, inner)?);
    let sum = outer.checked_add(inner_bytes)?;
    Some(Change::Inst(bytes_on(s, data, base, sum)))
}

fn constant_bytes(s: &Simplifier<'_>, data: &InstData) -> Option<i64> {
    let index = s.int(data.operands[1]).filter(|_| !data.ty.is_vector())?;
    index.checked_mul(data.element_bytes()?)
}

/// `(p + 16) + x` is `(p + x) + 16`.
fn constant_outwards(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    if s.int(data.operands[1]).is_some() || data.ty.is_vector() {
        return None;
    }
    let inner = s.made_by(data.operands[0], Op::GEP)?;
    let (base, bytes) = (inner.operands[0], constant_bytes(s, inner)?);
    let moved = with_operands(data, &[base, data.operands[1]]);
    let moved = s.emit(moved);
    Some(Change::Inst(bytes_on(s, data, moved, bytes)))
}

/// `p + (x + 16)` is `(p + x) + 16` where the sum does not overflow before it is widened to the address.
fn split_index(s: &mut Simplifier<'_>, data: &InstData) -> Option<Change> {
    if data.ty.is_vector() {
        return None;
    }
    let (index, widened) = match s.made_by(data.operands[1], Op::SEXT) {
        Some(cast) => (cast.operands[0], Some(cast.ty)),
        None => (data.operands[1], None),
    };
    let sum = s.made_by(index, Op::ADD)?;
    let full = s.ty(index).lane_bits() >= data.ty.lane_bits();
    if !full && !sum.flags.contains(Flags::NSW) {
        return None;
    }
    let (x, constant) = (sum.operands[0], s.int(sum.operands[1])?);
    let bytes = constant.checked_mul(data.element_bytes()?)?;
    let x = match widened {
        Some(ty) => s.emit(InstData::new(Op::SEXT, ty, &[x])),
        None => x,
    };
    let moved = s.emit(with_operands(data, &[data.operands[0], x]));
    Some(Change::Inst(bytes_on(s, data, moved, bytes)))
}
