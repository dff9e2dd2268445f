//! Gives dots the layouts of the matrix instructions that compute them.
//!
//! ```text
//! %d = tt.dot %a, %b, %c : tensor<64x32xf16, dot_op of #blocked> * … -> tensor<64x64xf32, #blocked>
//! =>
//! %x = ttg.convert_layout %a : … -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
//! %y = ttg.convert_layout %b : … -> tensor<32x64xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>>
//! %z = ttg.convert_layout %c : … -> tensor<64x64xf32, #mma>
//! %e = tt.dot %x, %y, %z : … -> tensor<64x64xf32, #mma>
//! %d = ttg.convert_layout %e : … -> tensor<64x64xf32, #blocked>
//! ```
//!
//! Where warp groups multiply from shared memory the operands are put there (`ttg.local_alloc`) and the dot becomes
//! `ttng.warp_group_dot`; its left operand may come from registers, as the result of an earlier dot does. Dots that no
//! instruction fits keep their blocked layout and are made by multiply-and-add. The conversions made here are where
//! layouts meet, not where data will move: `assign-layouts` decides that next.

mod chain;
mod operands;
mod runs;
mod scaled;
mod select;
mod tiles;
mod transposed;

pub(crate) use operands::swizzled;
pub(crate) use scaled::fits as fits_scaled;
pub use select::no_matrix_instruction;

use super::context::Context;
use crate::ops::group_dot::{WARP_GROUP_DOT, WarpGroupDotOp};
use crate::ops::scaled_dot::SCALED_DOT;
use crate::{Encoding, FragmentKind, MatrixKind, MatrixRow};
use ir::pass::PassRow;
use ir::{Builder, Diagnostic, Module, Op, Type, Value};
use select::Selected;
use ttir::ops::arith_cast::{EXTF, FP_TO_FP, TRUNCF};
use ttir::ops::dot::{DOT, DotOp};
use ttir::types::{elem, shape, with_elem};

/// Gives dots the layouts of matrix instructions.
pub static ACCELERATE_DOTS: PassRow = PassRow {
    name: "accelerate-dots",
    doc: "Gives dots the layouts of the machine's matrix instructions.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let plain: Vec<Op> = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &DOT)).collect();
    transposed::transpose_all(module, &plain, &context);
    let is_open = |op: &Op| module.is(*op, &DOT) || module.is(*op, &SCALED_DOT);
    let dots: Vec<Op> = module.walk(module.top()).into_iter().filter(is_open).collect();
    // Decided for all before any is changed: chains are seen whole.
    let selected: Vec<(Op, Selected)> =
        dots.into_iter().filter_map(|op| Some((op, select::select(module, op, &context)?))).collect();
    for (op, selected) in selected {
        match selected.row.kind {
            MatrixKind::Warp if module.is(op, &SCALED_DOT) => {
                scaled::by_warp(module, op, &selected, &context)
            }
            MatrixKind::Warp => {
                let layout = warp_layout(module, op, &selected, &context);
                by_warp(module, op, &selected, &layout);
            }
            MatrixKind::Group => by_group(module, op, &selected),
        }
    }
    Ok(())
}

/// The same dot of other operands.
fn same_dot(builder: &mut Builder<'_>, op: Op, operands: [Value; 3], ty: Type) -> Value {
    let dot = DotOp::new(builder.module, op);
    let attrs = DotOp::attrs(dot.input_precision(), dot.max_imprecise());
    builder.build_as(&DOT, &operands, &attrs, ty)
}

/// An operand as the numbers that the instruction multiplies.
fn as_numbers(builder: &mut Builder<'_>, value: Value, to: Type) -> Value {
    let ty = builder.module.ty(value);
    let from = elem(ty);
    if from == to {
        return value;
    }
    let row = if from.scalar_bits() == Some(8) { &FP_TO_FP } else { &EXTF };
    builder.build_as(row, &[value], &[], with_elem(ty, to))
}

/// The layouts of a dot by an instruction of one warp.
struct WarpLayout {
    /// That of the result.
    result: Encoding,
    /// Neighbouring elements along k that a lane has of a and of b.
    k_width: [u32; 2],
}

fn operand_encoding(op_idx: u32, parent: &Encoding, k_width: u32) -> Encoding {
    Encoding::DotOp { op_idx, parent: Box::new(parent.clone()), k_width }
}

/// Neighbours that fill a register of 32 bits.
fn pair_widths(row: &MatrixRow) -> [u32; 2] {
    [row.a, row.b].map(|number| (32 / number.bits()).max(1))
}

/// Hands the result of a new dot to the users of the old one, in the old layout.
fn replace(module: &mut Module, op: Op, dot: Value) {
    let old = module.result(op, 0);
    let (ty, name) = (module.ty(old), module.name(old).map(str::to_owned));
    let mut builder = Builder::before(module, op);
    let result = match Encoding::of(ty) {
        Some(encoding) => operands::convert(&mut builder, dot, encoding),
        None => dot,
    };
    if let Some(name) = name {
        module.set_name(dot, &name);
    }
    module.replace_uses(old, result);
    module.erase(op);
}

fn warp_layout(module: &Module, op: Op, selected: &Selected, context: &Context) -> WarpLayout {
    let row = selected.row;
    if let FragmentKind::Runs { version, k_base } = row.fragments {
        let dot = DotOp::new(module, op);
        return runs::layout(module, (op, [dot.a(), dot.b()]), selected, context, [version, k_base]);
    }
    let rank = selected.warps.len();
    let mut instr_shape = vec![1; rank];
    instr_shape[rank - 2..].copy_from_slice(&[select::TILE_ROWS.max(row.m), selected.columns as u32]);
    let result = Encoding::Mma {
        version: [2, 0],
        warps_per_cta: selected.warps.clone(),
        cga: selected.cga.clone(),
        instr_shape,
    };
    WarpLayout { result, k_width: pair_widths(row) }
}

fn by_warp(module: &mut Module, op: Op, selected: &Selected, layout: &WarpLayout) {
    let row = selected.row;
    let parent = &layout.result;
    let dot = DotOp::new(module, op);
    let attrs = DotOp::attrs(dot.input_precision(), dot.max_imprecise());
    let (a, b, c) = (dot.a(), dot.b(), dot.c());
    let mut builder = Builder::before(module, op);
    let mut values = Vec::new();
    for (op_idx, value, number) in [(0, a, row.a), (1, b, row.b)] {
        let value = operands::behind_conversions(builder.module, value);
        let value = as_numbers(&mut builder, value, number.ty());
        let encoding = operand_encoding(op_idx, parent, layout.k_width[op_idx as usize]);
        values.push(operands::convert(&mut builder, value, &encoding));
    }
    let sum = operands::convert(&mut builder, c, parent);
    let narrow = builder.module.ty(sum);
    values.push(as_numbers(&mut builder, sum, row.c.ty()));
    let mut dot = builder.build(&DOT, &values, &attrs);
    if builder.module.ty(dot) != narrow {
        dot = builder.build_as(&TRUNCF, &[dot], &[], narrow);
    }
    replace(module, op, dot);
}

fn by_group(module: &mut Module, op: Op, selected: &Selected) {
    let row = selected.row;
    let parent = Encoding::Mma {
        version: [3, 0],
        warps_per_cta: selected.warps.clone(),
        cga: selected.cga.clone(),
        instr_shape: vec![16, selected.columns as u32, row.k],
    };
    let dot = DotOp::new(module, op);
    let attrs = WarpGroupDotOp::attrs(dot.input_precision(), false, dot.max_imprecise());
    let (a, b, c) = (dot.a(), dot.b(), dot.c());
    // What would have to be turned on the way to shared memory comes from registers, if it can.
    let must_turn = !row.any_major && operands::natural_order(module, a)[0] == 0;
    let by_words = must_turn && select::comes_in_words(row);
    let in_shared = !row.a_in_registers || operands::is_as_loaded(module, op, a) && !by_words;
    let mut builder = Builder::before(module, op);
    let left = if in_shared {
        operands::to_shared(&mut builder, a, row.any_major, &operands::Side { op_idx: 0, result: &parent })
    } else {
        let value = operands::behind_conversions(builder.module, a);
        operands::convert(&mut builder, value, &operand_encoding(0, &parent, pair_widths(row)[0]))
    };
    let right =
        operands::to_shared(&mut builder, b, row.any_major, &operands::Side { op_idx: 1, result: &parent });
    let sum = operands::convert(&mut builder, c, &parent);
    let dot = builder.build(&WARP_GROUP_DOT, &[left, right, sum], &attrs);
    debug_assert_eq!(shape(builder.module.ty(dot)).len(), 2);
    replace(module, op, dot);
}
