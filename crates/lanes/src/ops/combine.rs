//! The combining region of reductions and scans, on elements of several operands at once.

use super::in_order::{Known, known_in_order, lower_block};
use crate::context::Cx;
use crate::error::Result;
use crate::target::CombineLanes;
use crate::value::LaneValue;
use ir::{Block, Module, Op, OpRow, Type};
use llir::Value;
use smallvec::SmallVec;
use ttir::ops::arith_int::{ADDI, ANDI, MAXSI, MAXUI, MINSI, MINUI, ORI, XORI};
use ttir::ops::reduce::{CombineOp, is_plain};

/// Operations that warps may have instructions for.
const OF_WARPS: &[(&OpRow, CombineLanes)] = &[
    (&ADDI, CombineLanes::Add),
    (&MINSI, CombineLanes::Min),
    (&MAXSI, CombineLanes::Max),
    (&MINUI, CombineLanes::UnsignedMin),
    (&MAXUI, CombineLanes::UnsignedMax),
    (&ANDI, CombineLanes::And),
    (&ORI, CombineLanes::Or),
    (&XORI, CombineLanes::Xor),
];

/// The same of an operation with a combining region.
pub(super) fn of_warp(module: &Module, op: Op) -> Option<CombineLanes> {
    let combine = CombineOp::new(module, op).single()?;
    let is_word = module.ty(module.result(combine, 0)) == Type::int(32);
    let found = OF_WARPS.iter().find(|(row, _)| module.is(combine, row)).map(|(_, by)| *by);
    found.filter(|_| is_word)
}

/// One element of each operand.
pub(crate) type Elements = SmallVec<[Value; 2]>;

/// The region of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combine {
    op: Op,
    block: Block,
}

impl Combine {
    /// The region of an operation that has one.
    pub(crate) fn of(cx: &Cx<'_>, op: Op) -> Combine {
        Combine { op, block: CombineOp::new(cx.module, op).block() }
    }

    /// Element types of the operands.
    pub(crate) fn elements(self, cx: &Cx<'_>) -> Vec<Type> {
        let operands = cx.module.operands(self.op).iter();
        operands.map(|&operand| ttir::types::elem(cx.module.ty(operand))).collect()
    }

    /// The registers of the operands, side by side.
    pub(crate) fn registers(self, cx: &Cx<'_>) -> Result<Vec<Elements>> {
        let operands = cx.module.operands(self.op).iter();
        let lists = operands.map(|operand| cx.registers(*operand).map(|all| all.to_vec()));
        Ok(zip(&lists.collect::<Result<Vec<_>>>()?))
    }

    /// Whether the region has effects besides its results.
    pub(crate) fn has_effects(self, cx: &Cx<'_>) -> bool {
        !is_plain(cx.module, self.block)
    }

    /// The instruction by which the lanes of a warp combine, if the region is one operation on 32-bit integers that may
    /// have one.
    pub(crate) fn of_warp(self, cx: &Cx<'_>) -> Option<CombineLanes> {
        of_warp(cx.module, self.op)
    }

    /// What is known of the region where what comes first has the lower positions.
    pub(super) fn known_in_order(self, cx: &Cx<'_>) -> Known {
        known_in_order(cx.module, self.op)
    }

    /// Combines what comes first with what comes next.
    pub(crate) fn two(self, cx: &mut Cx<'_>, first: &Elements, next: &Elements) -> Result<Elements> {
        self.both(cx, first, next, &Known::new())
    }

    fn both(self, cx: &mut Cx<'_>, first: &Elements, next: &Elements, known: &Known) -> Result<Elements> {
        let params = cx.module.args(self.block);
        for (param, arg) in params.iter().zip(first.iter().chain(next)) {
            cx.set(*param, LaneValue::Scalar(*arg));
        }
        lower_block(cx, self.block, known)?;
        let handed = cx.module.operands(cx.module.terminator(self.block)).iter();
        handed
            .map(|value| match cx.get(*value)? {
                LaneValue::Scalar(value) => Ok(value),
                _ => Err(cx.error(self.op, "the combining region must hand on scalars")),
            })
            .collect()
    }

    /// The same, whose results are used only in those lanes where a condition holds; in all without one.
    pub(crate) fn two_where(
        self,
        cx: &mut Cx<'_>,
        holds: Option<Value>,
        first: &Elements,
        next: &Elements,
    ) -> Result<Elements> {
        let outer = std::mem::replace(&mut cx.combining, holds);
        let both = self.two(cx, first, next);
        cx.combining = outer;
        both
    }

    /// Combines all of a list, in order, as a balanced tree. The list is not empty. One half is done before the other
    /// begins, so that few results wait for others.
    pub(crate) fn all(self, cx: &mut Cx<'_>, list: &[Elements]) -> Result<Elements> {
        self.all_where(cx, list, &Known::new())
    }

    /// The same where some comparisons of the region are known.
    pub(super) fn all_where(self, cx: &mut Cx<'_>, list: &[Elements], known: &Known) -> Result<Elements> {
        match list {
            [] => Err(cx.error(self.op, "there is nothing to combine")),
            [one] => Ok(one.clone()),
            _ => {
                // As many pairs of pairs as there are, so that only the last ones are incomplete.
                let (first, rest) = list.split_at(list.len().next_power_of_two() / 2);
                let (first, rest) = (self.all_where(cx, first, known)?, self.all_where(cx, rest, known)?);
                self.both(cx, &first, &rest, known)
            }
        }
    }
}

/// Lists of one operand each as a list of elements of all operands.
pub(crate) fn zip(lists: &[Vec<Value>]) -> Vec<Elements> {
    let count = lists.first().map_or(0, Vec::len);
    (0..count).map(|index| lists.iter().map(|list| list[index]).collect()).collect()
}

/// The values of one operand.
pub(crate) fn column(list: &[Elements], operand: usize) -> Vec<Value> {
    list.iter().map(|elements| elements[operand]).collect()
}

/// One of two elements.
pub(crate) fn select(cx: &mut Cx<'_>, condition: Value, then: &Elements, otherwise: &Elements) -> Elements {
    then.iter().zip(otherwise).map(|(then, otherwise)| cx.b.select(condition, *then, *otherwise)).collect()
}
