//! The combining region of reductions and scans, on elements of several operands at once.

use crate::context::Cx;
use crate::error::Result;
use crate::target::CombineLanes;
use crate::value::LaneValue;
use ir::{Block, Op, OpRow, Traits, Type};
use llir::Value;
use smallvec::SmallVec;
use ttir::ops::arith_int::{ADDI, ANDI, MAXSI, MAXUI, MINSI, MINUI, ORI, XORI};

/// Operations that lanes may have instructions for.
const AT_ONCE: &[(&OpRow, CombineLanes)] = &[
    (&ADDI, CombineLanes::Add),
    (&MINSI, CombineLanes::Min),
    (&MAXSI, CombineLanes::Max),
    (&MINUI, CombineLanes::UnsignedMin),
    (&MAXUI, CombineLanes::UnsignedMax),
    (&ANDI, CombineLanes::And),
    (&ORI, CombineLanes::Or),
    (&XORI, CombineLanes::Xor),
];

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
        Combine { op, block: cx.module.entry(cx.module.region(op, 0)) }
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

    /// Whether anything but its results may tell where the region ran.
    pub(crate) fn tells(self, cx: &Cx<'_>) -> bool {
        let module = cx.module;
        let quiet = |op: Op| module.has(op, Traits::TERMINATOR) || !module.results(op).is_empty();
        !module.ops(self.block).all(|op| module.regions(op).is_empty() && quiet(op))
    }

    /// How the lanes of a warp combine at once, if the region is one operation on 32-bit integers that has such a form.
    pub(crate) fn at_once(self, cx: &Cx<'_>) -> Option<CombineLanes> {
        let combine = cx.module.first_op(self.block)?;
        let last = cx.module.last_op(self.block)?;
        let (operands, args) = (cx.module.operands(combine), cx.module.args(self.block));
        let only =
            cx.module.next(combine) == Some(last) && cx.module.operands(last) == cx.module.results(combine);
        let both = operands == args || operands.iter().rev().eq(args);
        let word = args.len() == 2 && cx.module.ty(args[0]) == Type::int(32);
        let found = AT_ONCE.iter().find(|(row, _)| cx.module.is(combine, row)).map(|(_, by)| *by);
        found.filter(|_| only && both && word)
    }

    /// Combines what comes first with what comes next.
    pub(crate) fn two(self, cx: &mut Cx<'_>, first: &Elements, next: &Elements) -> Result<Elements> {
        let args: Vec<LaneValue> = first.iter().chain(next).map(|value| LaneValue::Scalar(*value)).collect();
        let handed = cx.inline_block(self.block, &args)?;
        handed
            .into_iter()
            .map(|value| match value {
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
        match list {
            [] => Err(cx.error(self.op, "there is nothing to combine")),
            [one] => Ok(one.clone()),
            _ => {
                // As many pairs of pairs as there are, so that only the last ones are incomplete.
                let (first, rest) = list.split_at(list.len().next_power_of_two() / 2);
                let (first, rest) = (self.all(cx, first)?, self.all(cx, rest)?);
                self.two(cx, &first, &rest)
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
