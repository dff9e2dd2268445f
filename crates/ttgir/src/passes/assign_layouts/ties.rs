//! How an operation ties the layouts of its operands and results to its own.
//!
//! Most operations have one layout for all; the rules of rows name the others. "Its own" is the layout of the side with
//! more dimensions, or of the result.

use super::derive;
use super::layouts::{Layout, Layouts, Side};
use crate::SharedEncoding;
use crate::infer;
use ir::{LayoutRule, Module, Op, OpRow};
use ttir::ops::forms::UnaryOp;
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape as moves;
use ttir::ops::shape::ExpandDimsOp;
use ttir::types::shape;

/// The layout of an operand or result, given the operation's own, or the other way round.
#[derive(Clone, Copy)]
enum Map {
    /// The same.
    Same,
    /// Any layout will do, or nothing follows.
    Any,
    /// What this says; `None` as for [`Map::Any`].
    By(fn(&mut Layouts, &Module, Op, Layout) -> Option<Layout>),
}

use Map::{Any, By, Same};

/// How one kind of operation ties layouts: what its [`Side`]s have.
type Tie = [Map; 4];

/// One layout for all.
static SAME: Tie = [Same; 4];

static EXPAND_DIMS: Tie = [By(sliced), Same, By(unsliced), Same];
static TRANS: Tie = [By(untransposed), Same, By(transposed), Same];
static RESHAPE: Tie = [By(reshaped_back), Same, By(reshaped), Same];
static JOIN: Tie = [Same, By(joined), Same, By(unjoined)];
static SPLIT: Tie = [By(doubled), Same, By(halved), Same];
static REDUCE: Tie = [Same, By(sliced), Same, By(unsliced_only)];
static APART: Tie = [Any, Same, Any, Same];
static STORED: Tie = [Same, Same, By(storable), Any];

/// The layout of one side of an operation that follows from this one of the other side; `None`: any will do, or nothing
/// follows.
pub(crate) fn tied(
    layouts: &mut Layouts,
    module: &Module,
    op: Op,
    side: Side,
    layout: Layout,
) -> Option<Layout> {
    match tie(module.row(op))[side as usize] {
        Same => Some(layout),
        Any => None,
        By(map) => layouts.tied_once((op, side, layout), |layouts| map(layouts, module, op, layout)),
    }
}

/// How an operation ties layouts, by the rule of its row. Where nothing follows, one layout for all is what costs no
/// conversion.
fn tie(row: &OpRow) -> &'static Tie {
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

/// Blocks of a cluster put what they have into their own memory.
fn storable(layouts: &mut Layouts, module: &Module, op: Op, given: Layout) -> Option<Layout> {
    if layouts.blocks == 1 {
        return Some(given);
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
