//! Constants, selection, and operations that make blocks or move elements about.

use super::data::{AroundAxis, Data, Undefined, strides};
use super::machine::{Machine, Step, merge_undefined};
use crate::ops::shape::ints;
use crate::types::{numel, shape};
use ir::{Attr, Elements, Op};
use std::rc::Rc;

pub(crate) fn int_attr(machine: &Machine<'_>, op: Op, slot: usize) -> i64 {
    machine.module.attr(op, slot).and_then(Attr::as_int).unwrap_or(0)
}

pub(crate) fn constant(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let data = match machine.module.attr(op, 0) {
        Some(Attr::Dense { elements: Elements::List(list), .. }) => Data::each(&list[..]),
        Some(attr) => Data::uniform(crate::ops::constant::splat_bits(attr).unwrap_or(0)),
        None => Data::uniform(0),
    };
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn poison(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let undefined = Undefined { flags: Rc::from([true]), origin: op, element: 0 };
    machine.set_result(op, Data::uniform(0).with_undefined(Some(Rc::new(undefined))));
    Ok(())
}

/// An element of the result is undefined only if the condition or the chosen element is.
pub(crate) fn select(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let [condition, yes, no] = [0, 1, 2].map(|index| machine.operand(op, index));
    let count = [condition, yes, no]
        .map(|data| data.kept().max(data.undefined().map_or(1, |undefined| undefined.flags.len())))
        .into_iter()
        .max()
        .unwrap_or(1);
    let chosen = |index: usize| if condition.at(index) & 1 != 0 { yes } else { no };
    let data = match condition.as_uniform() {
        Some(_) if condition.undefined().is_none() => chosen(0).clone(),
        _ if count == 1 => Data::uniform(chosen(0).at(0)),
        _ => Data::from_fn(count, |index| chosen(index).at(index)),
    };
    let undefined = merge_undefined(op, &[condition, yes, no], &[]).and_then(|merged| {
        let is_undefined = |index| condition.is_undefined(index) || chosen(index).is_undefined(index);
        let flags: Rc<[bool]> = (0..count).map(is_undefined).collect();
        flags.contains(&true).then(|| Rc::new(Undefined { flags, ..*merged }))
    });
    machine.set_result(op, data.with_undefined(undefined));
    Ok(())
}

pub(crate) fn make_range(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let (end, start) = (int_attr(machine, op, 0), int_attr(machine, op, 1));
    let count = (end - start).max(0) as usize;
    let data = Data::from_fn(count, |index| ir::scalar::truncate(32, (start + index as i64) as u64));
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn splat(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let data = machine.operand(op, 0).clone();
    machine.set_result(op, data);
    Ok(())
}

/// The elements stay in row-major order.
pub(crate) fn same_elements(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    splat(machine, op)
}

pub(crate) fn broadcast(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let (from, to) = (shape(machine.operand_ty(op, 0)), shape(machine.result_ty(op)));
    let (from_strides, to_strides) = (strides(from), strides(to));
    let position = |index: usize| {
        (0..to.len())
            .filter(|&dim| from[dim] != 1)
            .map(|dim| index / to_strides[dim] % to[dim] as usize * from_strides[dim])
            .sum()
    };
    let data = machine.operand(op, 0).permute(numel(machine.result_ty(op)) as usize, position);
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn trans(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let (from, to) = (shape(machine.operand_ty(op, 0)), shape(machine.result_ty(op)));
    let order = ints(machine.module.attr(op, 0));
    let (from_strides, to_strides) = (strides(from), strides(to));
    let position = |index: usize| {
        (0..to.len())
            .map(|dim| index / to_strides[dim] % to[dim] as usize * from_strides[order[dim] as usize])
            .sum()
    };
    let data = machine.operand(op, 0).permute(numel(machine.result_ty(op)) as usize, position);
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn join(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let count = numel(machine.result_ty(op)) as usize;
    let parts = [machine.operand(op, 0), machine.operand(op, 1)];
    let data = Data::pick(&parts, count, |index| (index % 2, index / 2));
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn split(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let count = numel(machine.result_ty(op)) as usize;
    let halves = [0, 1].map(|half| machine.operand(op, 0).permute(count, |index| 2 * index + half));
    machine.set_results(op, halves.into());
    Ok(())
}

pub(crate) fn cat(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let count = numel(machine.result_ty(op)) as usize;
    let first = numel(machine.operand_ty(op, 0)) as usize;
    let parts = [machine.operand(op, 0), machine.operand(op, 1)];
    let data = Data::pick(&parts, count, |index| if index < first { (0, index) } else { (1, index - first) });
    machine.set_result(op, data);
    Ok(())
}

/// An index out of range gives an undefined element.
pub(crate) fn gather(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let axis = int_attr(machine, op, 0) as usize;
    let source = AroundAxis::new(shape(machine.operand_ty(op, 0)), axis);
    let picked = AroundAxis::new(shape(machine.operand_ty(op, 1)), axis);
    let index_bits = crate::types::elem(machine.operand_ty(op, 1)).as_int().unwrap_or(32);
    let (data, indices) = (machine.operand(op, 0), machine.operand(op, 1));
    let count = numel(machine.result_ty(op)) as usize;
    let mut failed = Vec::new();
    let mut sources = Vec::with_capacity(count);
    for position in 0..count {
        let line = position / (picked.size * picked.inner) * picked.inner + position % picked.inner;
        let along = ir::scalar::sign_extend(index_bits, indices.at(position));
        let inside = (0..source.size as i64).contains(&along);
        if !inside || indices.is_undefined(position) {
            failed.push(position);
        }
        sources.push(if inside { source.position(line, along as usize) } else { 0 });
    }
    let result = Data::from_fn(count, |index| data.at(sources[index]));
    let moved = data.permute(count, |index| sources[index]);
    let undefined = match (moved.undefined(), failed.is_empty()) {
        (None, true) => None,
        (before, _) => {
            let mut flags: Vec<bool> = (0..count).map(|index| moved.is_undefined(index)).collect();
            failed.iter().for_each(|&index| flags[index] = true);
            let (origin, element) = before
                .map_or((op, failed.first().copied().unwrap_or(0)), |first| (first.origin, first.element));
            Some(Rc::new(Undefined { flags: flags.into(), origin, element }))
        }
    };
    machine.set_result(op, result.with_undefined(undefined));
    Ok(())
}
