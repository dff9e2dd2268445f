//! What a scan costs in a layout.
//!
//! A lane scans neighbouring elements that it holds, a run; lanes then exchange what each run adds up to, and warps
//! what theirs do. So few long runs cost less than many short ones. Where the positions along the axis are in another
//! order than registers, lanes, warps, registers, the block is converted first, and back.

use super::bases::{Bases, strides};
use super::cost::{BARRIER, LANE_OPERATION, SHARED_BYTE, SHUFFLED_BYTE, work};
use super::layouts::{Layout, Layouts};
use ir::{Module, Op};
use ttir::ops::reduce::{CombineOp, SCAN};
use ttir::types::shape;

/// From so many totals of warps and runs on lanes share them.
const SHARED_TOTALS: u64 = 32;
/// Conditions in a run, at most, that are counted in a word: as `scan_bits` of the lowering has it.
const MOST_COUNTED: u64 = 2;

/// The layout in which all lanes of a program have an equal part of what a scan combines, each a run along its axis:
/// lanes lie across the axis, and warps where there is room, so that as few totals as possible are exchanged. `None`
/// for other operations, and where a block is too narrow for a warp to lie across.
pub(super) fn in_runs(module: &Module, op: Op, layouts: &mut Layouts) -> Option<Layout> {
    let scan = CombineOp::of(module, op).filter(|_| module.is(op, &SCAN))?;
    let (sizes, axis) = (shape(module.ty(module.result(op, 0))), scan.axis());
    if sizes.iter().product::<i64>() / sizes[axis] < layouts.lanes() {
        return None;
    }
    let mut per_lane = vec![1; sizes.len()];
    per_lane[axis] = (sizes.iter().product::<i64>() / layouts.threads()).clamp(1, sizes[axis]) as u32;
    let across = (0..sizes.len()).rev().filter(|&dim| dim != axis);
    let order: Vec<u32> = across.chain([axis]).map(|dim| dim as u32).collect();
    Some(layouts.blocked(sizes, &per_lane, &order))
}

/// A scan along a dimension with so many operations wherever two elements of so many bytes are combined; if it counts
/// conditions, lanes of a warp need not exchange.
pub(super) fn scan(
    bases: &Bases,
    shape: &[i64],
    axis: usize,
    bytes: u64,
    (operations, counts): (f64, bool),
) -> f64 {
    let axis = Axis::of(bases, shape, axis);
    let threads = (1u64 << (bases.lane.len() + bases.warp.len())) as f64;
    let (runs, bytes) = ((1u64 << (axis.kept + axis.high)) as f64, bytes as f64);
    let exchange = SHUFFLED_BYTE * bytes + 2.0 * operations * LANE_OPERATION;
    let between_lanes = match axis.lanes {
        0 => 0.0,
        _ if counts && 1 << axis.low <= MOST_COUNTED => 4.0 * LANE_OPERATION * (1u64 << axis.low) as f64,
        // What stands in front of a lane is one exchange more, and the total of all another.
        lanes => f64::from(lanes + 2) * exchange,
    };
    let totals = (1u64 << (axis.warps + axis.high)).min(SHARED_TOTALS) << axis.kept;
    let between_warps = match axis.warps {
        0 => 0.0,
        _ => BARRIER + threads * totals as f64 * (SHARED_BYTE / 2.0 * bytes + operations * LANE_OPERATION),
    };
    let size = shape.iter().product::<i64>() as f64 * bytes;
    let conversions = if axis.in_order { 0.0 } else { 2.0 * (BARRIER + SHARED_BYTE * size) };
    threads * runs * between_lanes + between_warps + conversions + work(bases, 2.0 * operations)
}

/// Where the bits of the position along the axis are.
struct Axis {
    /// Bits of the register number that are no part of it.
    kept: u32,
    /// The lowest bits of the position, in registers.
    low: u32,
    /// Bits of the lane number.
    lanes: u32,
    /// Bits of the warp number.
    warps: u32,
    /// The other bits in registers.
    high: u32,
    /// Whether they come in this order.
    in_order: bool,
}

impl Axis {
    fn of(bases: &Bases, shape: &[i64], axis: usize) -> Axis {
        let stride = strides(shape)[axis];
        let position = |word: u64| word / stride % shape[axis] as u64;
        let along = |words: &[u64]| -> Vec<u64> {
            words.iter().map(|&word| position(word)).filter(|&position| position != 0).collect()
        };
        let [registers, lanes, mut warps] =
            [&bases.register, &bases.lane, &bases.warp].map(|words| along(words));
        let kept = bases.register.iter().filter(|&&word| word != 0 && position(word) == 0).count() as u32;
        let low = (0..).take_while(|bit| registers.contains(&(1u64 << bit))).count() as u32;
        warps.sort_unstable();
        let above = |from: u32, words: &[u64]| words.iter().zip(from..).all(|(&word, bit)| word == 1 << bit);
        let lane_bits = lanes.len() as u32;
        Axis {
            kept,
            low,
            lanes: lane_bits,
            warps: warps.len() as u32,
            high: registers.len() as u32 - low,
            in_order: above(low, &lanes) && above(low + lane_bits, &warps),
        }
    }
}
