//! Reductions of short rows, whose lanes are combined four rows at a time.
//!
//! At the end of a row, its partial result is a vector whose lanes are combined in steps of half as many each, where
//! each step waits for the one before and most of its lanes are idle. Where rows are short, that takes as long as the
//! rest of the row. Partial results then go to scratch memory, and behind all rows the lanes of four of them are
//! combined side by side: neighbours are interleaved, so that each step works on whole vectors.

use super::chunk::Chunks;
use super::combine;
use super::emitter::RowFold;
use super::error::Result;
use super::nest::Run;
use super::scratch::Buffer;
use super::types;
use super::value::{Index, Lanes, Linear};
use ir::Op;
use llir::Value;

/// Rows whose lanes are combined side by side: as many as a 16-byte part of a register has elements of four bytes.
const SIDE_BY_SIDE: i64 = 4;

/// The most vectors of a row that count as few.
const SHORT_ROW: i64 = 8;

/// The most bytes of partial results: they must stay in the nearest cache beside what is reduced.
const MOST_BYTES: i64 = 8 << 10;

impl Chunks<'_, '_> {
    /// Leaves the lanes of a row's partial result for later, if that pays; answers whether it did.
    pub(crate) fn put_off(
        &mut self,
        run: &Run<'_>,
        op: Op,
        results: &[Buffer],
        values: &[Value],
    ) -> Result<bool> {
        let ([result], &[value]) = (results, values) else { return Ok(false) };
        if combine::keeps_order(self.module, op) {
            return Ok(false);
        }
        let [rows, columns] = &run.nest.loops[..] else { return Ok(false) };
        let ty = self.b.ty(value);
        // A chunk may be several registers.
        let lanes = ty.lanes().min(self.machine.lanes());
        let width = i64::from(lanes);
        let is_short = columns.end <= SHORT_ROW * width;
        let is_plain = ty.lane() == types::memory(result.elem) && ty.lane_bytes() == 4;
        let fits = rows.end * width * 4 <= MOST_BYTES;
        let is_even = rows.step == 1 && rows.end % SIDE_BY_SIDE == 0 && width >= 2 * SIDE_BY_SIDE;
        if !(run.nest.vector == 1 && is_short && is_plain && fits && is_even) {
            return Ok(false);
        }
        let folded = self.fold_to(op, vec![value], lanes)?;
        let partials = self.arena.block(&[rows.end, width], result.elem);
        let row = Index::Known(run.linears[rows.dim].clone(), Lanes::uniform(lanes));
        let at = self.at(vec![row, Index::Known(Linear::default(), each_lane(lanes))]);
        self.of_lanes(lanes).write(&partials, folded[0], &at);
        let fold = RowFold { op, partials, result: result.clone(), rows: rows.end, lanes };
        self.row_folds.push(fold);
        Ok(true)
    }

    /// Combines the lanes that were left.
    pub(crate) fn fold_rows(&mut self) -> Result<()> {
        for fold in std::mem::take(&mut self.row_folds) {
            self.fold_rows_of(&fold).map_err(|error| error.at(self.module, fold.op))?;
        }
        Ok(())
    }

    fn fold_rows_of(&mut self, fold: &RowFold) -> Result<()> {
        let [start, end, step] = [0, fold.rows, SIDE_BY_SIDE].map(|number| self.b.i64(number));
        let opened = self.b.begin_for(start, end, step, &[]);
        let first = Linear::counter(self.counted_loop(SIDE_BY_SIDE, fold.rows, opened.iv));
        let rows: Vec<Value> = (0..SIDE_BY_SIDE)
            .map(|number| {
                let linear = first.add(&Linear::constant(number));
                let row = Index::Known(linear, Lanes::uniform(fold.lanes));
                let at = self.at(vec![row, Index::Known(Linear::default(), each_lane(fold.lanes))]);
                let (base, elem) = (self.address(&fold.partials), fold.partials.elem);
                let mut chunks = self.of_lanes(fold.lanes);
                let read = chunks.read(base, elem, &fold.partials.strides, &at);
                chunks.vector(&read, elem)
            })
            .collect();
        // Two of one row, two of the next in each part; then one of each of four rows.
        let pairs = [[rows[0], rows[1]], [rows[2], rows[3]]];
        let mut halves = Vec::new();
        for pair in pairs {
            halves.push(self.combine_neighbours(fold.op, pair, 1)?);
        }
        let fours = self.combine_neighbours(fold.op, [halves[0], halves[1]], 2)?;
        let folded = self.fold_to(fold.op, vec![fours], SIDE_BY_SIDE as u32)?;
        let lanes = SIDE_BY_SIDE as u32;
        let at = self.at(vec![Index::Known(first, each_lane(lanes))]);
        self.of_lanes(lanes).write(&fold.result, folded[0], &at);
        self.b.end_for(opened, &[]);
        Ok(())
    }

    /// Combines the halves of each part of two vectors, interleaved in units of so many elements.
    fn combine_neighbours(&mut self, op: Op, [a, b]: [Value; 2], unit: i32) -> Result<Value> {
        let (lanes, part) = (self.b.ty(a).lanes() as i32, SIDE_BY_SIDE as i32);
        let args: Vec<Value> = [0, part / 2]
            .into_iter()
            .map(|half| {
                let mut mask = Vec::new();
                for start in (half..lanes).step_by(part as usize) {
                    for piece in (start..start + part / 2).step_by(unit as usize) {
                        mask.extend(piece..piece + unit);
                        mask.extend(lanes + piece..lanes + piece + unit);
                    }
                }
                self.b.shuffle(a, b, &mask)
            })
            .collect();
        let combined = self.combine(self.module.entry_of(op), &args)?;
        Ok(self.spread_like(combined[0], a))
    }
}

/// 0, 1, 2, … for so many lanes.
fn each_lane(lanes: u32) -> Lanes {
    Lanes((0..i64::from(lanes)).collect())
}
