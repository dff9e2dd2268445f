//! Constants, selection, and operations that make blocks or move elements about.

use super::affine::Affine;
use super::data::{Data, Undefined};
use super::interpreter::{Entry, Interpreter, Outcome, merge_undefined, origin_of};
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

pub(crate) fn constant(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let data = match ConstantOp::new(interpreter.module, op).value() {
        Attr::Dense { elements: Elements::List(list), .. } => Data::each(&list[..]),
        attr => Data::uniform(splat_bits(attr).expect("verified: a constant is a number")),
    };
    interpreter.set_result(op, data);
    Ok(())
}

pub(crate) fn poison(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let origin = origin_of(interpreter.module, op);
    let undefined = Undefined { flags: Arc::from([true]), origin, element: 0 };
    interpreter.set_result(op, Data::uniform(0).with_undefined(Some(Arc::new(undefined))));
    Ok(())
}

/// An element of the result is undefined only if the condition or the chosen element is.
pub(crate) fn select(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = SelectOp::new(interpreter.module, op);
    let [condition, yes, no] =
        [of.condition(), of.true_value(), of.false_value()].map(|value| interpreter.get(value));
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
    let undefined = merge_undefined(interpreter.module, op, &[condition, yes, no], &[]).and_then(|merged| {
        let is_undefined = |index| condition.is_undefined(index) || chosen(index).is_undefined(index);
        let flags: Arc<[bool]> = (0..count).map(is_undefined).collect();
        flags.contains(&true).then(|| merged.with_flags(flags))
    });
    interpreter.set_result(op, data.with_undefined(undefined));
    Ok(())
}

pub(crate) fn make_range(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let range = MakeRangeOp::new(interpreter.module, op);
    let start = i64::from(range.start());
    let shape = shape(interpreter.module.ty(range.result()));
    interpreter.set_result(op, Data::affine(Affine::range(start as u64, shape, 32)));
    Ok(())
}

pub(crate) fn splat(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let data = source(interpreter, op).clone();
    interpreter.set_result(op, data);
    Ok(())
}

/// What an operation of one operand gets.
fn source<'m>(interpreter: &'m Interpreter<'_>, op: Op) -> &'m Data {
    interpreter.get(UnaryOp::new(interpreter.module, op).src())
}

/// The shapes of the operand and of the result.
fn shapes(interpreter: &Interpreter<'_>, op: Op) -> [&'static [i64]; 2] {
    let op = UnaryOp::new(interpreter.module, op);
    [op.src(), op.result()].map(|value| shape(interpreter.module.ty(value)))
}

/// The elements stay in row-major order.
pub(crate) fn same_elements(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let [_, to] = shapes(interpreter, op);
    let source = source(interpreter, op);
    let data = match source.as_affine().map(|affine| affine.reshaped(to)) {
        Some(Some(affine)) => Data::affine(affine).with_undefined(source.undefined().cloned()),
        Some(None) => source.by_element(),
        None => source.clone(),
    };
    interpreter.set_result(op, data);
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

pub(crate) fn broadcast(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let [from, to] = shapes(interpreter, op);
    let mut steps = strides(from);
    steps.iter_mut().zip(from).filter(|(_, size)| **size == 1).for_each(|(step, _)| *step = 0);
    let source = source(interpreter, op);
    let data = match source.as_affine().filter(|_| source.undefined().is_none()) {
        Some(affine) => {
            let dims = from.iter().enumerate().map(|(dim, &size)| (size != 1).then_some(dim));
            Data::affine(affine.arranged(to, dims))
        }
        None => moved(source, to, &steps),
    };
    interpreter.set_result(op, data);
    Ok(())
}

pub(crate) fn trans(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let [from, to] = shapes(interpreter, op);
    let order = TransOp::new(interpreter.module, op).order();
    let from_strides = strides(from);
    let steps: Vec<usize> = order.iter().map(|&dim| from_strides[dim as usize]).collect();
    let source = source(interpreter, op);
    let data = match source.as_affine().filter(|_| source.undefined().is_none()) {
        Some(affine) => Data::affine(affine.arranged(to, order.iter().map(|&dim| Some(dim as usize)))),
        None => moved(source, to, &steps),
    };
    interpreter.set_result(op, data);
    Ok(())
}

/// What an operation of two operands gets.
fn both<'m>(interpreter: &'m Interpreter<'_>, op: Op) -> [&'m Data; 2] {
    let op = BinaryOp::new(interpreter.module, op);
    [op.lhs(), op.rhs()].map(|value| interpreter.get(value))
}

pub(crate) fn join(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let count = numel(interpreter.result_ty(op)) as usize;
    let data = Data::pick(&both(interpreter, op), count, |index| (index % 2, index / 2));
    interpreter.set_result(op, data);
    Ok(())
}

pub(crate) fn split(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let split = SplitOp::new(interpreter.module, op);
    let count = numel(interpreter.module.ty(split.out_lhs())) as usize;
    let halves = [0, 1].map(|half| interpreter.get(split.src()).permute(count, |index| 2 * index + half));
    interpreter.set_results(op, halves.into());
    Ok(())
}

pub(crate) fn cat(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let count = numel(interpreter.result_ty(op)) as usize;
    let first = numel(interpreter.module.ty(CatOp::new(interpreter.module, op).lhs())) as usize;
    let data = Data::pick(&both(interpreter, op), count, |index| {
        if index < first { (0, index) } else { (1, index - first) }
    });
    interpreter.set_result(op, data);
    Ok(())
}

/// An index out of range gives an undefined element.
pub(crate) fn gather(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = GatherOp::new(interpreter.module, op);
    let [source_ty, index_ty] = [of.src(), of.indices()].map(|value| interpreter.module.ty(value));
    let source = AroundAxis::new(shape(source_ty), of.axis());
    let picked = AroundAxis::new(shape(index_ty), of.axis());
    let index_bits = crate::types::elem(index_ty).as_int().expect("verified: indices are integers");
    let (data, indices) = (interpreter.get(of.src()), interpreter.get(of.indices()));
    let count = numel(interpreter.result_ty(op)) as usize;
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
    let result = taken(interpreter, op, data, &sources, &failed);
    interpreter.set_result(op, result);
    Ok(())
}

/// The elements at positions of a block; those that `failed` lists are undefined.
fn taken(interpreter: &Interpreter<'_>, op: Op, data: &Data, sources: &[usize], failed: &[usize]) -> Data {
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
                    origin: origin_of(interpreter.module, op),
                    element: failed[0],
                }),
            })
        }
    };
    result.with_undefined(undefined)
}

/// Elements that the operand does not have are undefined.
pub(crate) fn resize(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let [from, to] = shapes(interpreter, op);
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
    let result = taken(interpreter, op, source(interpreter, op), &sources, &failed);
    interpreter.set_result(op, result);
    Ok(())
}
