//! Combining what a lane holds in the order of its positions: comparisons of the positions themselves are known.
//!
//! ```text
//! %v:2 = "tt.reduce"(%x, %numbers) <{axis = 1}> ({      the numbers count up along the axis, and a lane combines its
//!   %first = %a > %b or %a == %b and %i < %j       =>   registers in that order: %i < %j is true
//!   …
//! ```

use crate::context::Cx;
use crate::error::Result;
use crate::value::LaneValue;
use ir::{Block, Module, Op, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::ops::Range;
use ttir::ops::compare::{CmpIOp, CmpIPredicate, SelectOp};
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape::{BroadcastOp, ExpandDimsOp, MakeRangeOp};
use ttir::types::shape;

/// The comparisons in the region of a reduction that are known where what comes first has the lower positions, and what
/// they give.
pub(super) type Known = SmallVec<[(Op, bool); 2]>;

/// The comparisons that are known in the region of a reduction.
pub(super) fn known_in_order(module: &Module, op: Op) -> Known {
    let of = CombineOp::new(module, op);
    let (block, axis, count) = (of.block(), of.axis(), of.srcs().len());
    let args = module.args(block);
    let counting: SmallVec<[(usize, Range<i32>); 2]> = (0..count)
        .filter(|&operand| hands_on_one(module, block, operand, count))
        .filter_map(|operand| Some((operand, counted(module, of.srcs()[operand], axis)?)))
        .collect();
    let pair = |first: Value, next: Value, unsigned: bool| {
        // As unsigned numbers those below zero are above all others.
        let counts = |numbers: &Range<i32>| !unsigned || numbers.start >= 0 || numbers.end <= 0;
        counting.iter().any(|(operand, numbers)| {
            args[*operand] == first && args[count + operand] == next && counts(numbers)
        })
    };
    let known = module.ops(block).filter_map(|inner| {
        let compare = CmpIOp::of(module, inner)?;
        let (is_below, unsigned) = match compare.predicate() {
            CmpIPredicate::Slt | CmpIPredicate::Sle => (true, false),
            CmpIPredicate::Ult | CmpIPredicate::Ule => (true, true),
            CmpIPredicate::Sgt | CmpIPredicate::Sge => (false, false),
            CmpIPredicate::Ugt | CmpIPredicate::Uge => (false, true),
            CmpIPredicate::Eq | CmpIPredicate::Ne => return None,
        };
        if pair(compare.lhs(), compare.rhs(), unsigned) {
            Some((inner, is_below))
        } else {
            pair(compare.rhs(), compare.lhs(), unsigned).then_some((inner, !is_below))
        }
    });
    known.collect()
}

/// Whether what comes out for an operand is one of the two that were combined: then all that came of what is first has
/// lower positions as well.
fn hands_on_one(module: &Module, block: Block, operand: usize, count: usize) -> bool {
    let args = module.args(block);
    let (mut seen, mut stack) =
        (FxHashSet::default(), vec![module.operands(module.terminator(block))[operand]]);
    while let Some(value) = stack.pop() {
        if value == args[operand] || value == args[count + operand] || !seen.insert(value) {
            continue;
        }
        match module.def_op(value).and_then(|op| SelectOp::of(module, op)) {
            Some(select) => stack.extend([select.true_value(), select.false_value()]),
            None => return false,
        }
    }
    true
}

/// The numbers that a block is along an axis, where they count up with its positions. Such numbers are made in the
/// layout in which they are wanted.
fn counted(module: &Module, value: Value, axis: usize) -> Option<Range<i32>> {
    let op = module.def_op(value)?;
    if let Some(expand) = ExpandDimsOp::of(module, op) {
        let at = expand.axis();
        return if at == axis { None } else { counted(module, expand.src(), axis - usize::from(axis > at)) };
    }
    if let Some(broadcast) = BroadcastOp::of(module, op) {
        let source = broadcast.src();
        return if shape(module.ty(source))[axis] > 1 { counted(module, source, axis) } else { None };
    }
    MakeRangeOp::of(module, op).map(|range| range.start()..range.end())
}

/// Lowers a block whose comparisons are partly known.
pub(super) fn lower_block(cx: &mut Cx<'_>, block: Block, known: &Known) -> Result<()> {
    for op in cx.module.ops(block) {
        if cx.module.has(op, ir::Traits::TERMINATOR) {
            continue;
        }
        match known.iter().find(|(own, _)| *own == op) {
            Some(&(_, holds)) => {
                let constant = cx.b.int(llir::Type::I1, i64::from(holds));
                cx.set_result(op, LaneValue::Scalar(constant));
            }
            None => cx.lower_op(op)?,
        }
    }
    Ok(())
}
