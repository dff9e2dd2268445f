//! Rules of integer arithmetic, comparisons, selection and casts.

use super::{Axes, AxisInfo, AxisTable, Dims, MAX_DIVISOR, RuleOf, divisor_of, zip};
use crate::ops::compare::{CmpIOp, CmpIPredicate, SelectOp};
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::memory::AddPtrOp;
use crate::ops::{arith_cast, arith_int, compare, memory};
use crate::types::{elem, elem_bits, elem_bytes, pointee, shape};
use ir::{Module, Op};

/// The rules of this file.
pub(super) const RULES: &[RuleOf] = &[
    (&arith_int::ADDI, add),
    (&arith_int::SUBI, sub),
    (&memory::ADDPTR, addptr),
    (&arith_int::MULI, mul),
    (&arith_int::DIVSI, div_signed),
    (&arith_int::DIVUI, div_unsigned),
    (&arith_int::REMSI, rem_signed),
    (&arith_int::REMUI, rem_unsigned),
    (&arith_int::SHLI, shift_left),
    (&arith_int::SHRSI, shift_right),
    (&arith_int::SHRUI, shift_right),
    (&arith_int::ANDI, and),
    (&arith_int::ORI, bitwise),
    (&arith_int::XORI, bitwise),
    (&arith_int::MAXSI, max_signed),
    (&arith_int::MINSI, min_signed),
    (&arith_int::MAXUI, extremum),
    (&arith_int::MINUI, extremum),
    (&compare::CMPI, compare),
    (&compare::SELECT, select),
    (&arith_cast::EXTSI, extend_signed),
    (&arith_cast::EXTUI, extend_unsigned),
    (&arith_cast::TRUNCI, truncate),
    (&arith_cast::TT_BITCAST, bitcast),
    (&arith_cast::PTR_TO_INT, pointer_to_int),
    (&arith_cast::INT_TO_PTR, int_to_pointer),
];

/// What is known of two operands.
struct Pair {
    left: AxisInfo,
    right: AxisInfo,
}

impl Pair {
    fn of(module: &Module, op: Op, table: &AxisTable) -> Pair {
        let op = BinaryOp::new(module, op);
        Pair { left: table.info(module, op.lhs()), right: table.info(module, op.rhs()) }
    }

    fn rank(&self) -> usize {
        self.left.rank()
    }

    /// Elements are equal where they are in both operands.
    fn constancy(&self) -> Dims {
        zip(&self.left.constancy, &self.right.constancy, u64::min)
    }

    fn both_non_negative(&self) -> bool {
        self.left.non_negative && self.right.non_negative
    }

    /// Whether the code shows that an operand may be negative.
    fn any_negative(&self) -> bool {
        self.left.negative || self.right.negative
    }

    fn assume_sign(&self) -> Axes {
        self.left.assumes_sign.union(self.right.assumes_sign)
    }

    /// What is known of a result that is constant where both operands are, and has their signs.
    fn info(&self, contiguity: Dims, divisibility: Dims) -> AxisInfo {
        AxisInfo {
            contiguity,
            divisibility,
            constancy: self.constancy(),
            constant: None,
            non_negative: self.both_non_negative(),
            negative: self.any_negative(),
            assumes_sign: self.assume_sign(),
        }
    }

    fn constant(&self, apply: impl Fn(i64, i64) -> Option<i64>) -> Option<i64> {
        apply(self.left.constant?, self.right.constant?)
    }

    /// Aligned groups along a dimension that begin at a multiple of their size in the left operand, and through which
    /// the right operand is one multiple of that size.
    fn aligned_groups(&self, dim: usize) -> u64 {
        let (left, right) = (&self.left, &self.right);
        left.contiguity[dim].min(left.divisibility[dim]).min(right.every(dim)).min(right.constancy[dim])
    }

    fn dims(&self, each: impl Fn(usize) -> u64) -> Dims {
        (0..self.rank()).map(each).collect()
    }
}

fn bits(module: &Module, op: Op) -> u32 {
    elem_bits(module.ty(module.result(op, 0)))
}

/// A constant result if there is one (wrapped to the width), else the facts given.
fn or_constant(module: &Module, op: Op, constant: Option<i64>, info: AxisInfo) -> Option<AxisInfo> {
    let Some(value) = constant else { return Some(info) };
    let width = bits(module, op);
    let wrapped = ir::scalar::sign_extend(width, ir::scalar::truncate(width, value as u64));
    Some(AxisInfo::constant(shape(module.ty(module.result(op, 0))), wrapped))
}

/// A sum; `scale` is the number of bytes that one of the right operand counts.
fn sum(pair: &Pair, scale: u64) -> AxisInfo {
    let (left, right) = (&pair.left, &pair.right);
    let contiguity = pair.dims(|dim| {
        let right_counts = left.constancy[dim].min(right.contiguity[dim]);
        right_counts.max(left.contiguity[dim].min(right.constancy[dim]))
    });
    let divisibility = pair.dims(|dim| {
        let group = contiguity[dim];
        left.starts_in(dim, group, scale)
            .min((right.starts(dim, group).saturating_mul(scale)).min(MAX_DIVISOR))
    });
    pair.info(contiguity, divisibility)
}

pub(super) fn add(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    or_constant(module, op, pair.constant(i64::checked_add), sum(&pair, 1))
}

pub(super) fn sub(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    let (left, right) = (&pair.left, &pair.right);
    let contiguity = zip(&left.contiguity, &right.constancy, u64::min);
    let divisibility = pair.dims(|dim| {
        // Where the right operand counts up, the difference does not; then every element must be looked at.
        let right_starts = right.starts(dim, 1);
        left.starts(dim, contiguity[dim]).min(right_starts)
    });
    let info = AxisInfo { non_negative: false, negative: true, ..pair.info(contiguity, divisibility) };
    or_constant(module, op, pair.constant(i64::checked_sub), info)
}

pub(super) fn addptr(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    let bytes = elem_bytes(pointee(module.ty(AddPtrOp::new(module, op).ptr()))?);
    Some(AxisInfo { non_negative: false, ..sum(&pair, bytes) })
}

fn product(pair: &Pair) -> AxisInfo {
    let (left, right) = (&pair.left, &pair.right);
    if left.constant == Some(1) {
        return right.clone();
    }
    if right.constant == Some(1) {
        return left.clone();
    }
    let divisibility = pair.dims(|dim| left.every(dim).saturating_mul(right.every(dim)).min(MAX_DIVISOR));
    pair.info(pair.dims(|_| 1), divisibility)
}

pub(super) fn mul(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    or_constant(module, op, pair.constant(i64::checked_mul), product(&pair))
}

/// The right operand as the power of two that a shift by it multiplies with.
fn shift_as_factor(pair: &Pair) -> Option<Pair> {
    let amount = u32::try_from(pair.right.constant?).ok().filter(|&amount| amount < 62)?;
    let right = AxisInfo {
        divisibility: pair.dims(|_| 1 << amount),
        constant: Some(1 << amount),
        non_negative: true,
        ..pair.right.clone()
    };
    Some(Pair { left: pair.left.clone(), right })
}

pub(super) fn shift_left(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    match shift_as_factor(&pair) {
        Some(pair) => or_constant(module, op, pair.constant(i64::checked_mul), product(&pair)),
        None => bitwise(module, op, table),
    }
}

/// Right shifts round down, so that groups never straddle a step, whatever the sign.
pub(super) fn shift_right(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    match shift_as_factor(&pair) {
        Some(pair) => Some(quotient(&pair)),
        None => bitwise(module, op, table),
    }
}

/// A quotient rounded down.
fn quotient(pair: &Pair) -> AxisInfo {
    if pair.right.constant == Some(1) {
        return pair.left.clone();
    }
    let constancy = pair.constancy();
    AxisInfo {
        contiguity: pair.dims(|_| 1),
        divisibility: pair.dims(|dim| match pair.right.constant {
            Some(divisor) if divisor > 0 => (pair.left.every(dim) / divisor_ceiling(divisor)).max(1),
            _ => 1,
        }),
        constancy: pair.dims(|dim| constancy[dim].max(pair.aligned_groups(dim))),
        constant: None,
        non_negative: pair.both_non_negative(),
        negative: pair.any_negative(),
        assumes_sign: pair.assume_sign(),
    }
}

/// The divisor if it is a power of two; otherwise so much that nothing is left to say.
fn divisor_ceiling(divisor: i64) -> u64 {
    if divisor.count_ones() == 1 { divisor as u64 } else { MAX_DIVISOR }
}

pub(super) fn div_signed(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    // Rounding toward zero is rounding down only without a sign.
    let info = if pair.any_negative() { bitwise(module, op, table)? } else { quotient(&pair) };
    let constancy = pair.constancy();
    let adds = |dim: usize| info.constancy[dim] > constancy[dim] && !pair.left.non_negative;
    let assumes_sign = info.assumes_sign.union(Axes::which(pair.rank(), adds));
    let info = AxisInfo { assumes_sign, ..info };
    or_constant(module, op, pair.constant(i64::checked_div), info)
}

pub(super) fn div_unsigned(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    Some(AxisInfo { non_negative: false, ..quotient(&Pair::of(module, op, table)) })
}

/// The remainder of a division rounded down.
fn remainder(pair: &Pair) -> AxisInfo {
    let contiguity = pair.dims(|dim| pair.aligned_groups(dim));
    let divisibility = pair.dims(|dim| pair.left.starts(dim, contiguity[dim]).min(pair.right.every(dim)));
    pair.info(contiguity, divisibility)
}

pub(super) fn rem_signed(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    let info = if pair.left.negative { bitwise(module, op, table)? } else { remainder(&pair) };
    let AxisInfo { non_negative, negative, .. } = pair.left;
    let counts_up = Axes::which(pair.rank(), |dim| info.contiguity[dim] > 1 && !non_negative);
    let assumes_sign = info.assumes_sign.union(counts_up);
    let info = AxisInfo { non_negative, negative, assumes_sign, ..info };
    or_constant(module, op, pair.constant(i64::checked_rem), info)
}

pub(super) fn rem_unsigned(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    Some(AxisInfo { non_negative: false, ..remainder(&Pair::of(module, op, table)) })
}

/// Bitwise operations and others of which no more is known than that equal operands give equal results.
pub(super) fn bitwise(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    let assumes_sign = pair.assume_sign();
    Some(AxisInfo { constancy: pair.constancy(), assumes_sign, ..AxisInfo::unknown(pair.rank()) })
}

/// A mask of low bits is a remainder; one of high bits rounds down.
pub(super) fn and(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    let non_negative = pair.left.non_negative || pair.right.non_negative;
    let Some(mask) = pair.right.constant else {
        return Some(AxisInfo { non_negative, ..bitwise(module, op, table)? });
    };
    if let Some(value) = pair.left.constant {
        return or_constant(module, op, Some(value & mask), AxisInfo::unknown(pair.rank()));
    }
    // The greatest number is such a mask, and what lies above it has no sign.
    if mask >= 0 && (mask as u64 + 1).is_power_of_two() {
        let divisor = divisor_of(mask.wrapping_add(1));
        let divisor = AxisInfo { divisibility: pair.dims(|_| divisor), ..pair.right.clone() };
        let pair = Pair { left: pair.left, right: divisor };
        return Some(AxisInfo { non_negative: true, ..remainder(&pair) });
    }
    let low = divisor_of(mask);
    let constancy = pair.constancy();
    // Groups in which only bits below the mask change are equal, if the mask keeps all the others.
    let rounds_down = mask < 0 && (mask.unsigned_abs()).count_ones() == 1;
    Some(AxisInfo {
        contiguity: pair.dims(|_| 1),
        divisibility: pair.dims(|dim| low.max(pair.left.every(dim))),
        constancy: pair.dims(|dim| {
            let groups = pair.left.contiguity[dim].min(pair.left.divisibility[dim]).min(low);
            if rounds_down { constancy[dim].max(groups) } else { constancy[dim] }
        }),
        constant: None,
        non_negative,
        negative: pair.left.negative && !non_negative,
        assumes_sign: pair.assume_sign(),
    })
}

/// One of the operands, of which is not known for which element.
pub(super) fn extremum(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    Some(AxisInfo {
        contiguity: pair.dims(|_| 1),
        divisibility: pair.dims(|dim| pair.left.every(dim).min(pair.right.every(dim))),
        constancy: pair.constancy(),
        constant: None,
        non_negative: pair.both_non_negative(),
        negative: pair.any_negative(),
        assumes_sign: pair.assume_sign(),
    })
}

pub(super) fn max_signed(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    let non_negative = pair.left.non_negative || pair.right.non_negative;
    let negative = pair.any_negative() && !non_negative;
    let info = AxisInfo { non_negative, negative, ..extremum(module, op, table)? };
    or_constant(module, op, pair.constant(|a, b| Some(a.max(b))), info)
}

pub(super) fn min_signed(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let pair = Pair::of(module, op, table);
    or_constant(module, op, pair.constant(|a, b| Some(a.min(b))), extremum(module, op, table)?)
}

/// `x < c` and `x >= c` are the same for all of an aligned group of numbers that count up to a multiple of its size; so
/// are `c <= x` and `c > x`.
pub(super) fn compare(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    use CmpIPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let pair = Pair::of(module, op, table);
    let predicate = CmpIOp::new(module, op).predicate();
    let constancy = pair.constancy();
    let swapped = Pair { left: pair.right.clone(), right: pair.left.clone() };
    let groups = |dim: usize| match predicate {
        Slt | Sge | Ult | Uge => pair.aligned_groups(dim),
        Sgt | Sle | Ugt | Ule => swapped.aligned_groups(dim),
        Eq | Ne => 1,
    };
    Some(AxisInfo {
        constancy: pair.dims(|dim| constancy[dim].max(groups(dim))),
        assumes_sign: pair.assume_sign(),
        ..AxisInfo::unknown(pair.rank())
    })
}

pub(super) fn select(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let select = SelectOp::new(module, op);
    let [condition, yes, no] = [select.condition(), select.true_value(), select.false_value()]
        .map(|value| table.info(module, value));
    let scalar = shape(module.ty(select.condition())).is_empty();
    let mut info = yes.join(&no);
    if scalar {
        return Some(info);
    }
    info.assumes_sign = info.assumes_sign.union(condition.assumes_sign);
    for dim in 0..info.rank() {
        let group = info.contiguity[dim].min(condition.constancy[dim]);
        info.divisibility[dim] = info.starts(dim, group);
        info.contiguity[dim] = group;
        info.constancy[dim] = info.constancy[dim].min(condition.constancy[dim]);
    }
    Some(info)
}

fn first(module: &Module, op: Op, table: &AxisTable) -> AxisInfo {
    table.info(module, UnaryOp::new(module, op).src())
}

pub(super) fn extend_signed(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    Some(first(module, op, table))
}

pub(super) fn extend_unsigned(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let info = first(module, op, table);
    let constant = info.constant.filter(|&value| value >= 0);
    // A run through zero goes on far behind; an aligned group does not go through zero.
    let may_wrap = |dim: usize| info.contiguity[dim] > info.divisibility[dim] && !info.non_negative;
    let assumes_sign = info.assumes_sign.union(Axes::which(info.rank(), may_wrap));
    Some(AxisInfo { constant, non_negative: true, assumes_sign, ..info })
}

/// What is cut off takes divisors with it, and the sign.
pub(super) fn truncate(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let info = first(module, op, table);
    let width = bits(module, op);
    let constant =
        info.constant.map(|value| ir::scalar::sign_extend(width, ir::scalar::truncate(width, value as u64)));
    // An aligned group of no more than half of all numbers never runs over the largest one.
    let fits = |dim: usize| info.contiguity[dim].min(info.divisibility[dim]).min(1 << (width - 1));
    let contiguity: Dims = (0..info.rank()).map(fits).collect();
    let divisibility = (0..info.rank()).map(|dim| info.starts(dim, contiguity[dim])).collect();
    Some(AxisInfo { constant, contiguity, divisibility, non_negative: false, ..info })
}

/// Bytes of what a value counts in: 1 for integers, the size of the pointee for addresses.
fn unit(module: &Module, value: ir::Value) -> u64 {
    pointee(module.ty(value)).map_or(1, elem_bytes)
}

/// The same numbers, which count in other units.
fn recount(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let info = first(module, op, table);
    let cast = UnaryOp::new(module, op);
    let (from, to) = (unit(module, cast.src()), unit(module, cast.result()));
    if from == to {
        return Some(AxisInfo { constant: None, non_negative: false, ..info });
    }
    let every = |dim: usize| {
        if info.contiguity[dim] > 1 { info.divisibility[dim].min(from) } else { info.divisibility[dim] }
    };
    Some(AxisInfo {
        contiguity: info.contiguity.iter().map(|_| 1).collect(),
        divisibility: (0..info.rank()).map(every).collect(),
        constant: None,
        non_negative: false,
        negative: false,
        assumes_sign: info.assumes_sign,
        constancy: info.constancy.clone(),
    })
}

pub(super) fn bitcast(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    let cast = UnaryOp::new(module, op);
    let ends = [cast.src(), cast.result()].map(|value| module.ty(value));
    let (integers, pointers) = (ends.map(|ty| elem(ty).as_int()), ends.map(pointee));
    let alike = integers.iter().all(Option::is_some) || pointers.iter().all(Option::is_some);
    if alike { recount(module, op, table) } else { None }
}

pub(super) fn pointer_to_int(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    recount(module, op, table)
}

pub(super) fn int_to_pointer(module: &Module, op: Op, table: &AxisTable) -> Option<AxisInfo> {
    recount(module, op, table)
}
