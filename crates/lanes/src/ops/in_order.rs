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
use smallvec::SmallVec;
use ttir::ops::compare::{CmpIOp, CmpIPredicate};
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape::{BroadcastOp, ExpandDimsOp, MAKE_RANGE};
use ttir::types::shape;

/// The comparisons in the region of a reduction that are known where what comes first has the lower positions, and what
/// they give.
pub(super) type Known = SmallVec<[(Op, bool); 2]>;

/// The comparisons that are known in the region of a reduction.
pub(super) fn known_in_order(module: &Module, op: Op) -> Known {
    let of = CombineOp::new(module, op);
    let (block, axis, count) = (of.block(), of.axis(), of.srcs().len());
    let args = module.args(block);
    let counting: SmallVec<[usize; 2]> =
        (0..count).filter(|&operand| counts_up(module, of.srcs()[operand], axis)).collect();
    let pair = |first: Value, next: Value| {
        counting.iter().any(|&operand| args[operand] == first && args[count + operand] == next)
    };
    let known = module.ops(block).filter_map(|inner| {
        let compare = CmpIOp::of(module, inner)?;
        let is_below = match compare.predicate() {
            CmpIPredicate::Slt | CmpIPredicate::Sle | CmpIPredicate::Ult | CmpIPredicate::Ule => true,
            CmpIPredicate::Sgt | CmpIPredicate::Sge | CmpIPredicate::Ugt | CmpIPredicate::Uge => false,
            CmpIPredicate::Eq | CmpIPredicate::Ne => return None,
        };
        if pair(compare.lhs(), compare.rhs()) {
            Some((inner, is_below))
        } else {
            pair(compare.rhs(), compare.lhs()).then_some((inner, !is_below))
        }
    });
    known.collect()
}

/// Whether a block is the numbers of its own positions along an axis, from any one on. Such numbers are made in the
/// layout in which they are wanted.
fn counts_up(module: &Module, value: Value, axis: usize) -> bool {
    let Some(op) = module.def_op(value) else { return false };
    if let Some(expand) = ExpandDimsOp::of(module, op) {
        let at = expand.axis();
        return at != axis && counts_up(module, expand.src(), if axis > at { axis - 1 } else { axis });
    }
    if let Some(broadcast) = BroadcastOp::of(module, op) {
        let source = broadcast.src();
        return shape(module.ty(source))[axis] > 1 && counts_up(module, source, axis);
    }
    module.is(op, &MAKE_RANGE)
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
