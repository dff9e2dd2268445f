//! Conversions in which the lanes of a warp store, or load, rows for each other.
//!
//! A matrix is 8 rows of 8 elements of 16 bits. Lane `l` holds of it two neighbours in row `l / 4`; or, transposed, two
//! in column `l / 4`. One instruction moves four matrices, and lane `8 i + j` names the place of row `j` of matrix `i`:
//!
//! ```text
//! holds   register: pair               | m0 m1 | …        lane: c1 c2 r0 r1 r2
//! names   register: pair c1 c2 (a row) |       | …        lane: r0 r1 r2 m0 m1
//! ```
//!
//! So memory is touched as if each lane held what it names: the way through shared memory is planned for that layout,
//! in which vectors are rows, and the steps are then given the registers that hold the parts.

use super::access::{Access, Rows};
use super::swizzle::{self, Staged};
use super::{Columns, ConvertFacts};
use crate::subspace::{Basis, rank};

/// Rows of a matrix.
pub const ROWS: u32 = 8;
/// Bytes of a row.
pub const ROW_BYTES: u32 = 16;
/// Bytes of a row that one lane holds.
pub const LANE_BYTES: u32 = 4;
/// Lanes that hold a matrix: those of a warp.
pub const LANES: u32 = ROWS * ROW_BYTES / LANE_BYTES;

/// Bits of the elements that matrices are of.
const ELEMENT_BITS: u32 = 16;
/// Elements of a row.
const ROW: u32 = 8 * ROW_BYTES / ELEMENT_BITS;
/// Bits of the number of a lane: two beside each other, and the row.
pub const LANE_BITS: usize = LANES.trailing_zeros() as usize;

/// A layout as its lanes name it.
struct Named {
    columns: Columns,
    transposed: bool,
    /// Bits of the number of a register that choose between matrices.
    matrices: [usize; 2],
    /// The others, but for the first, which is the pair.
    others: Vec<usize>,
}

impl Named {
    /// The layout as named by lanes, where rows are what lanes of the other side hold whole. The matrices of an
    /// instruction are those that follow each other in registers, or those beside each other on the other side.
    fn of(held: &Columns, other: &Columns, transposed: bool, in_order: bool) -> Option<Named> {
        let &[c1, c2, r0, r1, r2] = held.lane.first_chunk::<LANE_BITS>()?;
        let &pair = held.register.first()?;
        let (row, rows) =
            if transposed { ([r0, r1, r2], [pair, c1, c2]) } else { ([pair, c1, c2], [r0, r1, r2]) };
        let theirs = Basis::of(&other.register);
        let in_warp = [&held.register[..], &held.lane].concat();
        let is_whole = row.iter().all(|&column| theirs.holds(column));
        if held.lane.len() != LANE_BITS || !is_whole || rank(&in_warp) as usize != in_warp.len() {
            return None;
        }
        // What neighbouring lanes of the other side hold stands side by side: matrices there share a base.
        let beside = Basis::of(&other.lane);
        let mut bits: Vec<usize> = (1..held.register.len()).collect();
        bits.sort_by_key(|&bit| !in_order && !beside.holds(held.register[bit]));
        let matrices = *bits.first_chunk::<2>()?;
        let mut others = bits.split_off(matrices.len());
        others.sort_unstable();
        let column = |bit: &usize| held.register[*bit];
        let columns = Columns {
            register: row.into_iter().chain(others.iter().map(column)).collect(),
            lane: rows.into_iter().chain(matrices.iter().map(column)).collect(),
            warp: held.warp.clone(),
            block: held.block.clone(),
        };
        Some(Named { columns, transposed, matrices, others })
    }

    /// Gives the steps of an access the registers that hold what they move: pair after pair, one for each matrix.
    /// `None` where a step is not a row.
    fn hold(&self, access: Access) -> Option<Access> {
        let mut access = access;
        if access.copies != 0 || access.vector != ROW || !access.far.is_empty() {
            return None;
        }
        for step in &mut access.steps {
            let start = *step.registers.first()?;
            if step.far != 0 || !step.registers.iter().copied().eq(start..start + ROW) {
                return None;
            }
            let start = spread(start / ROW, &self.others);
            let [m0, m1] = self.matrices;
            step.registers = (0..ROW).map(|part| start | part & 1 | spread(part >> 1, &[m0, m1])).collect();
        }
        access.same = (0..access.same.len() as u32).collect();
        access.by_rows = Some(Rows { transposed: self.transposed });
        Some(access)
    }
}

/// The bits of a number, put at places.
fn spread(number: u32, places: &[usize]) -> u32 {
    places.iter().enumerate().fold(0, |word, (at, place)| word | (number >> at & 1) << place)
}

/// The ways in which one side, or both, go by rows.
pub(super) fn plans(src: &Columns, dst: &Columns, element_bits: u32, facts: &ConvertFacts) -> Vec<Staged> {
    if element_bits != ELEMENT_BITS {
        return Vec::new();
    }
    let ways = |held: &Columns, other: &Columns, can: bool| -> Vec<Named> {
        let each = [(false, false), (true, false), (false, true), (true, true)];
        each.into_iter()
            .filter(|_| can)
            .filter_map(|(turned, in_order)| Named::of(held, other, turned, in_order))
            .collect()
    };
    let mut plans = Vec::new();
    for named in ways(src, dst, facts.stores_rows) {
        let staged = swizzle::plan(&named.columns, dst, element_bits, facts).ok();
        plans.extend(
            staged.and_then(|staged| Some(Staged { store: named.hold(staged.store.clone())?, ..staged })),
        );
    }
    for named in ways(dst, src, facts.loads_rows) {
        let staged = swizzle::plan(src, &named.columns, element_bits, facts).ok();
        plans.extend(
            staged.and_then(|staged| Some(Staged { load: named.hold(staged.load.clone())?, ..staged })),
        );
    }
    plans
}
