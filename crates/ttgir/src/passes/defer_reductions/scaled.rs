//! A sum that is rescaled in each iteration before a block is added up into it, as attention has it.
//!
//! ```text
//! a = exp(m - max(m, …))
//! l' = l * a + sum(x)
//! ```
//!
//! Each lane carries its own sum, which begins with its share of the initial one; behind the loop they are added up.
//! All lanes rescale by the same number, which is at most 1, so that no lane has zero times infinity where another
//! one's sum is not zero.

use super::private::{Reduction, Split};
use super::running::behind;
use super::{Carried, other, used};
use ir::{Builder, Module, Op, Traits, Value};
use ttir::ops::arith_float::{ADDF, MULF, SUBF};
use ttir::ops::constant;
use ttir::ops::forms::UnaryOp;
use ttir::types::elem;

/// A carried sum.
struct Scaled {
    add: Op,
    scaled: Op,
    scale: Value,
    reduction: Reduction,
    split: Split,
}

/// Makes a carried value private if it is a rescaled sum.
pub(super) fn defer(module: &mut Module, carried: Carried) {
    let Some(Scaled { add, scaled, scale, reduction, split }) = find(module, carried) else { return };
    let (init, ty) = (carried.init(module), module.ty(carried.init(module)));
    let result = carried.result(module);

    let mut builder = Builder::before(module, carried.around);
    let private = split.reduced(elem(ty));
    let share = constant::float(&mut builder, private, 1.0 / split.lanes() as f64);
    let first = split.hand_out(&mut builder, init);
    let first = builder.build_as(&MULF, &[first, share], &[], private);
    let arg = carried.arg(module);
    let mut builder = Builder::before(module, add);
    let view = split.view(&mut builder, reduction.source);
    let own = split.reduce(&mut builder, reduction.op, view);
    carried.replace(builder.module, first, own);
    let scale = split.hand_out(&mut builder, scale);
    let before = builder.build_as(&MULF, &[arg, scale], &[], private);
    let next = builder.build_as(&ADDF, &[before, own], &[], private);
    if let Some(last) = module.last_op(carried.body) {
        module.set_operand(last, carried.index, next);
    }
    behind(module, carried, |module, anchor| {
        split.finish(&mut Builder::before(module, anchor), reduction.op, result, ty)
    });
    for op in [add, scaled, reduction.op] {
        module.erase(op);
    }
}

fn find(module: &Module, carried: Carried) -> Option<Scaled> {
    let arg = carried.arg(module);
    let next = carried.next(module);
    if !used(module, arg, 1) || !used(module, next, 1) {
        return None;
    }
    let add = carried.made_by(module, next, &ADDF)?;
    let reduction = |&value: &Value| Reduction::of_value(module, carried, value);
    let reduction = module.operands(add).iter().find_map(reduction).filter(|sum| sum.row.is(&ADDF))?;
    let total = module.result(reduction.op, 0);
    let product = other(module, add, total).filter(|&product| used(module, product, 1))?;
    let scaled = carried.made_by(module, product, &MULF)?;
    let scale = other(module, scaled, arg)?;
    let split = Split::of(module.ty(reduction.source), reduction.axis)?;
    is_at_most_one(module, scale).then_some(Scaled { add, scaled, scale, reduction, split })
}

/// Whether a value is an exponential of a number less the larger one of it and another: at most 1, or NaN.
fn is_at_most_one(module: &Module, value: Value) -> bool {
    let made_by = |value: Value, held| module.def_op(value).filter(|&op| module.has(op, held));
    let exponential = made_by(value, Traits::EXPONENTIAL);
    let exponent = exponential.map(|op| UnaryOp::new(module, op).src());
    let difference = exponent.and_then(|exponent| module.def_op(exponent)).filter(|&op| module.is(op, &SUBF));
    difference.is_some_and(|op| match module.operands(op) {
        &[number, larger] => {
            made_by(larger, Traits::MAXIMUM).is_some_and(|max| module.operands(max).contains(&number))
        }
        _ => false,
    })
}
