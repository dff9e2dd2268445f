//! Masks that are bounds of the vector loop of a nest: how far they hold, as their forms alone tell.

use super::chunk::Chunks;
use super::error::Result;
use super::nest::Run;
use super::plan::{Group, Root};
use super::value::{At, Linear, LoopVar, Val};
use ir::Value as IrValue;
use llir::{Type, Value, intrinsics};
use ttir::ops::access::AccessOp;
use ttir::ops::compare::SelectOp;
use ttir::ops::memory;

/// Bounds of the vector loop.
pub(crate) struct Bounds {
    /// Before it all lanes hold.
    pub(crate) extent: Value,
    /// Before it all chunks are full.
    pub(crate) full: Value,
    /// From it on nothing is left to do.
    pub(crate) end: Value,
    /// The masks that give bounds.
    pub(crate) masks: Vec<IrValue>,
    /// Where the last of them ends, where that may be inside of a chunk.
    pub(crate) ends: Option<Value>,
    /// The only mask, where it holds in all lanes or in none: then in none behind the full chunks.
    pub(crate) none: Vec<IrValue>,
}

impl Bounds {
    /// The part of a walk that is inside of all bounds.
    pub(crate) fn inside<'g>(&self, run: &Run<'g>) -> Run<'g> {
        self.part(run, self.masks.iter().map(|&mask| (mask, true)).collect())
    }

    /// The part behind that.
    pub(crate) fn behind<'g>(&self, run: &Run<'g>) -> Run<'g> {
        self.part(run, self.none.iter().map(|&mask| (mask, false)).collect())
    }

    fn part<'g>(&self, run: &Run<'g>, known: Vec<(IrValue, bool)>) -> Run<'g> {
        Run { known, masks: self.masks.clone(), ends: self.ends, ..run.clone() }
    }

    /// Whether nothing is left to do behind the full chunks.
    pub(crate) fn is_done(&self) -> bool {
        self.end == self.full
    }
}

/// How far a mask holds along the vector dimension.
struct Extent {
    mask: IrValue,
    /// Before it all lanes hold; zero where the mask begins later than with the first lane.
    full: Value,
    /// From it on no lane holds.
    end: Value,
    /// Whether that is nowhere or everywhere.
    is_uniform: bool,
}

impl Chunks<'_, '_> {
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

    /// The bounds of the vector loop, if masks give any. `step` is that of the unmasked loop.
    pub(crate) fn bounds(&mut self, run: &Run<'_>, level: usize, step: i64) -> Result<Option<Bounds>> {
        let one = run.nest.loops[level].clone();
        if !run.nest.is_split
            || run.nest.offsets[one.dim].stride() != Some(1)
            || i64::from(run.nest.lanes) != one.step
        {
            return Ok(None);
        }
        let candidates = self.masks_of(run.group);
        let mut linears = run.linears.clone();
        let var = self.new_loop(one.step, one.end);
        linears[one.dim] = Linear::counter(var);
        for deeper in &run.nest.loops[level + 1..] {
            linears[deeper.dim] = Linear::counter(self.new_loop(deeper.step, deeper.end));
        }
        let at = self.position(&run.nest, &linears);
        let end = self.b.i64(one.end);
        let mut extents: Vec<Extent> = Vec::new();
        for mask in candidates {
            extents.extend(self.extent(mask, &at, var, end));
        }
        if extents.is_empty() {
            return Ok(None);
        }
        let masks = extents.iter().map(|extent| extent.mask).collect();
        if let [Extent { mask, full, is_uniform: true, .. }] = extents[..]
            && one.end % step == 0
        {
            let end = if self.stores_only(run.group, mask) { full } else { end };
            return Ok(Some(Bounds { extent: full, full, end, none: vec![mask], masks, ends: None }));
        }
        let zero = self.b.i64(0);
        let (mut full, mut ends) = (end, zero);
        for extent in &extents {
            full = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[full, extent.full]);
            ends = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[ends, extent.end]);
        }
        full = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[full, zero]);
        let extent = full;
        let whole = self.b.i64(-step);
        full = self.b.and(full, whole);
        let last = self.last_needed(run.group, &extents, end);
        let last = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[last, full]);
        Ok(Some(Bounds { extent, full, end: last, none: Vec::new(), masks, ends: Some(ends) }))
    }

    /// Where a group that only stores under masks may stop.
    fn last_needed(&mut self, group: &Group, extents: &[Extent], end: Value) -> Value {
        let mut last = self.b.i64(0);
        for root in group.roots.iter().filter(|root| !matches!(root, Root::Scan(_))) {
            let Root::Store(op) = root else { return end };
            let mask = memory::mask(self.module, *op);
            let extent = extents.iter().find(|extent| Some(extent.mask) == mask);
            let Some(extent) = extent else { return end };
            last = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[last, extent.end]);
        }
        self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[last, end])
    }

    /// How far a mask holds along the vector dimension, if its form alone says so.
    fn extent(&mut self, mask: IrValue, at: &At, var: LoopVar, end: Value) -> Option<Extent> {
        let mut forms = self.forms();
        let extent = forms.scoped(|forms| match forms.eval(mask, at) {
            Ok(Val::Window(window)) if window.linear.coefficient(var) == -1 => {
                let more = forms.linear(&window.linear.add(&Linear::counter(var)));
                let extent = match window.count {
                    Some(count) => forms.b.add(count, more),
                    None => end,
                };
                // A window that starts later leaves no chunk to run unmasked from the first on.
                let full = match window.start {
                    Some(start) => {
                        let start = forms.b.add(start, more);
                        let zero = forms.b.i64(0);
                        let is_first = forms.b.icmp(llir::IntCompare::Sle, start, zero);
                        forms.b.select(is_first, extent, zero)
                    }
                    None => extent,
                };
                Some(Extent { mask, full, end: extent, is_uniform: false })
            }
            Ok(Val::Uniform(condition)) => {
                let zero = forms.b.i64(0);
                let end = forms.b.select(condition, end, zero);
                Some(Extent { mask, full: end, end, is_uniform: true })
            }
            Ok(_) | Err(_) => None,
        });
        extent.filter(|_| !forms.is_open)
    }
}
