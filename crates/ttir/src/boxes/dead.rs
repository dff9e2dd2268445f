//! Whether what a block holds beyond a size along one axis reaches nothing but elements that are not stored.
//!
//! ```text
//! %a = tt.load …        rows from %m on hold anything
//! %d = tt.dot %a, %b    rows of %d: the same
//! tt.store …, %d, (%start + range 0..128) < %m      they are not stored
//! ```

use super::forms::{Form, Forms, Wrap};
use super::poly::Poly;
use crate::ops::access::AccessOp;
use crate::ops::control::{FOR, ForOp, IF, YIELD};
use crate::ops::dot::MatmulOp;
use crate::ops::forms::UnaryOp;
use crate::ops::reduce::CombineOp;
use crate::ops::shape::{BROADCAST, EXPAND_DIMS, ExpandDimsOp, TransOp};
use crate::types::{is_tensor, shape};
use ir::{Module, Op, Traits, Value};
use rustc_hash::FxHashSet;

/// The most uses that are looked at.
const MOST: usize = 256;

/// Whether elements of a block along an axis, from the end of a wrap on, are not stored anywhere.
pub(super) fn dies(forms: &mut Forms<'_>, value: Value, axis: usize, wrap: &Wrap) -> bool {
    let module = forms.module;
    let mut open = vec![(value, axis)];
    let mut seen: FxHashSet<(Value, usize)> = open.iter().copied().collect();
    while let Some((value, axis)) = open.pop() {
        for &(user, slot) in module.uses(value) {
            let Some(next) = follow(module, user, slot as usize, axis) else {
                if is_masked(forms, user, slot as usize, axis, wrap) {
                    continue;
                }
                return false;
            };
            for found in next {
                if seen.insert(found) {
                    open.push(found);
                }
            }
            if seen.len() > MOST {
                return false;
            }
        }
    }
    true
}

/// Where the elements of an operand along an axis go; none where it is not known, or where they leave the program.
fn follow(module: &Module, op: Op, slot: usize, axis: usize) -> Option<Vec<(Value, usize)>> {
    let all = |values: &[Value], axis: usize| values.iter().map(|&value| (value, axis)).collect();
    if let Some(product) = MatmulOp::of(module, op) {
        let rank = shape(module.ty(product.d())).len();
        // Rows of the left operand and columns of the right one are rows and columns of the result.
        let stays = match slot {
            0 => axis != rank - 1,
            1 => axis != rank - 2,
            2 => true,
            _ => false,
        };
        return stays.then(|| all(module.results(op), axis));
    }
    if module.is(op, &FOR) {
        let number = slot.checked_sub(ForOp::NUM_BOUNDS)?;
        let of = ForOp::new(module, op);
        return Some(vec![(of.carried()[number], axis), (module.result(op, number), axis)]);
    }
    if module.is(op, &YIELD) {
        let around = module.parent_op(op)?;
        let mut next = vec![(*module.results(around).get(slot)?, axis)];
        if module.is(around, &FOR) {
            next.push((ForOp::new(module, around).carried()[slot], axis));
        } else if !module.is(around, &IF) {
            return None;
        }
        return Some(next);
    }
    if let Some(reduce) = CombineOp::reduction(module, op) {
        let is_kept =
            reduce.axis() != axis && module.results(op).iter().all(|&result| is_tensor(module.ty(result)));
        return is_kept.then(|| all(module.results(op), axis - usize::from(reduce.axis() < axis)));
    }
    if !module.has(op, Traits::PURE) || module.results(op).iter().any(|&result| !is_tensor(module.ty(result)))
    {
        return None;
    }
    if module.has(op, Traits::ELEMENTWISE) || module.is(op, &BROADCAST) {
        return Some(all(module.results(op), axis));
    }
    if module.is(op, &EXPAND_DIMS) {
        let at = ExpandDimsOp::new(module, op).axis();
        return Some(all(module.results(op), axis + usize::from(at <= axis)));
    }
    let trans = TransOp::of(module, op)?;
    let at = trans.order().iter().position(|&from| usize::try_from(from) == Ok(axis))?;
    Some(vec![(UnaryOp::new(module, op).result(), at)])
}

/// Whether an access writes an operand, and only elements in front of the end of a wrap.
fn is_masked(forms: &mut Forms<'_>, op: Op, slot: usize, axis: usize, wrap: &Wrap) -> bool {
    let module = forms.module;
    let Some(access) = AccessOp::of(module, op) else { return false };
    let value = module.operand(op, slot);
    // It may not be an address or a mask as well.
    let places = module.operands(op).iter().filter(|&&operand| operand == value).count();
    let is_unread = module.results(op).iter().all(|&result| module.is_unused(result));
    if access.value() != Some(value) || places != 1 || !is_unread {
        return false;
    }
    let Some(conditions) = access.mask().and_then(|mask| forms.mask(mask)) else { return false };
    conditions.iter().any(|condition| ends_at(condition, axis, wrap))
}

/// Whether a condition holds only in front of the end of a wrap: `start + range - extent < 0`.
fn ends_at(condition: &Form, axis: usize, wrap: &Wrap) -> bool {
    let only = condition.axes.iter().enumerate().all(|(at, other)| other.is_some() == (at == axis));
    let plain = condition
        .axes
        .get(axis)
        .and_then(Option::as_ref)
        .is_some_and(|along| along.wrap.is_none() && along.scale == Poly::constant(1));
    only && plain && wrap.start.minus(&wrap.extent).as_ref() == Some(&condition.uniform)
}
