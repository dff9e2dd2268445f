//! Reductions behind the end that masks give.
//!
//! There each load answers its `other`, so that all chunks are one and the same. A combination that leaves the partial
//! results as they are, bit for bit, leaves them so ever after: zeros are added once, and the rest of the block, which
//! may be half of it, is left out.

use super::carried_reductions::is_zero;
use super::chunk::Chunks;
use super::error::Result;
use super::nest::{Accumulators, Iteration, Run, refill};
use super::plan::{Group, Root};
use super::value::Linear;
use ir::{Traits, Value as IrValue};
use llir::{IntCompare, Type, Value, intrinsics};
use ttir::ops::access::AccessOp;
use ttir::ops::compare::SelectOp;
use ttir::ops::constant::{self, ConstantOp};
use ttir::ops::forms::eval;
use ttir::ops::reduce::CombineOp;
use ttir::ops::shape;

/// How deep expressions are looked into.
const DEPTH: u32 = 16;

impl Run<'_> {
    /// The same for other roots, where no mask holds.
    fn behind<'g>(&self, group: &'g Group) -> Run<'g> {
        let known = self.masks.iter().map(|&mask| (mask, false)).collect();
        let (nest, linears, masks) = (self.nest.clone(), self.linears.clone(), self.masks.clone());
        Run { group, nest, linears, masks, ends: None, known, limit: None }
    }
}

impl Chunks<'_, '_> {
    /// Where the chunks of a loop end that differ from the one behind them; `None` where all must run.
    pub(crate) fn end_of_difference(&mut self, run: &Run<'_>, start: Value) -> Option<Value> {
        let (ends, one) = (run.ends?, run.innermost());
        let module = self.module;
        if !run.group.roots.iter().any(|root| matches!(root, Root::Reduce(..))) {
            return None;
        }
        for root in &run.group.roots {
            let is_free = match root {
                Root::Store(op) => self.is_masked_by(*op, &run.masks),
                Root::Reduce(op, _) => CombineOp::new(module, *op)
                    .srcs()
                    .iter()
                    .all(|&source| self.is_same_behind(source, &run.masks, DEPTH)),
                Root::Keep(value, _) => self.ends_in_stores(*value, run, DEPTH),
                Root::Effect(_) | Root::Scan(_) | Root::KeepWide(..) => false,
            };
            if !is_free {
                return None;
            }
        }
        let (up, whole) = (self.b.i64(one.step - 1), self.b.i64(-one.step));
        let last = self.b.add(ends, up);
        let last = self.b.and(last, whole);
        let end = self.b.i64(one.end);
        let last = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[last, end]);
        Some(self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[last, start]))
    }

    fn is_masked_by(&self, op: ir::Op, masks: &[IrValue]) -> bool {
        let mask = AccessOp::of(self.module, op).and_then(AccessOp::mask);
        mask.is_some_and(|mask| masks.contains(&mask))
    }

    /// Whether a value is the same everywhere where these masks do not hold.
    fn is_same_behind(&self, value: IrValue, masks: &[IrValue], depth: u32) -> bool {
        let module = self.module;
        if !ttir::types::is_tensor(module.ty(value)) || masks.contains(&value) {
            return true;
        }
        let (Some(op), Some(depth)) = (module.def_op(value), depth.checked_sub(1)) else { return false };
        let row = module.row(op);
        let same = |value: IrValue| self.is_same_behind(value, masks, depth);
        if self.buffers.contains_key(&value) {
            false
        } else if row.is(&shape::SPLAT) {
            true
        } else if row.is(&constant::CONSTANT) {
            constant::splat_bits(ConstantOp::new(module, op).value()).is_some()
        } else if let Some(load) = AccessOp::load(module, op) {
            self.is_masked_by(op, masks) && load.other().is_none_or(same)
        } else if let Some(select) = SelectOp::of(module, op).filter(|it| masks.contains(&it.condition())) {
            same(select.false_value())
        } else {
            row.traits.has(Traits::ELEMENTWISE) && module.operands(op).iter().all(|&operand| same(operand))
        }
    }

    /// Whether a value goes nowhere but into reductions that run with it and stores under these masks.
    fn ends_in_stores(&self, value: IrValue, run: &Run<'_>, depth: u32) -> bool {
        let module = self.module;
        let Some(depth) = depth.checked_sub(1) else { return false };
        let runs_here = |op: ir::Op| {
            run.group.roots.iter().any(|root| matches!(root, Root::Reduce(own, _) if *own == op))
        };
        module.uses(value).iter().all(|&(op, _)| {
            let goes_on = || {
                let row = module.row(op);
                row.traits.has(Traits::ELEMENTWISE)
                    && module.results(op).iter().all(|&result| self.ends_in_stores(result, run, depth))
            };
            runs_here(op)
                || match AccessOp::store(module, op) {
                    Some(_) => self.is_masked_by(op, &run.masks),
                    None => goes_on(),
                }
        })
    }

    /// Whether a value is zero everywhere where these masks do not hold.
    fn is_zero_behind(&self, value: IrValue, masks: &[IrValue], depth: u32) -> bool {
        let module = self.module;
        let (Some(op), Some(depth)) = (module.def_op(value), depth.checked_sub(1)) else { return false };
        let is_zero = |value: IrValue| self.is_zero_behind(value, masks, depth);
        if let Some(attr) = module.constant(value) {
            constant::splat_bits(attr) == Some(0)
        } else if AccessOp::load(module, op).is_some() {
            self.is_masked_by(op, masks)
                && AccessOp::new(module, op).other().is_none_or(is_zero)
                && !self.buffers.contains_key(&value)
        } else if let Some(select) = SelectOp::of(module, op).filter(|it| masks.contains(&it.condition())) {
            is_zero(select.false_value())
        } else {
            let zeros = [0; 3];
            let operands = module.operands(op);
            module.row(op).accuracy.is_none()
                && zeros.get(..operands.len()).and_then(|zeros| eval(module, op, zeros)) == Some(0)
                && operands.iter().all(|&it| is_zero(it))
        }
    }

    /// Whether a reduction stands still behind the end: sums of nothing but zeros.
    fn adds_zeros(&self, op: ir::Op, masks: &[IrValue]) -> bool {
        let combine = CombineOp::new(self.module, op);
        // The sign of a sum that is zero is free.
        let elem = ttir::types::elem(self.module.ty(combine.srcs()[0]));
        combine.neutral().is_some_and(|bits| is_zero(elem, bits))
            && combine.srcs().iter().all(|&it| self.is_zero_behind(it, masks, DEPTH))
    }

    /// Sums with a zero added where a range is not empty: nothing but minus zeros, of which a sum begins, makes no
    /// minus zero then.
    fn with_zero(&mut self, mut sums: Accumulators, (start, end): (Value, Value)) -> Accumulators {
        let is_left = self.b.icmp(IntCompare::Slt, start, end);
        for sum in sums.iter_mut().flatten().flatten() {
            let ty = self.b.ty(*sum);
            if matches!(ty.lane(), Type::F32 | Type::F64) {
                let zero = self.b.float(ty, 0.0);
                let more = self.b.fadd(*sum, zero);
                *sum = self.b.select(is_left, more, *sum);
            }
        }
        sums
    }

    /// Combines the chunks from `start` on, which are all the same, until that changes nothing. `body` makes one
    /// iteration.
    pub(crate) fn until_nothing_changes(
        &mut self,
        run: &Run<'_>,
        (start, end): (Value, Value),
        partials: Accumulators,
        body: impl FnOnce(&mut Self, &Run<'_>, Iteration, Accumulators) -> Result<Accumulators>,
    ) -> Result<Accumulators> {
        let one = run.innermost();
        if run.group.carriers().all(|op| self.adds_zeros(op, &run.masks)) {
            return Ok(self.with_zero(partials, (start, end)));
        }
        let roots = run.group.roots.iter().filter(|root| matches!(root, Root::Reduce(..))).cloned().collect();
        let group = Group { roots, ..run.group.clone() };
        let run = run.behind(&group);
        let mut inits = vec![start, self.b.bool(true)];
        inits.extend(partials.iter().flatten().flatten());
        let opened = self.b.begin_while(&inits);
        let carried = opened.carried.to_vec();
        let is_left = self.b.icmp(IntCompare::Slt, carried[0], end);
        let goes_on = self.b.and(is_left, carried[1]);
        self.b.do_while(&opened, goes_on, &carried[2..]);
        let position = Linear::counter(self.counted_loop(one.step, one.end, carried[0]));
        let each = Iteration { position, counter: Some(carried[0]), chunks: 1 };
        let before = refill(&partials, &carried[2..]);
        let made = body(self, &run, each, before)?;
        let made: Vec<Value> = made.into_iter().flatten().flatten().collect();
        let mut changes = self.b.bool(false);
        for (&new, &old) in made.iter().zip(&carried[2..]) {
            let differs = self.differs(new, old);
            changes = self.b.or(changes, differs);
        }
        let step = self.b.i64(one.step);
        let mut yields = vec![self.b.add(carried[0], step), changes];
        yields.extend(made);
        let after = self.b.end_while(opened, &yields);
        Ok(refill(&partials, &after))
    }

    /// Whether two values have different bits in any lane.
    fn differs(&mut self, a: Value, b: Value) -> Value {
        let ty = self.b.ty(a);
        let [a, b] = match ty.lane().is_int() || ty.lane().is_ptr() {
            true => [a, b],
            false => [a, b].map(|value| self.b.bitcast(value, ty.as_int())),
        };
        let differ = self.b.icmp(IntCompare::Ne, a, b);
        match ty.is_vector() {
            true => self.b.intrinsic(&intrinsics::VECTOR_REDUCE_OR, Type::I1, &[differ]),
            false => differ,
        }
    }
}
