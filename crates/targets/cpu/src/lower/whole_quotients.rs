//! Quotients and remainders that are one number, or a run of neighbours, in every chunk that begins at a multiple of
//! its lanes: their divisor is a multiple of the lanes as well.

use super::emitter::Emitter;
use super::plan::{Group, Root};
use super::positions::is_position;
use super::strides::DEPTH;
use super::types;
use ir::{Op, OpRow, Value};
use rustc_hash::FxHashSet;
use ttir::axis::AxisInfo;
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int;
use ttir::ops::forms::BinaryOp;

/// Whether something holds for every group of so many neighbours along a dimension.
pub(crate) type Holds = fn(&AxisInfo, usize, u64) -> bool;

/// They are one number.
pub(crate) fn is_one(info: &AxisInfo, dim: usize, lanes: u64) -> bool {
    info.sure_constancy(dim).is_multiple_of(lanes)
}

/// They count up.
pub(crate) fn counts_up(info: &AxisInfo, dim: usize, lanes: u64) -> bool {
    info.contiguity[dim].is_multiple_of(lanes) && !info.assumes_sign.contains(dim)
}

/// What there is to be had of an operation.
static OF: [(&OpRow, Holds); 4] = [
    (&arith_int::DIVSI, is_one),
    (&arith_int::DIVUI, is_one),
    (&arith_int::REMSI, counts_up),
    (&arith_int::REMUI, counts_up),
];

impl Emitter<'_> {
    /// Whether something holds for a quotient or remainder of positions, in all groups of so many lanes.
    pub(crate) fn whole(&self, op: Op, lanes: u64, holds: Holds) -> bool {
        let module = self.module;
        if !is_position(module, BinaryOp::new(module, op).lhs()) {
            return false;
        }
        let result = module.result(op, 0);
        let mut long = (0..).zip(types::shape(module.ty(result))).filter(|&(_, &size)| size > 1);
        let (Some((dim, _)), None) = (long.next(), long.next()) else { return false };
        let axis = self.axis.get_or_init(|| ttir::axis::analyze(module, self.kernel));
        axis.get(result).is_some_and(|info| holds(info, dim, lanes))
    }

    /// Whether addresses of a group rest on such quotients, so that its chunks have to begin at the first element.
    pub(crate) fn rests_on_whole_quotients(&self, group: &Group, lanes: u32) -> bool {
        let module = self.module;
        let roots = group.roots.iter().filter_map(|root| match root {
            Root::Store(op) => Some(*op),
            _ => None,
        });
        let loads = group.members.iter().copied().filter(|&op| AccessOp::load(module, op).is_some());
        let pointers = loads.chain(roots).map(|op| (AccessOp::new(module, op).ptr(), DEPTH));
        let mut open: Vec<(Value, u32)> = pointers.collect();
        let mut seen = FxHashSet::default();
        while let Some((value, depth)) = open.pop() {
            let is_block = ttir::types::is_tensor(module.ty(value));
            let (Some(op), true) = (module.def_op(value), is_block && depth > 0 && seen.insert(value)) else {
                continue;
            };
            if let Some((_, holds)) = OF.iter().find(|(row, _)| module.is(op, row))
                && self.whole(op, lanes.into(), *holds)
            {
                return true;
            }
            if AccessOp::of(module, op).is_none() && module.regions(op).is_empty() {
                open.extend(module.operands(op).iter().map(|&operand| (operand, depth - 1)));
            }
        }
        false
    }
}
