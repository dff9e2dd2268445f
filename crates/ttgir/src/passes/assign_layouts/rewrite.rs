//! Gives every block the layout that was decided: sets types, computes cheap values anew where they are wanted in
//! several layouts, and converts the others.
//!
//! A conversion stands right behind the definition of what it converts, so that one serves all and none is in a loop
//! that need not be.

use super::layouts::{Layout, Layouts, Side};
use super::ties::tied;
use crate::ops::convert::CONVERT_LAYOUT;
use ir::{Attr, Def, Module, Op, OpInit, OpRow, Traits, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use ttir::ops::arith_cast::{EXTSI, EXTUI};
use ttir::ops::constant::ConstantOp;
use ttir::ops::control::ForOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::{BROADCAST, EXPAND_DIMS, RESHAPE};
use ttir::types::{is_tensor, shape};

/// What was decided.
pub(crate) struct Assignment {
    /// The layouts of values that are not cheap.
    pub(crate) homes: Vec<(Value, Layout)>,
    /// What operand slots want; `None` for any layout.
    pub(crate) wants: Vec<((Op, u32), Option<Layout>)>,
    /// Values that may be computed anew.
    pub(crate) cheap: FxHashSet<Value>,
}

/// Carries a plan out on a function; whether that took no operation away and made none.
pub(crate) fn rewrite(module: &mut Module, function: Op, layouts: &mut Layouts, plan: &Assignment) -> bool {
    let homes: FxHashMap<Value, Layout> = plan.homes.iter().copied().collect();
    let mut rewriter = Rewriter {
        module,
        layouts,
        homes,
        cheap: &plan.cheap,
        copies: FxHashMap::default(),
        originals: FxHashMap::default(),
    };
    for &(value, layout) in &plan.homes {
        rewriter.retype(value, layout);
    }
    for &((op, slot), want) in &plan.wants {
        rewriter.fill(op, slot, want);
    }
    let is_whole = rewriter.finish(function);
    is_whole && rewriter.copies.is_empty()
}

struct Rewriter<'a> {
    module: &'a mut Module,
    layouts: &'a mut Layouts,
    /// The layout in which each value stands.
    homes: FxHashMap<Value, Layout>,
    cheap: &'a FxHashSet<Value>,
    /// The same value in other layouts.
    copies: FxHashMap<(Value, Layout), Value>,
    /// What each copy is a copy of: an operation that is cloned may take the copy.
    originals: FxHashMap<Value, Value>,
}

/// The operation that makes a value of fewer bits, which are converted in its place: it widens numbers or repeats them.
fn made_of_less(module: &Module, value: Value) -> Option<Op> {
    let is_one_of = |op: Op, rows: &[&OpRow]| rows.iter().any(|row| module.is(op, row));
    let op = module.def_op(value).filter(|&op| !module.has(op, Traits::LOOP))?;
    if is_one_of(op, &[&BROADCAST, &EXTSI, &EXTUI]) {
        return Some(op);
    }
    let repeats = |op: Op| made_of_less(module, UnaryOp::new(module, op).src()).is_some();
    (is_one_of(op, &[&RESHAPE, &EXPAND_DIMS]) && repeats(op)).then_some(op)
}

impl Rewriter<'_> {
    fn retype(&mut self, value: Value, layout: Layout) {
        let ty = self.layouts.retyped(layout, self.module.ty(value));
        self.module.set_ty(value, ty);
        if let Some(constant) = ConstantOp::def(self.module, value)
            && let Attr::Dense { elements, .. } = constant.value().clone()
        {
            let op = constant.op;
            ConstantOp::set_value(self.module, op, &Attr::Dense { ty, elements });
        }
    }

    fn fill(&mut self, op: Op, slot: u32, want: Option<Layout>) {
        let value = self.module.operand(op, slot as usize);
        let wanted = self.get(value, want);
        if wanted != value {
            self.module.set_operand(op, slot as usize, wanted);
        }
    }

    /// A value in a layout.
    fn get(&mut self, value: Value, want: Option<Layout>) -> Value {
        if !is_tensor(self.module.ty(value)) {
            return value;
        }
        let value = ir::mapped(&self.originals, value);
        let home = self.homes.get(&value).copied();
        let Some(want) = want.or(home) else {
            let layout = self.layouts.default_for(shape(self.module.ty(value)));
            return self.get(value, Some(layout));
        };
        if home == Some(want) {
            return value;
        }
        if let Some(&copy) = self.copies.get(&(value, want)) {
            return copy;
        }
        if !self.cheap.contains(&value) {
            return self.convert(value, want);
        }
        match self.module.def(value) {
            Def::Arg(block, index) => {
                let around = self.module.region_parent(self.module.block_region(block));
                around.map_or(value, |op| self.carry(op, index as usize - 1, want, false))
            }
            Def::Result(op, index) if self.module.has(op, Traits::LOOP) => {
                self.carry(op, index as usize, want, true)
            }
            Def::Result(op, _) => self.compute(op, value, want),
        }
    }

    fn convert(&mut self, value: Value, want: Layout) -> Value {
        if let Some(op) = made_of_less(self.module, value) {
            return self.compute_copy(op, value, want);
        }
        let ty = self.layouts.retyped(want, self.module.ty(value));
        let init = OpInit { operands: smallvec![value], results: smallvec![ty], ..OpInit::default() };
        let copy = match self.module.def(value) {
            Def::Result(op, _) => {
                let loc = self.module.loc(op);
                let convert = self.module.create(&CONVERT_LAYOUT, init, loc);
                self.module.insert_after(op, convert);
                convert
            }
            Def::Arg(block, index) => {
                let loc = self.module.arg_loc(block, index as usize);
                let convert = self.module.create(&CONVERT_LAYOUT, init, loc);
                self.module.prepend(block, convert);
                convert
            }
        };
        let result = self.module.result(copy, 0);
        self.copy(value, want, result);
        result
    }

    /// Notes that a value is another one in a layout.
    fn copy(&mut self, value: Value, want: Layout, copy: Value) {
        self.copies.insert((value, want), copy);
        self.originals.insert(copy, value);
    }

    /// Computes a cheap value in a layout: in place the first time, by a copy of its operation later.
    fn compute(&mut self, op: Op, value: Value, want: Layout) -> Value {
        if self.homes.contains_key(&value) {
            return self.compute_copy(op, value, want);
        }
        self.homes.insert(value, want);
        self.fill_all(op, value, want);
        value
    }

    fn compute_copy(&mut self, op: Op, value: Value, want: Layout) -> Value {
        let copy = self.module.clone_op(op, &mut FxHashMap::default());
        self.module.insert_before(op, copy);
        let result = self.module.result(copy, 0);
        self.copy(value, want, result);
        self.fill_all(copy, result, want);
        result
    }

    /// Gives what an operation makes a layout, and what it takes those that follow from that.
    fn fill_all(&mut self, op: Op, result: Value, want: Layout) {
        self.retype(result, want);
        let operand = tied(self.layouts, self.module, op, Side::Operand, want);
        for slot in 0..self.module.operands(op).len() as u32 {
            self.fill(op, slot, operand);
        }
    }

    /// Carries a cheap value through a counted loop in a layout; the argument of the body, or the loop's result.
    fn carry(&mut self, op: Op, index: usize, want: Layout, result: bool) -> Value {
        let body = self.module.entry_of(op);
        let (old_arg, old_result) = (self.module.args(body)[index + 1], self.module.result(op, index));
        let last = self.module.terminator(body);
        let (init, yielded) = (ForOp::new(self.module, op).inits()[index], self.module.operand(last, index));
        if !self.homes.contains_key(&old_arg) {
            self.homes.insert(old_arg, want);
            self.homes.insert(old_result, want);
            self.retype(old_arg, want);
            self.retype(old_result, want);
            self.fill(op, (ForOp::NUM_BOUNDS + index) as u32, Some(want));
            self.fill(last, index as u32, Some(want));
            return if result { old_result } else { old_arg };
        }
        let ty = self.layouts.retyped(want, self.module.ty(old_arg));
        let new_arg = self.module.add_arg(body, ty);
        let new_result = self.module.push_result(op, ty);
        if let Some(name) = self.module.name(old_arg).map(str::to_owned) {
            self.module.set_name(new_arg, &name);
        }
        self.copy(old_arg, want, new_arg);
        self.copy(old_result, want, new_result);
        let init = self.get(init, Some(want));
        self.module.push_operand(op, init);
        // Pushed before it is known, since computing it may add further carried values.
        let at = self.module.operands(last).len();
        self.module.push_operand(last, new_arg);
        let yielded = self.get(yielded, Some(want));
        self.module.set_operand(last, at, yielded);
        if result { new_result } else { new_arg }
    }

    /// Removes what nobody wanted, and says whether that was nothing; what must stay gets some layout.
    fn finish(&mut self, function: Op) -> bool {
        let mut is_whole = true;
        let ops: SmallVec<[Op; 64]> = self.module.walk(function).into_iter().collect();
        for &op in ops.iter().rev() {
            let tensors = self.module.results(op).iter().any(|&value| is_tensor(self.module.ty(value)));
            if !tensors {
                continue;
            }
            let unused = self.module.results(op).iter().all(|&value| self.module.is_unused(value));
            if unused && ir::passes::is_removable(self.module, op) {
                self.module.erase(op);
                is_whole = false;
                continue;
            }
            for index in 0..self.module.results(op).len() {
                let value = self.module.result(op, index);
                if is_tensor(self.module.ty(value))
                    && self.cheap.contains(&value)
                    && !self.homes.contains_key(&value)
                {
                    self.get(value, None);
                }
            }
        }
        is_whole
    }
}
