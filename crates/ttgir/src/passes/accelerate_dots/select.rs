//! Which matrix instruction computes a dot.

use super::{chain, tiles};
use crate::module::matrix_size;
use crate::ops::scaled_dot::{ScaledDotOp, elements_of_a_byte};
use crate::passes::context::Context;
use crate::{BasisList, FragmentKind, MatrixKind, MatrixRow, Number, shape_per_block};
use ir::{FloatKind, Module, Op, Type};
use ttir::ops::dot::{InputPrecision, MatmulOp};
use ttir::types::{elem, shape};

/// Rows of a tile of a warp: two instructions where one has only eight.
pub(super) const TILE_ROWS: u32 = 16;

/// An instruction, and how warps share the result.
pub(super) struct Selected {
    /// The instruction.
    pub(super) row: &'static MatrixRow,
    /// Rows of one instruction's result.
    pub(super) rows: i64,
    /// Its columns.
    pub(super) columns: i64,
    /// Warps along each dimension.
    pub(super) warps: Vec<u32>,
    /// How blocks of a cluster share the result.
    pub(super) cga: BasisList,
}

/// Why an instruction does not compute a dot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    /// It would drop bits of 32-bit floats.
    Inexact,
    /// The sums are not of whole steps of so many.
    Depth(i64),
    /// Operands in shared memory cannot be widened on the way.
    Widened,
    /// The block or the number of warps does not fit its tiles.
    Tile,
}

/// A dot as instructions see it.
struct Question {
    /// The part of a block of the cluster.
    dims: Vec<i64>,
    cga: BasisList,
    k: i64,
    types: [Type; 3],
    exact: bool,
    warps: u32,
    lanes: u32,
    chained: bool,
    /// The size of instruction that is asked for, if one is.
    size: Option<u32>,
}

impl Question {
    fn of(module: &Module, op: Op, context: &Context) -> Question {
        let [a, b, c] = [0, 1, 2].map(|slot| module.ty(module.operand(op, slot)));
        let dims = shape(c);
        let chained = chain::is_chained(module, op);
        let cga = tiles::split(dims, context.config.num_ctas, chained);
        Question {
            dims: shape_per_block(&cga, dims),
            cga,
            k: shape(a)[dims.len() - 1],
            types: [elem(a), elem(b), elem(c)],
            exact: wants_exact(module, op),
            warps: context.config.num_warps,
            lanes: context.machine.warp_size,
            chained,
            size: matrix_size(module),
        }
    }

    /// How an instruction for operands of these types computes the dot.
    fn answer(&self, row: &'static MatrixRow, [a, b]: [Type; 2]) -> Result<Selected, Refusal> {
        let tf32 = row.a == Number::Tf32 || row.b == Number::Tf32;
        let step = i64::from(match row.fragments {
            FragmentKind::Pairs => row.k.max(8 * (32 / row.a.bits()).max(1)),
            FragmentKind::Runs { .. } => row.k,
        });
        if tf32 && self.exact {
            return Err(Refusal::Inexact);
        }
        if self.k % step != 0 {
            return Err(Refusal::Depth(step));
        }
        if row.kind == MatrixKind::Group && [a, b] != self.types[..2] {
            return Err(Refusal::Widened);
        }
        if !self.has_bases(row) {
            return Err(Refusal::Tile);
        }
        let ([rows, columns], warps) = fit(row, &self.dims, self.warps, self.chained).ok_or(Refusal::Tile)?;
        Ok(Selected { row, rows, columns, warps, cga: self.cga.clone() })
    }

    /// Whether the encoding of the result says how many dimensions it has: for runs in warps of 32 lanes it is written
    /// by the bases of warps and blocks, of which there are none where there is one of each.
    fn has_bases(&self, row: &MatrixRow) -> bool {
        let by_bases = matches!(row.fragments, FragmentKind::Runs { .. }) && self.lanes == 32;
        !by_bases || self.dims.len() == 2 || self.warps > 1 || !self.cga.is_empty()
    }

    /// What each instruction for these types says, better ones first.
    fn answers(&self, context: &Context) -> impl Iterator<Item = Result<Selected, Refusal>> {
        let machine = context.machine;
        candidates(self.types).into_iter().flat_map(move |[a, b, c]| {
            let mut rows: Vec<_> = machine.matrix_rows(a, b, c).collect();
            rows.sort_by_key(|row| self.penalty(row));
            rows.into_iter().map(move |row| self.answer(row, [a, b]))
        })
    }

    /// What speaks against an instruction where others are there too: it multiplies a few rows with many columns;
    /// another size is asked for; warps would be left without a tile.
    fn penalty(&self, row: &MatrixRow) -> (bool, bool, bool) {
        if row.fragments == FragmentKind::Pairs {
            return (false, false, false);
        }
        let tiles = self.dims.iter().product::<i64>() / i64::from(row.m * row.n[0]);
        (row.is_narrow(), self.size.is_some_and(|size| row.m != size), tiles < i64::from(self.warps))
    }
}

/// The best instruction that fits a dot.
pub(super) fn select(module: &Module, op: Op, context: &Context) -> Option<Selected> {
    if let Some(dot) = ScaledDotOp::of(module, op) {
        return scaled(module, dot, context);
    }
    Question::of(module, op, context).answers(context).find_map(Result::ok)
}

/// Whether warp groups compute a dot only of operands that lie along k, the left one from registers if need be, and
/// make the transposed dot too.
pub(super) fn wants_k_fastest(module: &Module, op: Op, context: &Context) -> bool {
    let question = Question::of(module, op, context);
    let turned =
        Question { dims: question.dims.iter().rev().copied().collect(), ..Question::of(module, op, context) };
    let row =
        |question: &Question| question.answers(context).find_map(Result::ok).map(|selected| selected.row);
    let is_one = |row: &MatrixRow| row.kind == MatrixKind::Group && !row.any_major && row.a_in_registers;
    question.cga.is_empty()
        && row(&question).is_some_and(is_one)
        && row(&turned).is_some_and(|row| is_one(row) && comes_in_words(row))
}

/// Whether each element of the left operand is a register of its own, so that lanes can load it in any order.
pub(super) fn comes_in_words(row: &MatrixRow) -> bool {
    row.a.bits() == 32
}

/// The best instruction that fits a dot of scaled operands.
fn scaled(module: &Module, dot: ScaledDotOp<'_>, context: &Context) -> Option<Selected> {
    let k = shape(module.ty(dot.a()))[1] * i64::from(elements_of_a_byte(dot.a_format()));
    let question = Question { k, ..Question::of(module, dot.op, context) };
    let mut rows: Vec<_> = context.machine.scaled_matrix.iter().collect();
    rows.sort_by_key(|row| question.penalty(row));
    let types = [question.types[0], question.types[1]];
    rows.into_iter().find_map(|row| question.answer(row, types).ok())
}

/// Why no instruction computes a dot that was left as it is; `None` where one would.
pub fn no_matrix_instruction(module: &Module, op: Op) -> Option<String> {
    let context = Context::of(module).ok()?;
    let question = Question::of(module, op, &context);
    let answers: Vec<_> = question.answers(&context).collect();
    if answers.iter().any(Result::is_ok) {
        return None;
    }
    let has = |refusal: Refusal| answers.iter().any(|answer| answer.as_ref().err() == Some(&refusal));
    let [a, b, c] = question.types;
    let step = answers.iter().find_map(|answer| match answer {
        Err(Refusal::Depth(step)) => Some(*step),
        _ => None,
    });
    Some(if answers.is_empty() {
        format!("the machine has no matrix instruction for {a} times {b} into {c}")
    } else if has(Refusal::Inexact) {
        "matrix instructions drop bits of 32-bit floats, and input_precision is \"ieee\": \"tf32\" or \"tf32x3\" \
         would allow them"
            .into()
    } else if let Some(step) = step {
        format!("sums of {} elements are no whole number of steps of {step}", question.k)
    } else {
        format!(
            "a block of {:?} with {} warps is smaller than the tiles of any",
            question.dims, question.warps
        )
    })
}

/// Whether 32-bit floats may not lose bits.
fn wants_exact(module: &Module, op: Op) -> bool {
    MatmulOp::new(module, op).input_precision() == InputPrecision::Ieee
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
    // Sums in a wider format are rounded behind the dot.
    let single = Type::float(FloatKind::F32);
    if c.as_float().is_some_and(|kind| kind.bits() == 16) {
        let wider: Vec<_> = all.iter().map(|&[a, b, _]| [a, b, single]).collect();
        all.extend(wider);
    }
    all
}

/// Rows and columns of the instruction's result, and how warps share the dot.
fn fit(row: &MatrixRow, dims: &[i64], warps: u32, chained: bool) -> Option<([i64; 2], Vec<u32>)> {
    let rank = dims.len();
    let (rows, columns) = (dims[rank - 2], dims[rank - 1]);
    match row.kind {
        MatrixKind::Group => {
            let fits = rank == 2 && warps.is_multiple_of(row.warps) && rows % 64 == 0 && columns % 8 == 0;
            let n = tiles::group_columns(dims, warps);
            let m = i64::from(row.m);
            (fits && row.n.contains(&(n as u32))).then(|| ([m, n], tiles::group_warps(dims, warps, chained)))
        }
        MatrixKind::Warp if row.is_narrow() => {
            // The result may lie the other way round: the operands change places.
            let (m, n) = (i64::from(row.m), i64::from(row.n[0]));
            let [m, n] = [[m, n], [n, m]].into_iter().find(|&[m, n]| rows >= m && columns >= n)?;
            Some(([m, n], tiles::warps(dims, [m, (n / 2).max(1)], warps, chained)))
        }
        MatrixKind::Warp => {
            let m = i64::from(row.m);
            let fitting = row.n.iter().filter(|&&n| i64::from(n) <= columns).max();
            match row.fragments {
                // Lanes beyond a smaller block hold copies.
                FragmentKind::Pairs => {
                    let n = i64::from(*fitting.or(row.n.first())?);
                    let tile = i64::from(TILE_ROWS.max(row.m));
                    let few = chained.then(|| tiles::warps_of_few_rows(dims, tile, warps)).flatten();
                    Some(([m, n], few.unwrap_or_else(|| tiles::warps(dims, [tile, n], warps, chained))))
                }
                // Tiles are as wide as they are high.
                FragmentKind::Runs { .. } => {
                    let n = i64::from(*fitting?);
                    let tile = [m, (n / 2).max(1)];
                    (rows >= m).then(|| ([m, n], tiles::warps(dims, tile, warps, chained)))
                }
            }
        }
    }
}
