//! Atomic read-modify-write, compare-and-swap, and waiting for a value. Operations of programs never run at the same
//! time, so plain accesses are atomic.

use super::access::{Element, mask};
use super::data::Data;
use super::error::{RunError, RunErrorKind};
use super::interpreter::{Entry, Interpreter, Outcome};
use super::track::{Elements, Order};
use crate::ops;
use crate::ops::access::AccessOp;
use crate::ops::atomic::{AtomicCasOp, AtomicPollOp, AtomicRmwOp};
use crate::types::{elem, elem_bits, numel, shape};
use ir::scalar::{float_bits, float_value, sign_extend, truncate};
use ir::view::EnumAttr;
use ir::{Op, Type};
use std::cmp::Ordering;

/// Rows of this file.
pub(super) const TABLE: &[Entry] =
    &[(&ops::atomic::ATOMIC_RMW, rmw), (&ops::atomic::ATOMIC_CAS, cas), (&ops::atomic::ATOMIC_POLL, poll)];

/// How an old and a new value combine. `None` where the type does not allow it.
pub(crate) type Combine = fn(Type, u64, u64) -> Option<u64>;

fn signed(ty: Type, bits: u64) -> i64 {
    sign_extend(elem_bits(ty), bits)
}

/// Whether the new value takes the place of the old one; a number takes that of a NaN.
fn replaces(ty: Type, old: u64, new: u64, wanted: Ordering) -> Option<bool> {
    if let Some(kind) = ty.as_float() {
        let (old, new) = (float_value(kind, old), float_value(kind, new));
        return Some(old.is_nan() || new.partial_cmp(&old) == Some(wanted));
    }
    ty.as_int().map(|_| signed(ty, new).cmp(&signed(ty, old)) == wanted)
}

/// What each case of the enumeration does.
static COMBINE: &[(&str, Combine)] = &[
    ("and", |ty, old, new| ty.as_int().map(|_| old & new)),
    ("or", |ty, old, new| ty.as_int().map(|_| old | new)),
    ("xor", |ty, old, new| ty.as_int().map(|_| old ^ new)),
    ("add", |ty, old, new| ty.as_int().map(|bits| truncate(bits, old.wrapping_add(new)))),
    ("fadd", |ty, old, new| {
        let kind = ty.as_float()?;
        Some(float_bits(kind, float_value(kind, old) + float_value(kind, new)))
    }),
    ("max", |ty, old, new| Some(if replaces(ty, old, new, Ordering::Greater)? { new } else { old })),
    ("min", |ty, old, new| Some(if replaces(ty, old, new, Ordering::Less)? { new } else { old })),
    ("umax", |ty, old, new| ty.as_int().map(|_| old.max(new))),
    ("umin", |ty, old, new| ty.as_int().map(|_| old.min(new))),
    ("exch", |_, _, new| Some(new)),
];

/// The function of a keyword of [`crate::ops::atomic::Rmw`] or of the kinds of a descriptor's reduction.
pub(crate) fn combine_named(keyword: &str) -> Option<Combine> {
    COMBINE.iter().find(|(name, _)| *name == keyword).map(|(_, combine)| *combine)
}

/// Combines each value into memory; gives what was there before, 0 where the mask does not hold.
pub(crate) fn rmw(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let rmw = AtomicRmwOp::new(interpreter.module, op);
    let keyword = rmw.kind().keyword();
    let combine = combine_named(keyword).expect("every kind combines");
    let mask = mask(interpreter, op);
    update(interpreter, op, mask.as_ref(), |interpreter, ty, old, position| {
        let new = interpreter.get(rmw.value()).at(position);
        match combine(ty, old, new) {
            Some(bits) => Ok(Some(bits)),
            None => {
                let message = format!("atomic {keyword} is not defined for {ty}");
                Err(interpreter.error(op, RunErrorKind::Unsupported, message))
            }
        }
    })
}

/// Writes the new value where memory holds the expected bits.
pub(crate) fn cas(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let cas = AtomicCasOp::new(interpreter.module, op);
    update(interpreter, op, None, |interpreter, _, old, position| {
        let expected = interpreter.get(cas.expected()).at(position);
        Ok((old == expected).then(|| interpreter.get(cas.value()).at(position)))
    })
}

/// Whether memory holds a value; without a time limit other programs run until it does.
pub(crate) fn poll(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let poll = AtomicPollOp::new(interpreter.module, op);
    let (addresses, expected) =
        (interpreter.get(poll.ptr()).clone(), interpreter.get(poll.expected()).clone());
    let ty = interpreter.module.ty(poll.expected());
    let (dims, element_ty) = (shape(ty), elem(ty));
    let element = |position| Element { op, shape: dims, position, pointer: Some(poll.ptr()) };
    let positions = 0..numel(ty) as usize;
    for position in positions.clone() {
        interpreter.require(element(position), &addresses, "the address")?;
        interpreter.require(element(position), &expected, "the value")?;
    }
    let seen = loop {
        let found = positions
            .clone()
            .map(|position| interpreter.read_element(element(position), addresses.at(position), element_ty));
        let found = found.collect::<Outcome<Vec<u64>>>()?;
        let differs = positions.clone().find(|&position| found[position] != expected.at(position));
        match differs {
            Some(position) if poll.timeout().is_none() => {
                if !interpreter.run_another()? {
                    let [wanted, found] = [expected.at(position), found[position]];
                    return Err(nobody_writes(interpreter, op, element_ty, [wanted, found]));
                }
            }
            _ => break found,
        }
    };
    let (order, elements) =
        (Order::of(AccessOp::new(interpreter.module, op)), Elements::new(ty, &addresses, None));
    interpreter.acquire(order, elements);
    interpreter.touch_block(op, order.reading(), ty, elements, None);
    let seen = seen.iter().enumerate().map(|(position, &found)| u64::from(found == expected.at(position)));
    interpreter.set_result(op, Data::each(seen.collect::<Vec<_>>()));
    Ok(())
}

/// The error of a program that waits for a value, of which no program is left that could write it.
fn nobody_writes(interpreter: &Interpreter<'_>, op: Op, ty: Type, bits: [u64; 2]) -> Box<RunError> {
    let [wanted, found] = bits.map(|bits| signed(ty, bits));
    let message = format!(
        "the program waits for {wanted} and memory holds {found}: no program is left here that could write it"
    );
    interpreter.error(op, RunErrorKind::Waits, message)
}

fn update(
    interpreter: &mut Interpreter<'_>,
    op: Op,
    mask: Option<&Data>,
    new: impl Fn(&Interpreter<'_>, Type, u64, usize) -> Outcome<Option<u64>>,
) -> Outcome<()> {
    let ty = interpreter.result_ty(op);
    let (dims, element_ty) = (shape(ty), elem(ty));
    let access = AccessOp::new(interpreter.module, op);
    let (pointer, order) = (access.ptr(), Order::of(access));
    let addresses = interpreter.get(pointer).clone();
    interpreter.acquire(order, Elements::new(ty, &addresses, mask));
    let values = interpreter.operands(op).split_off(1);
    let mut results = vec![0; numel(ty) as usize];
    // What leaves memory as it is counts as a read, as `atomic_add(p, 0)` is one; it releases all the same.
    let (mut kept, mut changed, mut released) = (Vec::new(), Vec::new(), Vec::new());
    for (position, result) in results.iter_mut().enumerate() {
        let element = Element { op, shape: dims, position, pointer: Some(pointer) };
        if !interpreter.mask_holds(element, mask)? {
            continue;
        }
        interpreter.require(element, &addresses, "the address")?;
        for value in &values {
            interpreter.require(element, value, "the value")?;
        }
        let old = interpreter.read_element(element, addresses.at(position), element_ty)?;
        *result = old;
        let address = addresses.at(position);
        let new = new(interpreter, element_ty, old, position)?;
        let list = if new.is_some_and(|bits| bits != old) { &mut changed } else { &mut kept };
        list.push((position, address));
        let Some(bits) = new else { continue };
        interpreter.write_element(element, address, element_ty, bits)?;
        released.push(address);
    }
    interpreter.touch(op, order.reading(), ty, kept.into_iter(), None);
    if changed.is_empty() {
        interpreter.memory.found_unchanged();
    } else {
        interpreter.memory.changed();
    }
    interpreter.touch(op, order.writing(), ty, changed.into_iter(), None);
    interpreter.release(order, released.into_iter(), true);
    interpreter.set_result(op, Data::each(results));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::ops::atomic::RMW;

    #[test]
    fn every_case_has_a_function() {
        for (keyword, _) in RMW.cases {
            assert!(super::combine_named(keyword).is_some(), "{keyword}");
        }
    }
}
