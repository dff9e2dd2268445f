//! Remainders of indices that do not wrap around inside of a block, as most do not.

use super::chunk::{Assumed, Chunks, Memo};
use super::element::Zeros;
use super::emitter::Emitter;
use super::error::Result;
use super::nest::Nest;
use super::plan::{Group, Root};
use super::strides::{self, DEPTH};
use super::types;
use super::value::{Index, Lanes, Linear, Val};
use ir::{Op, Traits, Value as IrValue};
use llir::{IntCompare, Value};
use rustc_hash::FxHashMap;
use ttir::ops::access::AccessOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::{ExpandDimsOp, SplatOp};
use ttir::ops::{arith_int, shape};

/// What is true of the remainders of a group.
pub(crate) enum Remainders {
    /// There are none.
    None,
    /// It is not known when they wrap around.
    Unknown,
    /// They do not wrap around where a condition holds: then so much is to be taken away from their dividends.
    Fitting(Value, FxHashMap<IrValue, Value>),
}

impl Emitter<'_> {
    /// What is true of the remainders in the addresses of a group.
    pub(crate) fn remainders(&mut self, group: &Group, nest: &Nest, assumed: &Assumed) -> Result<Remainders> {
        let found = self.remainders_of(group, nest);
        if found.is_empty() {
            return Ok(Remainders::None);
        }
        let mut all = self.b.bool(true);
        let mut excesses = FxHashMap::default();
        for op in found {
            if let Some((fits, excess)) = self.no_wrap(op, nest.lanes, assumed)? {
                all = self.b.and(all, fits);
                excesses.insert(self.module.result(op, 0), excess);
            }
        }
        Ok(if excesses.is_empty() { Remainders::Unknown } else { Remainders::Fitting(all, excesses) })
    }

    /// Remainders by a scalar in the addresses of a group, along its vector dimension.
    fn remainders_of(&self, group: &Group, nest: &Nest) -> Vec<Op> {
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
            if row.traits.has(Traits::VIEW) && !row.is(&shape::EXPAND_DIMS) && !row.is(&shape::BROADCAST) {
                continue;
            }
            self.collect_remainders(operand, inner, depth, found);
        }
    }

    /// Whether a remainder of a range by a scalar stays below it over the whole block, and then how much less than its
    /// dividend it is.
    pub(crate) fn no_wrap(
        &mut self,
        op: Op,
        lanes: u32,
        assumed: &Assumed,
    ) -> Result<Option<(Value, Value)>> {
        let module = self.module;
        let two = BinaryOp::new(module, op);
        let (dividend, divisor) = (two.lhs(), two.rhs());
        let size = types::shape(module.ty(dividend))[0];
        let lanes_from_zero = Lanes((0..i64::from(lanes)).collect());
        let at = self.at(vec![Index::Known(Linear::default(), lanes_from_zero)]);
        let mut memo = Memo::default();
        let (a, b) = Chunks::new(self, &mut memo, assumed, lanes).scoped(|chunks| -> Result<(Val, Val)> {
            Ok((chunks.eval(dividend, &at)?, chunks.eval(divisor, &at)?))
        })?;
        let (Val::Affine(affine), Val::Uniform(limit)) = (a, b) else { return Ok(None) };
        let first = self.scalar_of(&affine, llir::Type::I8);
        let rest = self.apply(op, &[first, limit], Zeros::Signed)?;
        let ty = self.b.ty(rest);
        let (zero, size) = (self.b.zero(ty), self.b.int(ty, size));
        let past = self.b.add(rest, size);
        let fits = self.b.icmp(IntCompare::Sle, past, limit);
        let positive = self.b.icmp(IntCompare::Sge, first, zero);
        let fits = self.b.and(fits, positive);
        let excess = self.b.sub(first, rest);
        Ok(Some((fits, excess)))
    }
}
