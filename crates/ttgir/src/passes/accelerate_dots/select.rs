//! Which matrix instruction makes a dot.

use super::{chain, tiles};
use crate::passes::context::Context;
use crate::{MatrixKind, MatrixRow, Number};
use ir::{FloatKind, Module, Op, Type};
use ttir::ops::dot::INPUT_PRECISION;
use ttir::types::{elem, shape};

/// Rows of a tile of a warp: two instructions where one has only eight.
pub(super) const TILE_ROWS: u32 = 16;

/// An instruction, and how warps share the result.
pub(super) struct Selected {
    /// The instruction.
    pub(super) row: &'static MatrixRow,
    /// Columns of one instruction.
    pub(super) columns: i64,
    /// Warps along each dimension.
    pub(super) warps: Vec<u32>,
}

/// The best instruction that fits a dot.
pub(super) fn select(module: &Module, op: Op, context: &Context) -> Option<Selected> {
    let [a, b, c] = [0, 1, 2].map(|slot| module.ty(module.operand(op, slot)));
    let dims = shape(c);
    let rank = dims.len();
    let k = shape(a)[rank - 1];
    let types = [elem(a), elem(b), elem(c)];
    let exact = wants_exact(module, op);
    let warps = context.config.num_warps;
    let chained = chain::is_chained(module, op);
    for [a, b, c] in candidates(types) {
        for row in context.machine.matrix_rows(a, b, c) {
            let tf32 = row.a == Number::Tf32 || row.b == Number::Tf32;
            let step = i64::from(row.k.max(8 * (32 / row.a.bits()).max(1)));
            if (tf32 && exact) || k % step != 0 {
                continue;
            }
            // Operands in shared memory cannot be widened on the way.
            if row.kind == MatrixKind::Group && [a, b] != types[..2] {
                continue;
            }
            if let Some((columns, warps)) = fit(row, dims, warps, chained) {
                return Some(Selected { row, columns, warps });
            }
        }
    }
    None
}

/// Whether 32-bit floats may not lose bits.
fn wants_exact(module: &Module, op: Op) -> bool {
    let case = module.attr(op, 0).and_then(|attr| attr.as_enum(&INPUT_PRECISION));
    case.and_then(|case| INPUT_PRECISION.keyword(case)) == Some("ieee")
}

/// The types as they are; then operands widened to a format that holds both.
fn candidates([a, b, c]: [Type; 3]) -> Vec<[Type; 3]> {
    let mut all = vec![[a, b, c]];
    let small = |ty: Type| ty.as_float().is_some_and(|kind| kind.bits() == 8);
    let half = Type::float(FloatKind::F16);
    let fits = |ty: Type| small(ty) || ty == half;
    if (small(a) || small(b)) && fits(a) && fits(b) {
        all.push([half, half, c]);
    }
    all
}

fn fit(row: &MatrixRow, dims: &[i64], warps: u32, chained: bool) -> Option<(i64, Vec<u32>)> {
    let rank = dims.len();
    let (rows, columns) = (dims[rank - 2], dims[rank - 1]);
    match row.kind {
        MatrixKind::Group => {
            let fits = rank == 2 && warps.is_multiple_of(row.warps) && rows % 64 == 0 && columns % 8 == 0;
            let n = tiles::group_columns(dims, warps);
            (fits && row.n.contains(&(n as u32))).then(|| (n, tiles::group_warps(dims, warps, chained)))
        }
        MatrixKind::Warp => {
            let n = i64::from(*row.n.iter().filter(|&&n| i64::from(n) <= columns).max()?);
            let tile = i64::from(TILE_ROWS.max(row.m));
            (rows >= tile).then(|| (n, tiles::warps(dims, [tile, n], warps, chained)))
        }
    }
}
