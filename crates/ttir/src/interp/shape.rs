//! Constants, selection, and operations that make blocks or move elements about.

use super::affine::Affine;
use super::data::{Data, Undefined};
use super::machine::{Entry, Machine, Step, merge_undefined, origin_of};
use super::positions::{AroundAxis, coordinates, positions, strides};
use crate::ops;
use crate::ops::compare::SelectOp;
use crate::ops::constant::{ConstantOp, splat_bits};
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::shape::{CatOp, GatherOp, MakeRangeOp, SplitOp, TransOp};
use crate::types::{numel, shape};
use ir::{Attr, Elements, Op};
use std::sync::Arc;

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[
    (&ops::constant::CONSTANT, constant),
    (&ops::constant::POISON, poison),
    (&ops::compare::SELECT, select),
    (&ops::shape::MAKE_RANGE, make_range),
    (&ops::shape::SPLAT, splat),
    (&ops::shape::UNSPLAT, same_elements),
    (&ops::shape::EXPAND_DIMS, same_elements),
    (&ops::shape::RESHAPE, same_elements),
    (&ops::shape::BROADCAST, broadcast),
    (&ops::shape::TRANS, trans),
    (&ops::shape::JOIN, join),
    (&ops::shape::SPLIT, split),
    (&ops::shape::CAT, cat),
    (&ops::shape::GATHER, gather),
    (&ops::shape::RESIZE, resize),
];

pub(crate) fn constant(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let data = match ConstantOp::new(machine.module, op).value() {
        Attr::Dense { elements: Elements::List(list), .. } => Data::each(&list[..]),
        attr => Data::uniform(splat_bits(attr).expect("verified: a constant is a number")),
    };
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn poison(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let origin = origin_of(machine.module, op);
    let undefined = Undefined { flags: Arc::from([true]), origin, element: 0 };
    machine.set_result(op, Data::uniform(0).with_undefined(Some(Arc::new(undefined))));
    Ok(())
}

/// An element of the result is undefined only if the condition or the chosen element is.
pub(crate) fn select(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let of = SelectOp::new(machine.module, op);
    let [condition, yes, no] =
        [of.condition(), of.true_value(), of.false_value()].map(|value| machine.get(value));
    let count = [condition, yes, no]
        .map(|data| data.kept().max(data.undefined().map_or(1, |undefined| undefined.flags.len())))
        .into_iter()
        .max()
        .unwrap_or(1);
    let chosen = |index: usize| if condition.at(index) & 1 != 0 { yes } else { no };
    let data = match condition.as_uniform() {
        Some(_) if condition.undefined().is_none() => chosen(0).clone(),
        _ if count == 1 => Data::uniform(chosen(0).at(0)),
        _ if [yes, no].into_iter().any(Data::is_words) => Data::choose(condition, yes, no, count),
        _ => Data::from_fn(count, |index| chosen(index).at(index)),
    };
    let undefined = merge_undefined(machine.module, op, &[condition, yes, no], &[]).and_then(|merged| {
        let is_undefined = |index| condition.is_undefined(index) || chosen(index).is_undefined(index);
        let flags: Arc<[bool]> = (0..count).map(is_undefined).collect();
        flags.contains(&true).then(|| merged.with_flags(flags))
    });
    machine.set_result(op, data.with_undefined(undefined));
    Ok(())
}

pub(crate) fn make_range(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let range = MakeRangeOp::new(machine.module, op);
    let start = i64::from(range.start());
    let shape = shape(machine.module.ty(range.result()));
    machine.set_result(op, Data::affine(Affine::range(start as u64, shape, 32)));
    Ok(())
}

pub(crate) fn splat(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let data = source(machine, op).clone();
    machine.set_result(op, data);
    Ok(())
}

/// What an operation of one operand gets.
fn source<'m>(machine: &'m Machine<'_>, op: Op) -> &'m Data {
    machine.get(UnaryOp::new(machine.module, op).src())
}

/// The shapes of the operand and of the result.
fn shapes(machine: &Machine<'_>, op: Op) -> [&'static [i64]; 2] {
    let op = UnaryOp::new(machine.module, op);
    [op.src(), op.result()].map(|value| shape(machine.module.ty(value)))
}

/// The elements stay in row-major order.
pub(crate) fn same_elements(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let [_, to] = shapes(machine, op);
    let source = source(machine, op);
    let data = match source.as_affine().map(|affine| affine.reshaped(to)) {
        Some(Some(affine)) => Data::affine(affine).with_undefined(source.undefined().cloned()),
        Some(None) => source.by_element(),
        None => source.clone(),
    };
    machine.set_result(op, data);
    Ok(())
}

/// A block of a shape whose dimensions lie at these distances in another one.
fn moved(data: &Data, shape: &[i64], steps: &[usize]) -> Data {
    if data.as_uniform().is_some() && data.undefined().is_none() {
        return data.clone();
    }
    let from = positions(shape, steps);
    data.permute(from.len(), |index| from[index])
}

pub(crate) fn broadcast(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let [from, to] = shapes(machine, op);
    let mut steps = strides(from);
    steps.iter_mut().zip(from).filter(|(_, size)| **size == 1).for_each(|(step, _)| *step = 0);
    let source = source(machine, op);
    let data = match source.as_affine().filter(|_| source.undefined().is_none()) {
        Some(affine) => {
            let dims = from.iter().enumerate().map(|(dim, &size)| (size != 1).then_some(dim));
            Data::affine(affine.arranged(to, dims))
        }
        None => moved(source, to, &steps),
    };
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn trans(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let [from, to] = shapes(machine, op);
    let order = TransOp::new(machine.module, op).order();
    let from_strides = strides(from);
    let steps: Vec<usize> = order.iter().map(|&dim| from_strides[dim as usize]).collect();
    let source = source(machine, op);
    let data = match source.as_affine().filter(|_| source.undefined().is_none()) {
        Some(affine) => Data::affine(affine.arranged(to, order.iter().map(|&dim| Some(dim as usize)))),
        None => moved(source, to, &steps),
    };
    machine.set_result(op, data);
    Ok(())
}

/// What an operation of two operands gets.
fn both<'m>(machine: &'m Machine<'_>, op: Op) -> [&'m Data; 2] {
    let op = BinaryOp::new(machine.module, op);
    [op.lhs(), op.rhs()].map(|value| machine.get(value))
}

pub(crate) fn join(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let count = numel(machine.result_ty(op)) as usize;
    let data = Data::pick(&both(machine, op), count, |index| (index % 2, index / 2));
    machine.set_result(op, data);
    Ok(())
}

pub(crate) fn split(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let split = SplitOp::new(machine.module, op);
    let count = numel(machine.module.ty(split.out_lhs())) as usize;
    let halves = [0, 1].map(|half| machine.get(split.src()).permute(count, |index| 2 * index + half));
    machine.set_results(op, halves.into());
    Ok(())
}

pub(crate) fn cat(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let count = numel(machine.result_ty(op)) as usize;
    let first = numel(machine.module.ty(CatOp::new(machine.module, op).lhs())) as usize;
    let data =
        Data::pick(
            &both(machine, op),
            count,
            |index| if index < first { (0, index) } else { (1, index - first) },
        );
    machine.set_result(op, data);
    Ok(())
}

/// An index out of range gives an undefined element.
pub(crate) fn gather(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let of = GatherOp::new(machine.module, op);
    let [source_ty, index_ty] = [of.src(), of.indices()].map(|value| machine.module.ty(value));
    let source = AroundAxis::new(shape(source_ty), of.axis());
    let picked = AroundAxis::new(shape(index_ty), of.axis());
    let index_bits = crate::types::elem(index_ty).as_int().expect("verified: indices are integers");
    let (data, indices) = (machine.get(of.src()), machine.get(of.indices()));
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
    let result = taken(machine, op, data, &sources, &failed);
    machine.set_result(op, result);
    Ok(())
}

/// The elements at positions of a block; those that `failed` lists are undefined.
fn taken(machine: &Machine<'_>, op: Op, data: &Data, sources: &[usize], failed: &[usize]) -> Data {
    let count = sources.len();
    let result = Data::from_fn(count, |index| data.at(sources[index]));
    let moved = data.permute(count, |index| sources[index]);
    let undefined = match (moved.undefined(), failed.is_empty()) {
        (None, true) => None,
        (before, _) => {
            let mut flags: Vec<bool> = (0..count).map(|index| moved.is_undefined(index)).collect();
            failed.iter().for_each(|&index| flags[index] = true);
            Some(match before {
                Some(first) => first.with_flags(flags.into()),
                None => Arc::new(Undefined {
                    flags: flags.into(),
                    origin: origin_of(machine.module, op),
                    element: failed[0],
                }),
            })
        }
    };
    result.with_undefined(undefined)
}

/// Elements that the operand does not have are undefined.
pub(crate) fn resize(machine: &mut Machine<'_>, op: Op) -> Step<()> {
    let [from, to] = shapes(machine, op);
    let from_strides = strides(from);
    let count = to.iter().product::<i64>() as usize;
    let (mut sources, mut failed) = (Vec::with_capacity(count), Vec::new());
    for position in 0..count {
        let at = coordinates(to, position);
        let inside = at.iter().zip(from).all(|(&at, &size)| at < size as usize);
        if !inside {
            failed.push(position);
        }
        let place = at.iter().zip(&from_strides).map(|(at, stride)| at * stride).sum();
        sources.push(if inside { place } else { 0 });
    }
    let result = taken(machine, op, source(machine, op), &sources, &failed);
    machine.set_result(op, result);
    Ok(())
}
