//! A running maximum and the sum of exponentials that is rescaled to it, as in a softmax in one pass.
//!
//! ```text
//! m' = max(m, max(x))
//! d' = d * exp(m - m') + sum(exp(x - m'))
//! ```
//!
//! Each lane carries its own pair. Behind the loop, with the maximum `t` of all lanes' and the initial one:
//!
//! ```text
//! d = d0 * exp(m0 - t) + sum(dl * exp(ml - t))
//! ```
//!
//! A lane that has met nothing but -inf so far has -inf for its maximum; there 0 is subtracted instead, so that its
//! terms are `exp(-inf)`, which is 0, and not `exp(-inf + inf)`. A NaN or +inf in `x` makes the sum NaN as before.
//! Where the first blocks are all -inf and later ones are not, the result is the sum, and not NaN. Without a turn of
//! the loop the initial values stay. The term of a sum that begins with 0 and -inf is left out ([`begins_empty`]).

use super::private::{Reduction, Split};
use super::running::{behind, combined};
use super::{Carried, other, used};
use ir::passes::is_removable;
use ir::{Builder, Module, Op, OpRow, Traits, Value};
use ttir::ops::arith_float::{ADDF, MULF, SUBF};
use ttir::ops::compare::{CMPF, CMPI, CmpFOp, CmpFPredicate, CmpIOp, CmpIPredicate, SELECT};
use ttir::ops::constant;
use ttir::ops::control::ForOp;
use ttir::ops::shape::{BROADCAST, ExpandDimsOp, SPLAT};
use ttir::types::{elem, is_tensor, with_elem};

/// The recurrence.
struct Online {
    /// The carried sum.
    sum: Carried,
    largest: Reduction,
    /// The operation that makes the new maximum.
    max: Op,
    total: Reduction,
    exp: &'static OpRow,
    split: Split,
}

/// Makes the pair private if a carried value is the maximum of one.
pub(super) fn defer(module: &mut Module, carried: Carried) -> bool {
    let Some(online) = find(module, carried) else { return false };
    let Online { sum, largest, max, total, exp, split } = online;
    let (first_max, first_sum) = (carried.init(module), sum.init(module));
    let ty = module.ty(first_max);
    let private = split.reduced(elem(ty));
    let Some(end) = module.last_op(carried.body) else { return false };

    let mut builder = Builder::before(module, carried.around);
    let lowest = constant::float(&mut builder, private, f64::NEG_INFINITY);
    let nothing = constant::float(&mut builder, private, 0.0);

    let (max_arg, sum_arg) = (carried.arg(module), sum.arg(module));
    let mut builder = Builder::before(module, end);
    let view = split.view(&mut builder, largest.source);
    let own = split.reduce(&mut builder, largest.op, view);
    // The arguments have the types of their initial values from here on.
    carried.replace(builder.module, lowest, own);
    sum.replace(builder.module, nothing, own);
    let next_max = combined(builder.module, max, end, [max_arg, own]);
    let infinite = compare(&mut builder, CmpFPredicate::Oeq, next_max, lowest);
    let shift = builder.build_as(&SELECT, &[infinite, nothing, next_max], &[], private);
    let scale = exponential(&mut builder, exp, max_arg, shift);
    let shifts = split.repeat(&mut builder, shift);
    let terms = exponential(&mut builder, exp, view, shifts);
    let terms = split.reduce(&mut builder, total.op, terms);
    let scaled = builder.build_as(&MULF, &[sum_arg, scale], &[], private);
    let next_sum = builder.build_as(&ADDF, &[scaled, terms], &[], private);
    module.set_operand(end, carried.index, next_max);
    module.set_operand(end, sum.index, next_sum);

    let (maxima, sums) = (carried.result(module), sum.result(module));
    let of = ForOp::new(module, carried.around);
    let bounds = [of.lower(), of.upper()];
    let mut top = None;
    behind(module, carried, |module, anchor| {
        let mut builder = Builder::before(module, anchor);
        let whole = split.finish(&mut builder, largest.op, maxima, ty);
        let last = combined(module, max, anchor, [first_max, whole]);
        top = Some((last, anchor));
        last
    });
    let Some((top, anchor)) = top else { return true };
    let users: Vec<(Op, u32)> = module.uses(sums).to_vec();
    let mut builder = Builder::before(module, anchor);
    let tops = split.hand_out(&mut builder, top);
    let scale = exponential(&mut builder, exp, maxima, tops);
    let terms = builder.build_as(&MULF, &[sums, scale], &[], private);
    let terms = split.finish(&mut builder, total.op, terms, ty);
    let all = if begins_empty(builder.module, first_max, first_sum) {
        terms
    } else {
        let scale = exponential(&mut builder, exp, first_max, top);
        let start = builder.build_as(&MULF, &[first_sum, scale], &[], ty);
        builder.build_as(&ADDF, &[start, terms], &[], ty)
    };
    let turned = builder.build(&CMPI, &bounds, &CmpIOp::attrs(CmpIPredicate::Slt));
    let last = builder.build_as(&SELECT, &[turned, all, first_sum], &[], ty);
    for (user, index) in users {
        module.set_operand(user, index as usize, last);
    }
    erase_unused(module, carried);
    true
}

/// Whether a sum begins as that of no terms, below -inf. Where `d0 * exp(m0 - t)` is NaN then, as `t` is -inf or NaN, a
/// lane's term is too.
fn begins_empty(module: &Module, first_max: Value, first_sum: Value) -> bool {
    constant::number(module, first_max) == Some(f64::NEG_INFINITY)
        && constant::number(module, first_sum) == Some(0.0)
}

/// Erases, from the end of the body on, what has lost its users.
fn erase_unused(module: &mut Module, carried: Carried) {
    let ops: Vec<Op> = module.ops(carried.body).collect();
    for op in ops.into_iter().rev() {
        if is_removable(module, op)
            && !module.results(op).is_empty()
            && module.results(op).iter().all(|&result| module.is_unused(result))
        {
            module.erase(op);
        }
    }
}

fn compare(builder: &mut Builder<'_>, predicate: CmpFPredicate, one: Value, two: Value) -> Value {
    let ty = with_elem(builder.module.ty(one), ir::Type::int(1));
    builder.build_as(&CMPF, &[one, two], &CmpFOp::attrs(predicate), ty)
}

/// `exp(value - shift)`.
fn exponential(builder: &mut Builder<'_>, exp: &'static OpRow, value: Value, shift: Value) -> Value {
    let ty = builder.module.ty(value);
    let difference = builder.build_as(&SUBF, &[value, shift], &[], ty);
    builder.build_as(exp, &[difference], &[], ty)
}

/// The exponential function that an operation is.
fn exp_row(module: &Module, op: Op) -> Option<&'static OpRow> {
    module.has(op, Traits::EXPONENTIAL).then(|| module.row(op))
}

fn find(module: &Module, carried: Carried) -> Option<Online> {
    let arg = carried.arg(module);
    let next = carried.next(module);
    let max = module.def_op(next)?;
    let row = module.row(max);
    if !row.traits.has(Traits::MAXIMUM) || !used(module, arg, 2) {
        return None;
    }
    carried.made_by(module, next, row)?;
    let reduced = other(module, max, arg)?;
    let largest = Reduction::of_value(module, carried, reduced).filter(|largest| largest.row.is(row))?;
    // The new maximum is handed on, and taken from the old one and from the block.
    if !used(module, next, 3) {
        return None;
    }
    let users = || module.uses(next).iter().map(|user| user.0);
    let difference = users().find(|&user| module.is(user, &SUBF) && module.operands(user) == [arg, next])?;
    let (exp, scale) = only_exp(module, module.result(difference, 0))?;
    let scaled = module.only_user(scale).filter(|&user| module.is(user, &MULF))?;
    let sum_arg = other(module, scaled, scale)?;
    let add = module.only_user(module.result(scaled, 0)).filter(|&user| module.is(user, &ADDF))?;
    let term = other(module, add, module.result(scaled, 0))?;
    let total = Reduction::of_value(module, carried, term)
        .filter(|total| total.row.is(&ADDF) && total.axis == largest.axis)?;

    let spread = users().find(|&user| user != difference && Some(user) != module.last_op(carried.body))?;
    let shifts = spread_over(module, spread, largest.axis)?;
    let shifted = module.only_user(shifts).filter(|&user| module.is(user, &SUBF))?;
    if module.operands(shifted) != [largest.source, shifts] {
        return None;
    }
    let (block_exp, exponentials) = only_exp(module, module.result(shifted, 0))?;
    let summed = exponentials == total.source && used(module, exponentials, 1) && block_exp.is(exp);
    let sum = carried_sum(module, carried, sum_arg, module.result(add, 0))?;
    let split = Split::of(module.ty(largest.source), largest.axis)?;
    summed.then_some(Online { sum, largest, max, total, exp, split })
}

/// The carried value that is a sum: its argument has one use, and its next value is handed on only.
fn carried_sum(module: &Module, carried: Carried, arg: Value, next: Value) -> Option<Carried> {
    let index = module.args(carried.body).iter().position(|&own| own == arg)?.checked_sub(1)?;
    let sum = Carried { index, ..carried };
    let fits = sum.next(module) == next && used(module, arg, 1) && used(module, next, 1);
    (fits && sum != carried).then_some(sum)
}

/// The exponential of a value that is used for nothing else.
fn only_exp(module: &Module, value: Value) -> Option<(&'static OpRow, Value)> {
    let op = module.only_user(value)?;
    Some((exp_row(module, op)?, module.result(op, 0)))
}

/// The block that is filled with a reduced value along a dimension, if an operation begins to make it.
fn spread_over(module: &Module, op: Op, axis: usize) -> Option<Value> {
    let result = module.result(op, 0);
    if module.is(op, &SPLAT) && is_tensor(module.ty(result)) {
        return Some(result);
    }
    ExpandDimsOp::of(module, op).filter(|expand| expand.axis() == axis)?;
    let broadcast = module.only_user(result).filter(|&user| module.is(user, &BROADCAST))?;
    Some(module.result(broadcast, 0))
}
