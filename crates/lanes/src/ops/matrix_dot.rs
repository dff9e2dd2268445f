//! Dots by matrix instructions of one warp: operands and result in registers.
//!
//! Which registers an instruction takes is a list that the encoding of the result gives: of pairs of elements
//! (`Encoding::Mma` of version 2, here) or of runs ([`super::fragment_dot`]). Along k, tile after tile is added, so
//! that instructions next to each other do not wait for each other. Dots of several warps are the target's
//! ([`crate::LaneTarget::handler`]).

use super::fragment_dot::{self, Instruction, Registers, STRANGER};
use crate::context::Cx;
use crate::error::Result;
use crate::pairs::{Offsets, accumulator_fragment, column_fragment, row_fragment};
use crate::positions::Positions;
use crate::target::Overflow;
use ir::{Op, Type, Value as IrValue};
use llir::{Value, Values};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttgir::{Encoding, FragmentKind, Machine, MatrixKind, MatrixRow};
use ttir::ops::constant::splat_bits;

/// Lowers a dot of a, b and the sums.
pub(super) fn lower(cx: &mut Cx<'_>, op: Op, operands: [IrValue; 3]) -> Result<()> {
    let types = operands.map(|operand| cx.module.ty(operand));
    let layouts = [cx.layout(types[0])?, cx.layout(types[1])?, cx.layout(types[2])?];
    let positions = [0, 1, 2].map(|index| Positions::of(&layouts[index]));
    let machine = cx.target.machine();
    let elements = types.map(ttir::types::elem);
    let mut transposed = false;
    let found = match Encoding::of(types[2]) {
        Some(Encoding::Fragments(fragments)) => {
            transposed = fragments.transposed;
            fragment_dot::find_row(machine, fragments, elements).and_then(|row| {
                let factors = [&*layouts[0], &*layouts[1]];
                Ok((row, fragment_dot::instructions(row, fragments, factors, &positions)?))
            })
        }
        _ => find_row(machine, elements).and_then(|row| Ok((row, of_pairs(row, &positions)?))),
    };
    let (row, instructions) = found.map_err(|message| cx.error(op, message))?;
    let missing = || cx.error(op, format!("the target does not emit {row}"));
    let blocks = instructions.iter().filter_map(|instruction| instruction.block).max();
    // One way to multiply, or one for each block.
    let ways: Option<Vec<_>> = match blocks {
        None => {
            let overflow = overflow(cx, operands[2], positions[0].sizes()[2]);
            cx.target.multiplier(row, overflow).map(|way| vec![way])
        }
        Some(last) => (0..=last).map(|block| cx.target.block_multiplier(row, block)).collect(),
    };
    let ways = ways.ok_or_else(missing)?;
    let factors = [cx.registers(operands[0])?, cx.registers(operands[1])?];
    let mut sums = cx.registers(operands[2])?.to_vec();
    // The last result for a tile. It may be larger than the tensor: what lies beyond goes from step to step as well, so
    // that an instruction finds all its sums where the one before it left them.
    let mut tiles: FxHashMap<Registers, Values> = FxHashMap::default();
    for instruction in instructions {
        let pick = |from: &[Value], which: &Registers| -> SmallVec<[Value; 16]> {
            which.iter().map(|at| from[*at as usize]).collect()
        };
        let [a, b] = [0, 1].map(|index| pick(&factors[index], &instruction.factors[index]));
        let old = tiles
            .remove(&instruction.sums)
            .unwrap_or_else(|| pick(&sums, &instruction.sums).into_iter().collect());
        let multiply = &ways[instruction.block.unwrap_or(0) as usize];
        let new = multiply(&mut cx.b, if transposed { [&b, &a] } else { [&a, &b] }, &old);
        let new = new.ok_or_else(|| cx.error(op, format!("registers do not fit {row}")))?;
        tiles.insert(instruction.sums, new);
    }
    for (at, value) in tiles.iter().flat_map(|(registers, values)| registers.iter().zip(values)) {
        sums[*at as usize] = *value;
    }
    positions[2].copy_repeated(&mut sums);
    cx.set_registers(op, sums);
    Ok(())
}

/// The instruction for element types of a, b and the sum whose lanes hold pairs.
fn find_row(machine: &Machine, [a, b, c]: [Type; 3]) -> std::result::Result<&'static MatrixRow, String> {
    let pairs = |row: &&MatrixRow| row.kind == MatrixKind::Warp && row.fragments == FragmentKind::Pairs;
    machine.matrix_rows(a, b, c).find(pairs).ok_or_else(|| {
        format!("{} has no matrix instruction of a warp that multiplies {a} and {b} into {c}", machine.name)
    })
}

/// The instructions of a dot whose lanes hold pairs.
fn of_pairs(row: &MatrixRow, positions: &[Positions; 3]) -> std::result::Result<Vec<Instruction>, String> {
    let (columns, width) = (row.n[0], 32 / row.a.bits());
    // Numbers of 64 bits are no pairs: a lane holds one of each factor.
    let (a, b) = match width {
        0 => (vec![(0, 0)], vec![(0, 0)]),
        _ => (row_fragment(row.m, 32, width), column_fragment(32, width)),
    };
    let sums = accumulator_fragment(row.m, columns);
    let find = |operand: usize, corner, offsets: &Offsets| {
        positions[operand].fragment(corner, offsets).ok_or_else(|| STRANGER.to_owned())
    };
    let mut list = Vec::new();
    for k in (0..positions[0].sizes()[2]).step_by(row.k as usize) {
        for corner in positions[2].corners(row.m, columns) {
            let [batch, row, column] = corner;
            let factors = [find(0, [batch, row, k], &a)?, find(1, [batch, k, column], &b)?];
            list.push(Instruction { factors, sums: find(2, corner, &sums)?, block: None });
        }
    }
    Ok(list)
}

/// Products of bytes are at most 2^14, and so many of them fit a sum that begins with zero.
const LONGEST: u32 = (1 << 17) - 1;

fn overflow(cx: &Cx<'_>, start: IrValue, k: u32) -> Overflow {
    let from_zero = cx.module.constant(start).and_then(splat_bits) == Some(0);
    if from_zero && k <= LONGEST { Overflow::Never } else { Overflow::Wraps }
}
