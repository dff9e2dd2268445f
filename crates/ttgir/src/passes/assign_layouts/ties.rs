//! How an operation ties the layouts of its operands and results to its own.
//!
//! Most operations have one layout for all; the rules of rows name the others. "Its own" is the layout of the side with
//! more dimensions, or of the result.

use super::derive;
use super::layouts::{Layout, Layouts};
use crate::SharedEncoding;
use crate::infer;
use ir::{LayoutRule, Module, Op, OpRow};
use ttir::ops::forms::UnaryOp;
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape as moves;
use ttir::ops::shape::ExpandDimsOp;
use ttir::types::shape;

/// The layout of an operand or result, given the operation's own, or the other way round. `None`: any layout will do,
/// or nothing follows.
type Map = fn(&mut Layouts, &Module, Op, Layout) -> Option<Layout>;

/// How one kind of operation ties layouts.
pub(crate) struct Tie {
    /// What operands must have.
    pub(crate) operand: Map,
    /// What results have.
    pub(crate) result: Map,
    /// What the operation must have for its operands to have this.
    pub(crate) from_operand: Map,
    /// What the operation must have for its results to have this.
    pub(crate) from_result: Map,
}

/// One layout for all.
static SAME: Tie = Tie { operand: same, result: same, from_operand: same, from_result: same };

static EXPAND_DIMS: Tie = Tie { operand: sliced, result: same, from_operand: unsliced, from_result: same };
static TRANS: Tie = Tie { operand: untransposed, result: same, from_operand: transposed, from_result: same };
static RESHAPE: Tie = Tie { operand: reshaped_back, result: same, from_operand: reshaped, from_result: same };
static JOIN: Tie = Tie { operand: same, result: joined, from_operand: same, from_result: unjoined };
static SPLIT: Tie = Tie { operand: doubled, result: same, from_operand: halved, from_result: same };
static REDUCE: Tie = Tie { operand: same, result: sliced, from_operand: same, from_result: unsliced_only };
static APART: Tie = Tie { operand: any, result: same, from_operand: any, from_result: same };
static STORED: Tie = Tie { operand: stored, result: same, from_operand: storable, from_result: any };

/// How an operation ties layouts, by the rule of its row. Where nothing follows, one layout for all is what costs no
/// conversion.
pub(crate) fn tie(row: &OpRow) -> &'static Tie {
    match row.layout {
        LayoutRule::Same
        | LayoutRule::Broadcast
        | LayoutRule::Dot
        | LayoutRule::Gather
        | LayoutRule::Free => &SAME,
        LayoutRule::ExpandDims => &EXPAND_DIMS,
        LayoutRule::Trans => &TRANS,
        LayoutRule::Reshape => &RESHAPE,
        LayoutRule::Join => &JOIN,
        LayoutRule::Split => &SPLIT,
        LayoutRule::Reduce => &REDUCE,
        LayoutRule::Apart => &APART,
        LayoutRule::Stored => &STORED,
    }
}

fn same(_: &mut Layouts, _: &Module, _: Op, own: Layout) -> Option<Layout> {
    Some(own)
}

fn any(_: &mut Layouts, _: &Module, _: Op, _: Layout) -> Option<Layout> {
    None
}

/// Blocks of a cluster put what they have into their own memory; without clusters any layout will do.
fn stored(layouts: &mut Layouts, _: &Module, _: Op, own: Layout) -> Option<Layout> {
    (layouts.blocks > 1).then_some(own)
}

fn storable(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    if layouts.blocks == 1 {
        return None;
    }
    let cga = SharedEncoding::of(module.ty(module.result(op, 0)))?.cga().clone();
    layouts.split_as(given, operand_shape(module, op), &cga)
}

fn axis(module: &Module, op: Op) -> usize {
    match CombineOp::of(module, op) {
        Some(combine) => combine.axis(),
        None => ExpandDimsOp::new(module, op).axis(),
    }
}

fn operand_shape(module: &Module, op: Op) -> &'static [i64] {
    shape(module.ty(UnaryOp::new(module, op).src()))
}

fn result_shape(module: &Module, op: Op) -> &'static [i64] {
    shape(module.ty(module.result(op, 0)))
}

fn sliced(layouts: &mut Layouts, module: &Module, op: Op, own: Layout) -> Option<Layout> {
    let encoding = infer::reduce(layouts.encoding(own), axis(module, op));
    Some(layouts.number(&encoding))
}

fn unsliced(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    let encoding = derive::unsliced(layouts.encoding(given), axis(module, op))?;
    Some(layouts.number(&encoding))
}

/// Only a slice along the same dimension says how the larger block lay.
fn unsliced_only(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    let encoding = derive::parent_of_slice(layouts.encoding(given), axis(module, op))?.clone();
    Some(layouts.number(&encoding))
}

fn transposed(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    let order = moves::TransOp::new(module, op).order();
    let encoding = infer::trans(layouts.encoding(given), order, operand_shape(module, op)).ok()?;
    Some(layouts.number(&encoding))
}

fn untransposed(layouts: &mut Layouts, module: &Module, op: Op, own: Layout) -> Option<Layout> {
    let order = moves::TransOp::new(module, op).order();
    let encoding = infer::trans_back(layouts.encoding(own), order, result_shape(module, op)).ok()?;
    Some(layouts.number(&encoding))
}

fn reshaped(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    let (from, to) = (operand_shape(module, op), result_shape(module, op));
    let encoding = infer::reshape(layouts.encoding(given), from, to).ok()?;
    Some(layouts.number(&encoding))
}

fn reshaped_back(layouts: &mut Layouts, module: &Module, op: Op, own: Layout) -> Option<Layout> {
    let (from, to) = (operand_shape(module, op), result_shape(module, op));
    let encoding = infer::reshape(layouts.encoding(own), to, from).ok()?;
    Some(layouts.number(&encoding))
}

fn joined(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    let encoding = infer::join(layouts.encoding(given), operand_shape(module, op)).ok()?;
    Some(layouts.number(&encoding))
}

fn unjoined(layouts: &mut Layouts, module: &Module, op: Op, own: Layout) -> Option<Layout> {
    let encoding = infer::split(layouts.encoding(own), result_shape(module, op)).ok()?;
    Some(layouts.number(&encoding))
}

fn halved(layouts: &mut Layouts, module: &Module, op: Op, own: Layout) -> Option<Layout> {
    let encoding = infer::split(layouts.encoding(own), operand_shape(module, op)).ok()?;
    Some(layouts.number(&encoding))
}

fn doubled(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    let encoding = infer::join(layouts.encoding(given), result_shape(module, op)).ok()?;
    Some(layouts.number(&encoding))
}
