//! Dots of scaled blocks by the instruction for them.
//!
//! A lane gives each instruction 32 numbers along k of one row (column), and their scale. So an operand has runs of 32
//! numbers, and its scales lie as an operand of k / 32 elements with runs of one would.

use super::select::Selected;
use super::{operand_encoding, operands, replace, runs};
use crate::ops::scaled_dot::{GROUP, SCALED_DOT, ScaledDotOp, elements_of_a_byte};
use crate::passes::context::Context;
use crate::{Encoding, FragmentKind, Fragments, Machine, MatrixRow, infer};
use ir::{Builder, Module, Op};
use ttir::ops::dot::InputPrecision;
use ttir::types::shape;

/// Whether a machine has an instruction for scaled blocks of so many rows and columns and sums of so many numbers.
pub(crate) fn fits(machine: &Machine, [m, n, k]: [i64; 3]) -> bool {
    let is_whole =
        |row: &MatrixRow| m >= i64::from(row.m) && n >= i64::from(row.n[0]) && k % i64::from(row.k) == 0;
    machine.scaled_matrix.iter().any(is_whole)
}

/// Gives a dot the layouts of its instruction.
pub(super) fn by_warp(module: &mut Module, op: Op, selected: &Selected, context: &Context) {
    let FragmentKind::Runs { version, .. } = selected.row.fragments else {
        unreachable!("instructions for scaled operands deal out runs")
    };
    let fragments = runs::fragments(selected, context, version);
    let parent = Encoding::Fragments(fragments.clone());
    let dot = ScaledDotOp::new(module, op);
    let formats = [dot.a_format(), dot.b_format()];
    let factors = [dot.a(), dot.b()];
    let scales = [dot.a_scale(), dot.b_scale()];
    let sum = dot.c();
    let mut builder = Builder::before(module, op);
    let mut values = Vec::with_capacity(5);
    for (op_idx, value) in (0..).zip(factors) {
        let value = operands::behind_conversions(builder.module, value);
        let width = GROUP / elements_of_a_byte(formats[op_idx as usize]);
        values.push(operands::convert(&mut builder, value, &operand_encoding(op_idx, &parent, width)));
    }
    values.push(operands::convert(&mut builder, sum, &parent));
    for (op_idx, value) in (0..).zip(scales) {
        let value = operands::behind_conversions(builder.module, value);
        let encoding = scale_encoding(op_idx, &fragments, shape(builder.module.ty(value)));
        values.push(operands::convert(&mut builder, value, &encoding));
    }
    let attrs = ScaledDotOp::attrs(formats[0], formats[1], InputPrecision::Ieee);
    let dot = builder.build(&SCALED_DOT, &values, &attrs);
    replace(module, op, dot);
}

/// How lanes hold scales, lines × groups: each the ones of the numbers that it holds.
fn scale_encoding(op_idx: u32, fragments: &Fragments, dims: &[i64]) -> Encoding {
    let operand = operand_encoding(op_idx, &Encoding::Fragments(fragments.clone()), 1);
    if op_idx == 0 {
        return Encoding::from_linear(&operand.to_linear(dims));
    }
    // The right operand is k × n, and its scales are n × k / 32.
    infer::trans(&operand, &[1, 0], &[dims[1], dims[0]]).expect("any layout can be turned")
}
