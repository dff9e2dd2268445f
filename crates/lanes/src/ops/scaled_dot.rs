//! Dots of scaled operands by matrix instructions: `ttg.scaled_dot`.

use super::Entry;
use super::fragment_dot;
use crate::context::Cx;
use crate::error::Result;
use crate::positions::Positions;
use ir::Op;
use llir::Value;
use smallvec::SmallVec;
use ttgir::ops::scaled_dot::{GROUP, SCALED_DOT, ScaledDotOp, elements_of_a_byte};
use ttgir::{Encoding, Fragments, MatrixRow};

/// Rows of this file.
pub(crate) const TABLE: &[Entry] = &[(&SCALED_DOT, lower)];

fn lower(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let dot = ScaledDotOp::new(cx.module, op);
    let formats = [dot.a_format(), dot.b_format()];
    let operands = [dot.a(), dot.b(), dot.c(), dot.a_scale(), dot.b_scale()];
    let Some(Encoding::Fragments(fragments)) = Encoding::of(cx.module.ty(dot.d())) else {
        return Err(cx.error(op, "the result is not that of a matrix instruction"));
    };
    let row = row(cx, fragments).map_err(|message| cx.error(op, message))?;
    let mut positions = SmallVec::<[Positions; 5]>::new();
    for operand in operands {
        positions.push(Positions::of(&*cx.layout(cx.module.ty(operand))?));
    }
    let Ok(positions) = positions.into_inner() else { unreachable!("five were pushed") };
    let runs = formats.map(|format| (GROUP / elements_of_a_byte(format)) as usize);
    let instructions = fragment_dot::scaled_instructions(fragments, &positions, runs)
        .map_err(|message| cx.error(op, message))?;
    let in_order =
        |[a, b]: [ttir::ops::dot::ScaleType; 2]| if fragments.transposed { [b, a] } else { [a, b] };
    let multiply = cx.target.scaled_multiplier(row, in_order(formats));
    let multiply = multiply.ok_or_else(|| cx.error(op, format!("the target does not emit {row}")))?;
    let [a, b] = [cx.registers(operands[0])?, cx.registers(operands[1])?];
    let [x, y] = [cx.registers(operands[3])?, cx.registers(operands[4])?];
    let mut sums = cx.registers(operands[2])?.to_vec();
    for instruction in instructions {
        let pick = |from: &[Value], which: &[u32]| -> SmallVec<[Value; 32]> {
            which.iter().map(|at| from[*at as usize]).collect()
        };
        let plain = &instruction.plain;
        let mut factors = [pick(&a, &plain.factors[0]), pick(&b, &plain.factors[1])];
        let mut scales = [x[instruction.scales[0] as usize], y[instruction.scales[1] as usize]];
        if fragments.transposed {
            factors.reverse();
            scales.reverse();
        }
        let old = pick(&sums, &plain.sums);
        let new = multiply(&mut cx.b, [&factors[0], &factors[1]], scales, &old);
        let new = new.ok_or_else(|| cx.error(op, format!("registers do not fit {row}")))?;
        for (at, value) in plain.sums.iter().zip(new) {
            sums[*at as usize] = value;
        }
    }
    positions[2].copy_repeated(&mut sums);
    cx.set_registers(op, sums);
    Ok(())
}

/// The instruction of a size.
fn row(cx: &Cx<'_>, fragments: &Fragments) -> std::result::Result<&'static MatrixRow, String> {
    let machine = cx.target.machine();
    let size = |row: &MatrixRow| [row.m, row.n[0], row.k];
    let rows: &'static [MatrixRow] = machine.scaled_matrix;
    rows.iter().find(|row| size(row)[..] == fragments.instr_shape[..]).ok_or_else(|| {
        format!("{} has no matrix instruction of {:?} with scales", machine.name, fragments.instr_shape)
    })
}
