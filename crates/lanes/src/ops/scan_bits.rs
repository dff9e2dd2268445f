//! Scans that count conditions. Those of a warp are one word, of which a lane counts the bits in front of its own.
//!
//! ```text
//! %n = arith.extui %c : tensor<128xi1> to tensor<128xi32>      %word = ballot %c
//! %r = tt.scan(%n) by arith.addi                          =>   popcount(%word & the bits in front)
//! ```

use super::scan_layout::Axis;
use crate::context::Cx;
use ir::Op;
use llir::{Value, intrinsics};
use ttir::ops::reduce::CombineOp;

/// Neighbours that a lane may have in a run: each of them is a word of its own.
const MOST_NEIGHBOURS: usize = 2;

/// What a lane knows of a run: the conditions that hold in the lanes in front of it, and in all lanes of its line.
pub(super) struct Count {
    pub(super) front: Value,
    pub(super) total: Value,
}

/// The block of conditions that a scan counts, along an axis of which lanes have parts.
pub(super) fn counted(cx: &Cx<'_>, op: Op, axis: &Axis) -> Option<ir::Value> {
    let few = axis.lane_mask != 0 && axis.runs.iter().all(|run| run.len() <= MOST_NEIGHBOURS);
    CombineOp::new(cx.module, op).counted().filter(|_| few)
}

/// The counts of each run, as numbers of a type.
pub(super) fn count(
    cx: &mut Cx<'_>,
    axis: &Axis,
    reverse: bool,
    conditions: &[Value],
    ty: llir::Type,
) -> Vec<Count> {
    let line = bits_of_line(cx, axis.lane_mask);
    let front = bits_in_front(cx, reverse);
    let front = line.map_or(front, |line| cx.b.and(line, front));
    let count = |run: &Vec<u32>| {
        let words: Vec<Value> =
            run.iter().map(|&register| cx.target.ballot(&mut cx.b, conditions[register as usize])).collect();
        Count { front: ones(cx, &words, Some(front), ty), total: ones(cx, &words, line, ty) }
    };
    axis.runs.iter().map(count).collect()
}

/// How many bits of some words are set, of those of a mask.
fn ones(cx: &mut Cx<'_>, words: &[Value], mask: Option<Value>, ty: llir::Type) -> Value {
    let zero = cx.b.zero(ty);
    words.iter().fold(zero, |sum, &word| {
        let masked = mask.map_or(word, |mask| cx.b.and(word, mask));
        let of = cx.b.ty(masked);
        let count = cx.b.intrinsic(&intrinsics::CTPOP, of, &[masked]);
        let count = cx.b.resize_unsigned(count, ty);
        cx.b.add(sum, count)
    })
}

/// A number of the type of a word that has a bit for each lane.
fn word(cx: &mut Cx<'_>, bits: u64) -> Value {
    cx.b.int(llir::Type::int(cx.lanes as u16), bits as i64)
}

/// The bits of the lanes whose numbers differ from the own one in bits of a mask; `None` if those are all lanes.
fn bits_of_line(cx: &mut Cx<'_>, mask: u32) -> Option<Value> {
    let rest = (cx.lanes - 1) & !mask;
    if rest == 0 {
        return None;
    }
    let first = (0..cx.lanes).filter(|lane| lane & rest == 0).fold(0, |bits, lane| bits | 1u64 << lane);
    let (first, rest) = (word(cx, first), cx.b.i32(rest as i32));
    let own = cx.ids().lane;
    let own = cx.b.and(own, rest);
    let ty = cx.b.ty(first);
    let own = cx.b.resize_unsigned(own, ty);
    Some(cx.b.shl(first, own))
}

/// The bits of the lanes in front of the own one.
fn bits_in_front(cx: &mut Cx<'_>, reverse: bool) -> Value {
    let lane = cx.ids().lane;
    let (start, one) = (word(cx, if reverse { !1 } else { 1 }), word(cx, 1));
    let ty = cx.b.ty(start);
    let lane = cx.b.resize_unsigned(lane, ty);
    let shifted = cx.b.shl(start, lane);
    if reverse { shifted } else { cx.b.sub(shifted, one) }
}
