//! Making blocks and moving their elements between registers. No data moves between lanes here: where an operation
//! changes who holds an element, an earlier stage has put a conversion of the layout in front of it.

use super::Entry;
use crate::context::Cx;
use crate::error::Result;
use crate::value::LaneValue;
use ir::Op;
use layout::{Dim, LinearLayout};
use llir::Value;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::{
    BROADCAST, BroadcastOp, EXPAND_DIMS, ExpandDimsOp, JOIN, JoinOp, MAKE_RANGE, MakeRangeOp, RESHAPE,
    ReshapeOp, SPLAT, SPLIT, SplatOp, SplitOp, TRANS, TransOp, UNSPLAT, UnsplatOp,
};
use ttir::types::shape;

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[
    (&MAKE_RANGE, make_range),
    (&SPLAT, splat),
    (&UNSPLAT, unsplat),
    (&EXPAND_DIMS, |cx, op| {
        let axis = ExpandDimsOp::new(cx.module, op).axis();
        moved(cx, op, |position| {
            position.remove(axis);
        })
    }),
    (&BROADCAST, broadcast),
    (&RESHAPE, reshape),
    (&TRANS, trans),
    (&JOIN, join),
    (&SPLIT, split),
];

fn make_range(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let start = MakeRangeOp::new(cx.module, op).start();
    let layout = cx.layout(cx.module.ty(cx.module.result(op, 0)))?;
    let start = cx.b.i32(start);
    let positions = cx.positions(&layout);
    let registers = positions.iter().map(|position| cx.add(position[0], start)).collect();
    cx.set_registers(op, registers);
    Ok(())
}

fn splat(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let value = cx.scalar(SplatOp::new(cx.module, op).src())?;
    let count = cx.register_count(cx.module.ty(cx.module.result(op, 0)))?;
    cx.set_registers(op, vec![value; count]);
    Ok(())
}

/// Every lane holds a copy of the one element.
fn unsplat(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let registers = cx.registers(UnsplatOp::new(cx.module, op).src())?;
    cx.set_result(op, LaneValue::Scalar(registers[0]));
    Ok(())
}

/// A position in a block, one number for each dimension.
pub(crate) type Position = SmallVec<[u32; 4]>;

/// The position of each register's element, as this lane would have it with all other numbers at zero. Registers decide
/// the rest: layouts are linear.
pub(crate) fn register_positions(layout: &LinearLayout) -> Vec<Position> {
    let words = layout.along(Dim::REGISTER).into_iter();
    words.map(|word| positions_of(layout, word).collect()).collect()
}

/// The numbers of the dimensions of a packed position.
fn positions_of(layout: &LinearLayout, word: u64) -> impl Iterator<Item = u32> {
    let mut rest = word;
    layout.outs().iter().map(move |(_, bits)| {
        let at = rest & (1u64.checked_shl(bits).unwrap_or(0).wrapping_sub(1));
        rest = rest.checked_shr(bits).unwrap_or(0);
        at as u32
    })
}

/// The packed position of numbers of the dimensions; `None` where they lie outside of the block.
fn word_at(layout: &LinearLayout, position: &[u32]) -> Option<u64> {
    let (mut word, mut shift, mut count) = (0, 0, 0);
    for ((_, bits), at) in layout.outs().iter().zip(position) {
        if u64::from(*at) >> bits.min(63) != 0 {
            return None;
        }
        word |= u64::from(*at).checked_shl(shift).unwrap_or(0);
        shift += bits;
        count += 1;
    }
    (count == position.len() && count == layout.outs().iter().count()).then_some(word)
}

/// For each register of a result, the register of a source whose element stands at the position that `to_source` makes
/// of its own; `None` where the source's lane holds it not.
pub(crate) fn matching_registers(
    result: &LinearLayout,
    source: &LinearLayout,
    to_source: impl Fn(&mut Position),
) -> Vec<Option<usize>> {
    let words = source.along(Dim::REGISTER);
    let mut at: FxHashMap<u64, usize> = FxHashMap::with_capacity_and_hasher(words.len(), FxBuildHasher);
    for (register, word) in words.into_iter().enumerate() {
        at.entry(word).or_insert(register);
    }
    let own = result.along(Dim::REGISTER);
    let Some(words) = words_in_source(result, source, &own, to_source) else { return vec![None; own.len()] };
    words.into_iter().map(|word| at.get(&word).copied()).collect()
}

/// The packed positions in a source of those of all registers of a result, `own`; `None` where one lies outside.
///
/// Sizes are powers of two, and what leads to a source moves bits of a position, drops them or sets them: where each
/// bit goes alone says where all of them go together.
fn words_in_source(
    result: &LinearLayout,
    source: &LinearLayout,
    own: &[u64],
    to_source: impl Fn(&mut Position),
) -> Option<Vec<u64>> {
    let place = |word: u64| {
        let mut position: Position = positions_of(result, word).collect();
        to_source(&mut position);
        word_at(source, &position)
    };
    let zero = place(0)?;
    let mut words = Vec::with_capacity(own.len());
    words.push(zero);
    while words.len() < own.len() {
        let half = words.len();
        let bit = place(own[half])? ^ zero;
        words.extend_from_within(..);
        words[half..].iter_mut().for_each(|word| *word ^= bit);
    }
    Some(words)
}

/// Whether lanes, warps and blocks mean the same positions on both sides.
fn lanes_agree(result: &LinearLayout, source: &LinearLayout, to_source: impl Fn(&mut Position)) -> bool {
    [Dim::LANE, Dim::WARP, Dim::BLOCK].iter().all(|dim| {
        let (ours, theirs) = (result.bases(*dim), source.bases(*dim));
        ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(ours, theirs)| {
                let mut position: Position = ours.iter().map(|(_, at)| *at).collect();
                to_source(&mut position);
                position.iter().copied().eq(theirs.iter().map(|(_, at)| *at))
            })
    })
}

/// The result's registers are registers of the only operand.
fn moved(cx: &mut Cx<'_>, op: Op, to_source: impl Fn(&mut Position)) -> Result<()> {
    let of = UnaryOp::new(cx.module, op);
    let source = cx.layout(cx.module.ty(of.src()))?;
    let result = cx.layout(cx.module.ty(of.result()))?;
    let registers = cx.registers(of.src())?;
    let matching = matching_registers(&result, &source, &to_source);
    let values: Option<Vec<Value>> = matching.into_iter().map(|from| registers.get(from?).copied()).collect();
    let Some(values) = values.filter(|_| lanes_agree(&result, &source, &to_source)) else {
        return Err(cx.error(op, "the layouts of operand and result do not fit: elements would change lanes"));
    };
    cx.set_registers(op, values);
    Ok(())
}

fn broadcast(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let from = shape(cx.module.ty(BroadcastOp::new(cx.module, op).src()));
    moved(cx, op, |position| {
        for (at, size) in position.iter_mut().zip(from) {
            if *size == 1 {
                *at = 0;
            }
        }
    })
}

fn trans(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let order = TransOp::new(cx.module, op).order();
    moved(cx, op, |position| {
        let mut source = Position::from_elem(0, position.len());
        for (dim, from) in order.iter().enumerate() {
            source[*from as usize] = position[dim];
        }
        *position = source;
    })
}

/// The element keeps its number in row-major order.
fn reshape(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = ReshapeOp::new(cx.module, op);
    let (source, result) = (shape(cx.module.ty(of.src())), shape(cx.module.ty(of.result())));
    moved(cx, op, |position| {
        let sizes = position.iter().zip(result);
        let mut number = sizes.fold(0u64, |number, (at, size)| number * *size as u64 + u64::from(*at));
        let mut at = Position::from_elem(0, source.len());
        for (at, size) in at.iter_mut().zip(source).rev() {
            *at = (number % *size as u64) as u32;
            number /= *size as u64;
        }
        *position = at;
    })
}

/// Registers of two operands side by side: which operand is chosen, and the position in it.
fn from_two(cx: &mut Cx<'_>, op: Op, choose: impl Fn(&mut Position) -> usize) -> Result<()> {
    let of = JoinOp::new(cx.module, op);
    let result = cx.layout(cx.module.ty(of.result()))?;
    let layouts = [cx.layout(cx.module.ty(of.lhs()))?, cx.layout(cx.module.ty(of.rhs()))?];
    let operands = [cx.registers(of.lhs())?, cx.registers(of.rhs())?];
    let tables = layouts.each_ref().map(|layout| {
        let mut table: FxHashMap<Position, usize> = FxHashMap::default();
        for (register, position) in register_positions(layout).into_iter().enumerate() {
            table.entry(position).or_insert(register);
        }
        table
    });
    let agree = layouts.iter().all(|layout| lanes_agree(&result, layout, |position| _ = choose(position)));
    let mut values = Vec::new();
    for mut position in register_positions(&result) {
        let which = choose(&mut position);
        match tables[which].get(&position) {
            Some(register) if agree => values.push(operands[which][*register]),
            _ => return Err(cx.error(op, "the layouts of operands and result do not fit")),
        }
    }
    cx.set_registers(op, values);
    Ok(())
}

fn join(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    from_two(cx, op, |position| position.pop().expect("a joined block has a dimension more") as usize)
}

fn split(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = SplitOp::new(cx.module, op);
    let source = cx.layout(cx.module.ty(of.src()))?;
    let registers = cx.registers(of.src())?;
    for (half, value) in [(0, of.out_lhs()), (1, of.out_rhs())] {
        if shape(cx.module.ty(value)).is_empty() {
            let found = register_positions(&source).iter().position(|position| position[0] == half);
            match found {
                Some(register) => cx.set(value, LaneValue::Scalar(registers[register])),
                None => return Err(cx.error(op, "the two elements are not in one lane")),
            }
            continue;
        }
        let result = cx.layout(cx.module.ty(value))?;
        let matching = matching_registers(&result, &source, |position| position.push(half));
        let values: Option<Vec<Value>> =
            matching.into_iter().map(|from| registers.get(from?).copied()).collect();
        match values {
            Some(values) => cx.set(value, LaneValue::tensor(values)),
            None => return Err(cx.error(op, "the two halves of an element are not in one lane")),
        }
    }
    Ok(())
}
