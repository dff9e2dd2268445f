//! How a group is walked: which dimension its vectors run along, which of its masks are bounds, whether remainders of
//! indices wrap around.

use super::cx::Cx;
use super::error::Result;
use super::nest::Nest;
use super::plan::{Group, Root};
use super::rows;
use super::strides::{self, DEPTH};
use super::types;
use super::value::{At, Index, Lanes, Linear, Val};
use ir::{Op, Value as IrValue};
use llir::{IntCompare, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::compare::SelectOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::{ExpandDimsOp, SplatOp};
use ttir::ops::{arith_int, memory, shape};

/// Registers of a chunk whose elements go through an elementary function, the best first: of binary32 each, where more
/// than four would not leave room for constants.
const WIDTHS: [u32; 2] = [4, 2];

impl Cx<'_> {
    /// How the space of a group is walked.
    pub(crate) fn shape_nest(&mut self, group: &Group) -> Nest {
        let shape = &group.shape;
        let lanes = i64::from(self.machine.lanes());
        let mut vector = group.along.unwrap_or(shape.len() - 1);
        if let Some(axis) = group.axis
            && axis == vector
            && shape[axis] < lanes
            && shape.len() > 1
        {
            // A short axis: vectors along another dimension give one result per lane.
            let others = (0..shape.len()).filter(|&dim| dim != axis);
            vector =
                others.max_by_key(|&dim| (shape[dim], dim)).filter(|&dim| shape[dim] > 1).unwrap_or(axis);
        } else if group.axis.is_none() && shape[vector] == 1 {
            vector = (0..shape.len()).max_by_key(|&dim| (shape[dim] > 1, dim)).unwrap_or(vector);
        }
        let most = if group.is_sequential(self.module) {
            1
        } else {
            self.machine.lanes() * self.width(group, shape[vector])
        };
        Nest::new(shape, vector, group.axis, most)
    }

    /// How many vector registers a chunk of a group is, along a dimension of this size.
    ///
    /// Elementary functions are long chains of operations that wait for each other. A chunk of several registers has as
    /// many chains side by side, instruction by instruction, where chunks that run together have one behind the other,
    /// too far apart for the processor to see both.
    fn width(&self, group: &Group, size: i64) -> u32 {
        let is_panel = |root: &Root| matches!(root, Root::KeepWide(_, buffer) if buffer.panels.is_some());
        if group.long_members(self.module) == 0
            || group.has_effects()
            || group.scans()
            || group.roots.iter().any(is_panel)
        {
            return 1;
        }
        let bytes = |op: &Op| {
            types::memory(ttir::types::elem(self.module.ty(self.module.result(*op, 0)))).lane_bytes()
        };
        let is_double = group.members.iter().any(|op| rows::is_long(self.module, *op) && bytes(op) > 4);
        let fits = |width: &u32| size % i64::from(self.machine.lanes() * width) == 0;
        let widths = if is_double { &WIDTHS[1..] } else { &WIDTHS };
        widths.iter().copied().find(fits).unwrap_or(1)
    }

    /// The masks of a group that may be bounds: of its accesses, and conditions of its selections.
    pub(crate) fn masks_of(&self, group: &Group) -> Vec<IrValue> {
        let module = self.module;
        let mut masks: Vec<IrValue> = Vec::new();
        let roots = group.roots.iter().filter_map(|root| match root {
            Root::Store(op) | Root::Effect(op) => Some(*op),
            _ => None,
        });
        for op in group.members.iter().copied().chain(roots) {
            let condition = SelectOp::of(module, op).map(SelectOp::condition);
            let mask = condition.or_else(|| AccessOp::of(module, op)?.mask());
            let is_block = |mask: &IrValue| ttir::types::is_tensor(module.ty(*mask));
            masks.extend(mask.filter(is_block).filter(|mask| !masks.contains(mask)));
        }
        masks
    }

    /// Whether a group does nothing but store under a mask.
    pub(crate) fn stores_only(&self, group: &Group, mask: IrValue) -> bool {
        let is_under = |root: &Root| match root {
            Root::Store(op) => memory::mask(self.module, *op) == Some(mask),
            _ => false,
        };
        group.roots.iter().all(is_under)
    }

    /// Makes the nest, twice where remainders may wrap around: once for when they do not.
    pub(crate) fn versions(&mut self, group: &Group, nest: Nest) -> Result<()> {
        let remainders = self.remainders(group, &nest);
        if remainders.is_empty() {
            return self.run_streaming(group, nest);
        }
        let mut all = self.b.bool(true);
        let mut excesses = Vec::new();
        for op in remainders {
            if let Some((fits, excess)) = self.no_wrap(op, &nest)? {
                all = self.b.and(all, fits);
                excesses.push((self.module.result(op, 0), excess));
            }
        }
        if excesses.is_empty() {
            return self.run_nest(group, nest);
        }
        let mut branch = self.b.begin_if(all);
        self.no_wrap.extend(excesses.iter().copied());
        let fast = self.run_nest(group, nest.clone());
        for (value, _) in &excesses {
            self.no_wrap.remove(value);
        }
        fast?;
        self.b.begin_else(&mut branch, &[]);
        self.run_nest(group, Nest { most_unroll: 1, is_split: false, ..nest })?;
        self.b.end_if(branch, &[]);
        Ok(())
    }

    /// Remainders by a scalar in the addresses of a group, along its vector dimension.
    fn remainders(&self, group: &Group, nest: &Nest) -> Vec<Op> {
        let module = self.module;
        let has_results = group.roots.iter().any(|root| match root {
            Root::Reduce(op, buffers) => buffers.len() != module.results(*op).len(),
            _ => false,
        });
        if has_results {
            return Vec::new();
        }
        let roots = group.roots.iter().filter_map(|root| match root {
            Root::Store(op) => Some(*op),
            _ => None,
        });
        let accesses =
            group.members.iter().copied().filter(|&op| AccessOp::load(module, op).is_some()).chain(roots);
        let mut found = Vec::new();
        for op in accesses {
            let dim = nest.loops[nest.vector].dim;
            self.collect_remainders(AccessOp::new(module, op).ptr(), dim, DEPTH, &mut found);
        }
        found
    }

    fn collect_remainders(&self, value: IrValue, dim: usize, depth: u32, found: &mut Vec<Op>) {
        let module = self.module;
        let sizes = types::shape(module.ty(value));
        let (Some(op), true) = (module.def_op(value), sizes.get(dim).is_some_and(|&size| size > 1)) else {
            return;
        };
        let Some(depth) = depth.checked_sub(1) else { return };
        let row = module.row(op);
        if row.is(&arith_int::REMSI) || row.is(&arith_int::REMUI) {
            let two = BinaryOp::new(module, op);
            let is_scaled = strides::stride(module, two.lhs(), dim, depth) == Some(1);
            let by_scalar = SplatOp::def(module, two.rhs()).is_some();
            if is_scaled && by_scalar && sizes.len() == 1 && !found.contains(&op) {
                found.push(op);
            }
            return;
        }
        for &operand in module.operands(op) {
            let inner = match ExpandDimsOp::of(module, op) {
                Some(expand) if dim > expand.axis() => dim - 1,
                _ => dim,
            };
            if rows::is_view(row) && !row.is(&shape::EXPAND_DIMS) && !row.is(&shape::BROADCAST) {
                continue;
            }
            self.collect_remainders(operand, inner, depth, found);
        }
    }

    /// Whether a remainder of a range by a scalar stays below it over the whole block, and then how much less than its
    /// dividend it is.
    fn no_wrap(&mut self, op: Op, nest: &Nest) -> Result<Option<(Value, Value)>> {
        let module = self.module;
        let two = BinaryOp::new(module, op);
        let (dividend, divisor) = (two.lhs(), two.rhs());
        let size = types::shape(module.ty(dividend))[0];
        let _ = nest;
        let at = self.start(1);
        self.enter();
        let vals = self.eval(dividend, &at).and_then(|a| self.eval(divisor, &at).map(|b| (a, b)));
        self.leave();
        let (a, b) = vals?;
        let (Val::Affine(affine), Val::Uniform(limit)) = (a, b) else { return Ok(None) };
        let first = self.scalar_of(&affine, llir::Type::I8);
        let rest = self.apply(op, &[first, limit])?;
        let ty = self.b.ty(rest);
        let (zero, size) = (self.b.zero(ty), self.b.int(ty, size));
        let past = self.b.add(rest, size);
        let fits = self.b.icmp(IntCompare::Sle, past, limit);
        let positive = self.b.icmp(IntCompare::Sge, first, zero);
        let fits = self.b.and(fits, positive);
        let excess = self.b.sub(first, rest);
        Ok(Some((fits, excess)))
    }

    /// The first element of a block of a rank, in all lanes but for a single lane's own position.
    fn start(&mut self, rank: usize) -> At {
        let lanes = Lanes((0..i64::from(self.lanes)).collect());
        let dims = (0..rank).map(|_| Index::Known(Linear::default(), lanes.clone())).collect();
        self.at(dims)
    }
}
