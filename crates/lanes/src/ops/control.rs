//! Loops and conditions.
//!
//! A loop carries one llir value for each different element of a tensor. Tensors that each iteration moves by one
//! amount (the addresses of a loop over tiles) are carried as few bases, from which the registers differ by constants.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::value::LaneValue;
use ir::{Block, Module, Op, Value as IrValue};
use llir::{Value, Values};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::ops::arith_int::ADDI;
use ttir::ops::constant::{ConstantOp, splat_bits};
use ttir::ops::control::{FOR, ForOp, IF, IfOp, WHILE};
use ttir::ops::forms::BinaryOp;
use ttir::ops::memory::AddPtrOp;
use ttir::ops::shape::SPLAT;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&FOR, lower_for), (&IF, lower_if), (&WHILE, lower_while)];

type LaneValues = SmallVec<[LaneValue; 4]>;

/// How a loop carries one value.
enum Carried {
    /// Each different element.
    Whole,
    /// Bases: for each register the number of its base and the constant that is added.
    Bases(Vec<(usize, i64)>),
}

/// Whether a value is the same for all registers: the splat of a scalar, or a constant.
fn is_uniform(module: &Module, value: IrValue) -> bool {
    if !ttir::types::is_tensor(module.ty(value)) {
        return true;
    }
    match module.def_op(value) {
        Some(op) if module.is(op, &SPLAT) => true,
        Some(op) => ConstantOp::of(module, op).is_some_and(|of| splat_bits(of.value()).is_some()),
        None => false,
    }
}

/// Whether a value is `arg` moved by amounts that are the same for all registers.
fn is_moved(module: &Module, value: IrValue, arg: IrValue) -> bool {
    if value == arg {
        return true;
    }
    let Some(op) = module.def_op(value) else { return false };
    let moves = |from: IrValue, by: IrValue| is_uniform(module, by) && is_moved(module, from, arg);
    if let Some(add) = AddPtrOp::of(module, op) {
        return moves(add.ptr(), add.offset());
    }
    let add = BinaryOp::new(module, op);
    module.is(op, &ADDI) && (moves(add.lhs(), add.rhs()) || moves(add.rhs(), add.lhs()))
}

/// The base of a value and its constant: of an integer or an address.
fn base_of(cx: &Cx<'_>, value: Value) -> Option<(Value, i64)> {
    if cx.b.ty(value).is_ptr() {
        return Some(cx.split_pointer(value));
    }
    let (base, constant) = cx.split_constant(value);
    base.map(|base| (base, constant))
}

/// How to carry a value that starts as `init` and is `yielded` by each iteration, and what is carried at first.
fn carry(
    cx: &mut Cx<'_>,
    init: (IrValue, &LaneValue),
    arg: IrValue,
    yielded: IrValue,
) -> Result<(Carried, Values)> {
    let (value, lane_value) = init;
    let ty = cx.module.ty(value);
    let LaneValue::Tensor(registers) = lane_value else {
        return Ok((Carried::Whole, cx.pack(ty, lane_value)?));
    };
    if !is_moved(cx.module, yielded, arg) {
        return Ok((Carried::Whole, cx.pack(ty, lane_value)?));
    }
    let mut bases = Values::new();
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let mut parts = Vec::with_capacity(registers.len());
    for register in registers.iter() {
        let Some((base, constant)) = base_of(cx, *register) else {
            return Ok((Carried::Whole, cx.pack(ty, lane_value)?));
        };
        let number = *numbers.entry(base).or_insert_with(|| {
            bases.push(base);
            bases.len() - 1
        });
        parts.push((number, constant));
    }
    Ok((Carried::Bases(parts), bases))
}

/// The value inside the loop or after it, made of what is carried.
fn receive(
    cx: &mut Cx<'_>,
    (value, like): (IrValue, &LaneValue),
    carried: &Carried,
    values: &mut impl Iterator<Item = Value>,
) -> Result<LaneValue> {
    let Carried::Bases(parts) = carried else {
        return cx.unpack(cx.module.ty(value), like, values);
    };
    let count = parts.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let bases: Values = values.take(count).collect();
    let registers = parts.iter().map(|(number, constant)| {
        let base = bases[*number];
        if cx.b.ty(base).is_ptr() {
            return cx.affine.join_pointer(&mut cx.b, base, *constant);
        }
        let ty = cx.b.ty(base);
        cx.affine.join(&mut cx.b, ty, crate::affine::Sum { base: Some(base), constant: *constant })
    });
    Ok(LaneValue::tensor(registers.collect()))
}

/// What an iteration hands on for a value.
fn hand_on(
    cx: &mut Cx<'_>,
    op: Op,
    value: IrValue,
    lane_value: &LaneValue,
    carried: &Carried,
) -> Result<Values> {
    let Carried::Bases(parts) = carried else { return cx.pack(cx.module.ty(value), lane_value) };
    let registers = lane_value.flatten();
    let mut bases: Vec<Option<Value>> = Vec::new();
    for (register, (number, before)) in registers.iter().zip(parts) {
        if bases.len() <= *number {
            bases.resize(*number + 1, None);
        }
        if bases[*number].is_some() {
            continue;
        }
        // The register moved by as much as its base did.
        let Some((base, after)) = base_of(cx, *register) else {
            return Err(cx.error(op, "a carried value lost its base"));
        };
        let by = after.wrapping_sub(*before);
        bases[*number] = Some(if cx.b.ty(base).is_ptr() {
            cx.affine.join_pointer(&mut cx.b, base, by)
        } else {
            let ty = cx.b.ty(base);
            cx.affine.join(&mut cx.b, ty, crate::affine::Sum { base: Some(base), constant: by })
        });
    }
    Ok(bases.into_iter().flatten().collect())
}

fn yielded(cx: &Cx<'_>, block: Block) -> Vec<IrValue> {
    let last = cx.module.terminator(block);
    cx.module.operands(last).to_vec()
}

fn lower_for(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = ForOp::new(cx.module, op);
    let [lower, upper, step] = [cx.scalar(of.lower())?, cx.scalar(of.upper())?, cx.scalar(of.step())?];
    let block = cx.module.entry_of(op);
    let (args, yields) = (cx.module.args(block), yielded(cx, block));
    let inits = of.inits();
    let (mut first, mut ways, mut likes) = (Values::new(), Vec::new(), LaneValues::new());
    for (index, init) in inits.iter().enumerate() {
        let like = cx.get(*init)?;
        let (way, values) = carry(cx, (*init, &like), args[index + 1], yields[index])?;
        first.extend(values);
        ways.push(way);
        likes.push(like);
    }
    let for_loop = cx.b.begin_for(lower, upper, step, &first);
    cx.set(args[0], LaneValue::Scalar(for_loop.iv));
    let mut carried = for_loop.carried.clone().into_iter();
    for (index, init) in inits.iter().enumerate() {
        let inside = receive(cx, (*init, &likes[index]), &ways[index], &mut carried)?;
        cx.set(args[index + 1], inside);
    }
    cx.lower_block(block)?;
    let mut next = Values::new();
    for (value, way) in yields.iter().zip(&ways) {
        let lane_value = cx.get(*value)?;
        next.extend(hand_on(cx, op, *value, &lane_value, way)?);
    }
    let after = cx.b.end_for(for_loop, &next);
    let mut after = after.into_iter();
    for (index, result) in cx.module.results(op).iter().enumerate() {
        let value = receive(cx, (*result, &likes[index]), &ways[index], &mut after)?;
        cx.set(*result, value);
    }
    Ok(())
}

/// What values of the program are made of, one after the other.
fn pack_all(cx: &mut Cx<'_>, values: &[IrValue], lane_values: &[LaneValue]) -> Result<Values> {
    let mut packed = Values::new();
    for (value, lane_value) in values.iter().zip(lane_values) {
        packed.extend(cx.pack(cx.module.ty(*value), lane_value)?);
    }
    Ok(packed)
}

/// Says what values of the program are, given what they are made of.
fn unpack_all(cx: &mut Cx<'_>, values: &[IrValue], likes: &[LaneValue], parts: Values) -> Result<()> {
    let mut parts = parts.into_iter();
    for (value, like) in values.iter().zip(likes) {
        let lane_value = cx.unpack(cx.module.ty(*value), like, &mut parts)?;
        cx.set(*value, lane_value);
    }
    Ok(())
}

fn lower_if(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let condition = cx.scalar(IfOp::new(cx.module, op).condition())?;
    let results = cx.module.results(op);
    let blocks: SmallVec<[Block; 2]> = cx
        .module
        .regions(op)
        .iter()
        .filter_map(|region| cx.module.blocks(*region).first().copied())
        .collect();
    // A condition that is known leaves one region, inline.
    if let Some(known) = cx.b.as_int(condition) {
        let Some(block) = blocks.get(usize::from(known == 0)) else { return Ok(()) };
        for (result, value) in results.iter().zip(cx.inline_block(*block, &[])?) {
            cx.set(*result, value);
        }
        return Ok(());
    }
    let mut branch = cx.b.begin_if(condition);
    let mut likes = LaneValues::new();
    let mut handed = Values::new();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            cx.b.begin_else(&mut branch, &handed);
        }
        likes = cx.inline_block(*block, &[])?;
        handed = pack_all(cx, results, &likes)?;
    }
    let after = cx.b.end_if(branch, &handed);
    unpack_all(cx, results, &likes, after)
}

fn lower_while(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let inits = cx.module.operands(op).to_vec();
    let likes: LaneValues = inits.iter().map(|value| cx.get(*value)).collect::<Result<_>>()?;
    let first = pack_all(cx, &inits, &likes)?;
    let [before, after] = [0, 1].map(|index| cx.module.entry(cx.module.region(op, index)));
    let while_loop = cx.b.begin_while(&first);
    unpack_all(cx, cx.module.args(before), &likes, while_loop.carried.clone())?;
    cx.lower_block(before)?;
    let passed = yielded(cx, before);
    let Some((condition, passed)) = passed.split_first() else {
        return Err(cx.error(op, "the first region has no condition"));
    };
    let condition = cx.registers(*condition)?[0];
    let passed_likes: LaneValues = passed.iter().map(|value| cx.get(*value)).collect::<Result<_>>()?;
    let leaves_with = pack_all(cx, passed, &passed_likes)?;
    cx.b.do_while(&while_loop, condition, &leaves_with);
    for (arg, value) in cx.module.args(after).iter().zip(&passed_likes) {
        cx.set(*arg, value.clone());
    }
    cx.lower_block(after)?;
    let yields = yielded(cx, after);
    let handed: LaneValues = yields.iter().map(|value| cx.get(*value)).collect::<Result<_>>()?;
    let next = pack_all(cx, &inits, &handed)?;
    let results = cx.b.end_while(while_loop, &next);
    unpack_all(cx, cx.module.results(op), &passed_likes, results)
}
