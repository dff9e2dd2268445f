//! How integers and addresses of a program are made of uniform numbers and of positions along the axes of a block.
//!
//! ```text
//! %i = arith.remsi (tt.splat %s + range 0..128), (tt.splat %m)       axis 0: (%s + 0..128) below %m
//! tt.addptr (tt.splat %p), %i * %stride + range 0..64                %p + %i * %stride + 0..64
//! scf.for %k … iter_args(%q = %first) { … tt.addptr %q, %step }      %q = %first + %k * %step
//! ```

use super::poly::Poly;
use crate::ops::arith_cast::EXTSI;
use crate::ops::arith_int::{ADDI, ANDI, DIVSI, MAXSI, MINSI, MULI, REMSI, SUBI, int_value};
use crate::ops::compare::{CmpIOp, CmpIPredicate, SelectOp};
use crate::ops::control::{FOR, ForOp};
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::memory::AddPtrOp;
use crate::ops::shape::{BROADCAST, ExpandDimsOp, MakeRangeOp, SPLAT, TransOp};
use crate::types::{elem, is_tensor, pointee, shape};
use ir::{Def, Module, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Operations that are followed from one value, at most.
const DEPTH: u32 = 48;

/// The positions along one axis of a block: `start`, `start + 1`, ….
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrap {
    /// The first position.
    pub(super) start: Poly,
    /// Positions from this one on are taken to others below it.
    pub(super) extent: Poly,
}

/// What one axis of a block adds: a multiple of positions 0, 1, …, or of those of a [`Wrap`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    /// What a step adds.
    pub(super) scale: Poly,
    /// Where positions do not begin at zero and do not go on for ever.
    pub(super) wrap: Option<Wrap>,
}

/// An integer: a uniform number, and what each axis adds. A scalar has no axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// What all elements have in common.
    pub(super) uniform: Poly,
    /// By axis; none where all elements along it are equal.
    pub(super) axes: SmallVec<[Option<Axis>; 4]>,
}

/// An address.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// The pointer that it is an offset from.
    pub(super) base: Value,
    /// The offset, in elements.
    pub(super) offset: Form,
    /// Bits in which offsets, or products in them, were computed, the fewest.
    pub(super) bits: u32,
}

impl Form {
    fn scalar(uniform: Poly) -> Form {
        Form { uniform, axes: SmallVec::new() }
    }

    fn uniform(uniform: Poly, rank: usize) -> Form {
        Form { uniform, axes: smallvec![None; rank] }
    }

    /// Whether all elements are equal.
    pub(super) fn is_uniform(&self) -> bool {
        self.axes.iter().all(Option::is_none)
    }

    fn plus(&self, other: &Form) -> Option<Form> {
        let axes = self.axes.iter().zip(&other.axes).map(|(one, two)| match (one, two) {
            (Some(one), Some(two)) if one.wrap == two.wrap => {
                let scale = one.scale.plus(&two.scale)?;
                Some((!scale.is_zero()).then(|| Axis { scale, wrap: one.wrap.clone() }))
            }
            (Some(_), Some(_)) => None,
            (one, two) => Some(one.clone().or_else(|| two.clone())),
        });
        let axes = axes.collect::<Option<_>>()?;
        (self.axes.len() == other.axes.len()).then_some(())?;
        Some(Form { uniform: self.uniform.plus(&other.uniform)?, axes })
    }

    fn times(&self, by: &Poly) -> Option<Form> {
        let axes = self.axes.iter().map(|axis| match axis {
            Some(axis) => {
                let scale = axis.scale.times(by)?;
                Some((!scale.is_zero()).then(|| Axis { scale, wrap: axis.wrap.clone() }))
            }
            None => Some(None),
        });
        Some(Form { uniform: self.uniform.times(by)?, axes: axes.collect::<Option<_>>()? })
    }

    /// The difference of two.
    pub(super) fn minus(&self, other: &Form) -> Option<Form> {
        self.plus(&other.times(&Poly::constant(-1))?)
    }

    /// The axis along which alone it counts up by one, and what it begins with.
    fn counts(&self) -> Option<(usize, &Poly)> {
        let mut axes = self.axes.iter().enumerate().filter_map(|(at, axis)| Some((at, axis.as_ref()?)));
        let (at, axis) = axes.next()?;
        let plain = axis.wrap.is_none() && axis.scale.as_constant() == Some(1) && axes.next().is_none();
        plain.then_some((at, &self.uniform))
    }
}

/// The forms of the values of a program.
pub(super) struct Forms<'m> {
    /// The program.
    pub(super) module: &'m Module,
    /// Scalars that are computed alike have one name.
    names: FxHashMap<(&'static str, Poly, Poly), Value>,
    /// All scalars of a name that stands for several.
    alike: FxHashMap<Value, Vec<Value>>,
    /// Carried values that are looked through at the moment: each stands for itself.
    open: Vec<Value>,
    /// Whether numbers that nobody knows were multiplied in 32 bits.
    is_narrow: bool,
}

impl<'m> Forms<'m> {
    /// Nothing is known yet.
    pub(super) fn new(module: &'m Module) -> Forms<'m> {
        Forms {
            module,
            names: FxHashMap::default(),
            alike: FxHashMap::default(),
            open: Vec::new(),
            is_narrow: false,
        }
    }

    /// A value that a name stands for, of those that reach an operation.
    pub(super) fn reaching(&self, name: Value, op: Op) -> Option<Value> {
        let others = self.alike.get(&name).map_or(&[][..], Vec::as_slice);
        std::iter::once(&name).chain(others).copied().find(|&value| reaches(self.module, value, op))
    }

    /// A scalar as a sum of products of others.
    pub(super) fn scalar(&mut self, value: Value) -> Option<Poly> {
        let form = self.int(value, DEPTH)?;
        form.axes.is_empty().then_some(form.uniform)
    }

    /// The form of an integer, or of a block of integers.
    fn int(&mut self, value: Value, depth: u32) -> Option<Form> {
        let module = self.module;
        let ty = module.ty(value);
        elem(ty).as_int().filter(|bits| matches!(bits, 32 | 64))?;
        let rank = shape(ty).len();
        if let Some(number) = int_value(module, value) {
            return Some(Form::uniform(Poly::constant(number), rank));
        }
        if self.open.contains(&value) {
            return Some(Form::uniform(Poly::atom(value), rank));
        }
        let found = depth.checked_sub(1).and_then(|depth| match module.def(value) {
            Def::Arg(..) => self.carried(value, depth),
            Def::Result(op, _) => self.computed(op, depth),
        });
        // A scalar is at least itself.
        found.or_else(|| (!is_tensor(ty)).then(|| self.named(value, depth)))
    }

    fn computed(&mut self, op: Op, depth: u32) -> Option<Form> {
        let module = self.module;
        if let Some(range) = MakeRangeOp::of(module, op) {
            let axis = Axis { scale: Poly::constant(1), wrap: None };
            return Some(Form { uniform: Poly::constant(range.start().into()), axes: smallvec![Some(axis)] });
        }
        if module.is(op, &EXTSI) {
            return self.int(UnaryOp::new(module, op).src(), depth);
        }
        if module.is(op, &ADDI) || module.is(op, &SUBI) || module.is(op, &MULI) {
            let of = BinaryOp::new(module, op);
            let (one, two) = (self.int(of.lhs(), depth)?, self.int(of.rhs(), depth)?);
            let is_known = |form: &Form| form.is_uniform() && form.uniform.as_constant().is_some();
            if module.is(op, &MULI) && elem(module.ty(of.result())).as_int() == Some(32) {
                self.is_narrow |= !is_known(&one) && !is_known(&two);
            }
            return match () {
                () if module.is(op, &ADDI) => one.plus(&two),
                () if module.is(op, &SUBI) => one.minus(&two),
                () if two.is_uniform() => one.times(&two.uniform),
                () if one.is_uniform() => two.times(&one.uniform),
                () => None,
            };
        }
        if !is_tensor(module.ty(module.result(op, 0))) {
            return None;
        }
        if let Some(moved) = self.moved(op, depth, Self::int) {
            return Some(moved);
        }
        self.wrapped(op, depth)
    }

    /// The form of what an operation lays out otherwise.
    fn moved(
        &mut self,
        op: Op,
        depth: u32,
        of: impl FnOnce(&mut Self, Value, u32) -> Option<Form>,
    ) -> Option<Form> {
        let module = self.module;
        let rank = shape(module.ty(module.result(op, 0))).len();
        if module.is(op, &SPLAT) {
            let form = of(self, UnaryOp::new(module, op).src(), depth)?;
            return Some(Form { axes: smallvec![None; rank], ..form });
        }
        if module.is(op, &BROADCAST) {
            return of(self, UnaryOp::new(module, op).src(), depth);
        }
        if let Some(expand) = ExpandDimsOp::of(module, op) {
            let mut form = of(self, expand.src(), depth)?;
            form.axes.insert(expand.axis(), None);
            return Some(form);
        }
        let trans = TransOp::of(module, op)?;
        let form = of(self, trans.src(), depth)?;
        let axes = trans.order().iter().map(|&from| form.axes.get(usize::try_from(from).ok()?).cloned());
        Some(Form { axes: axes.collect::<Option<_>>()?, ..form })
    }

    /// Positions that end before a size: `(start + range) % size`, or those beyond it replaced by others.
    fn wrapped(&mut self, op: Op, depth: u32) -> Option<Form> {
        let module = self.module;
        let (position, extent) = if module.is(op, &REMSI) {
            let of = BinaryOp::new(module, op);
            (self.int(of.lhs(), depth)?, self.int(of.rhs(), depth)?)
        } else if module.is(op, &MINSI) {
            let of = BinaryOp::new(module, op);
            let (one, two) = (self.int(of.lhs(), depth)?, self.int(of.rhs(), depth)?);
            let (position, last) = if two.is_uniform() { (one, two) } else { (two, one) };
            (position, last.plus(&Form::uniform(Poly::constant(1), last.axes.len()))?)
        } else {
            let select = SelectOp::of(module, op)?;
            let compare = CmpIOp::def(module, select.condition())?;
            let is_below = compare.predicate() == CmpIPredicate::Slt && compare.lhs() == select.true_value();
            if !is_below || int_value(module, select.false_value()) != Some(0) {
                return None;
            }
            (self.int(compare.lhs(), depth)?, self.int(compare.rhs(), depth)?)
        };
        let (at, start) = position.counts().filter(|_| extent.is_uniform())?;
        let wrap = Wrap { start: start.clone(), extent: extent.uniform };
        let mut axes = smallvec![None; position.axes.len()];
        axes[at] = Some(Axis { scale: Poly::constant(1), wrap: Some(wrap) });
        Some(Form { uniform: Poly::default(), axes })
    }

    /// A scalar by itself. Quotients and the like of equal numbers have one name.
    fn named(&mut self, value: Value, depth: u32) -> Form {
        let itself = Form::scalar(Poly::atom(value));
        let Def::Result(op, _) = self.module.def(value) else { return itself };
        if ![&DIVSI, &REMSI, &MINSI, &MAXSI].iter().any(|row| self.module.is(op, row)) {
            return itself;
        }
        let of = BinaryOp::new(self.module, op);
        let parts = (self.int(of.lhs(), depth), self.int(of.rhs(), depth));
        let (Some(one), Some(two)) = parts else { return itself };
        if !self.open.is_empty() {
            return itself;
        }
        let key = (self.module.row(op).name, one.uniform, two.uniform);
        let name = *self.names.entry(key).or_insert(value);
        if name != value {
            let alike = self.alike.entry(name).or_default();
            if !alike.contains(&value) {
                alike.push(value);
            }
        }
        Form::scalar(Poly::atom(name))
    }

    /// The counter of a loop, or a value that a loop carries and adds the same to in every iteration.
    fn carried(&mut self, value: Value, depth: u32) -> Option<Form> {
        let (around, number) = carried_by(self.module, value)?;
        let of = ForOp::new(self.module, around);
        let first = self.int(of.inits()[number], depth)?;
        let next = of.yielded()[number];
        self.open.push(value);
        let next = self.int(next, depth);
        self.open.pop();
        let itself = Form::uniform(Poly::atom(value), first.axes.len());
        let step = next?.minus(&itself)?;
        first.plus(&self.steps(around, &step, depth)?)
    }

    /// What an equal step in every iteration comes to in this one.
    fn steps(&mut self, around: Op, step: &Form, depth: u32) -> Option<Form> {
        let of = ForOp::new(self.module, around);
        let is_outside = |value: Value| self.module.is_outside(value, around);
        if !step.is_uniform() || !step.uniform.atoms().all(is_outside) {
            return None;
        }
        let by = int_value(self.module, of.step())?;
        let lower = self.int(of.lower(), depth)?.uniform;
        let counted = Poly::atom(of.counter()).minus(&lower)?;
        let uniform = step.uniform.divided_by(by)?.times(&counted)?;
        Some(Form { uniform, axes: step.axes.clone() })
    }

    /// The form of an address, or of a block of addresses.
    pub(super) fn address(&mut self, value: Value) -> Option<Address> {
        self.is_narrow = false;
        let address = self.pointer(value, DEPTH)?;
        let bits = if self.is_narrow { address.bits.min(32) } else { address.bits };
        Some(Address { bits, ..address })
    }

    fn pointer(&mut self, value: Value, depth: u32) -> Option<Address> {
        let module = self.module;
        let ty = module.ty(value);
        pointee(elem(ty))?;
        let rank = shape(ty).len();
        let depth = depth.checked_sub(1)?;
        let itself = || Address { base: value, offset: Form::uniform(Poly::default(), rank), bits: 64 };
        if self.open.contains(&value) {
            return Some(itself());
        }
        let op = match module.def(value) {
            Def::Arg(..) if carried_by(module, value).is_some() => return self.carried_pointer(value, depth),
            Def::Arg(..) => return (!is_tensor(ty)).then(itself),
            Def::Result(op, _) => op,
        };
        if let Some(add) = AddPtrOp::of(module, op) {
            let address = self.pointer(add.ptr(), depth)?;
            let bits = elem(module.ty(add.offset())).as_int()?;
            let offset = address.offset.plus(&self.int(add.offset(), depth)?)?;
            return Some(Address { offset, bits: bits.min(address.bits), ..address });
        }
        let mut found = None;
        let offset = self.moved(op, depth, |this, source, depth| {
            let address = this.pointer(source, depth)?;
            let offset = address.offset.clone();
            found = Some(address);
            Some(offset)
        })?;
        Some(Address { offset, ..found? })
    }

    fn carried_pointer(&mut self, value: Value, depth: u32) -> Option<Address> {
        let (around, number) = carried_by(self.module, value)?;
        let of = ForOp::new(self.module, around);
        let first = self.pointer(of.inits()[number], depth)?;
        self.open.push(value);
        let next = self.pointer(of.yielded()[number], depth);
        self.open.pop();
        let step = next.filter(|next| next.base == value)?;
        let offset = first.offset.plus(&self.steps(around, &step.offset, depth)?)?;
        Some(Address { offset, bits: first.bits.min(step.bits), ..first })
    }

    /// A mask as the differences that must all be negative for an element to be there; none for what is not such.
    pub(super) fn mask(&mut self, value: Value) -> Option<Vec<Form>> {
        self.conditions(value, DEPTH)
    }

    fn conditions(&mut self, value: Value, depth: u32) -> Option<Vec<Form>> {
        let module = self.module;
        let depth = depth.checked_sub(1)?;
        let op = module.def_op(value)?;
        if module.is(op, &ANDI) {
            let of = BinaryOp::new(module, op);
            let mut all = self.conditions(of.lhs(), depth)?;
            all.extend(self.conditions(of.rhs(), depth)?);
            return Some(all);
        }
        if let Some(compare) = CmpIOp::of(module, op) {
            let (one, two) = (self.int(compare.lhs(), depth)?, self.int(compare.rhs(), depth)?);
            let one_more = |form: Form| {
                let one = Form::uniform(Poly::constant(-1), form.axes.len());
                form.plus(&one)
            };
            let difference = match compare.predicate() {
                CmpIPredicate::Slt => one.minus(&two)?,
                CmpIPredicate::Sgt => two.minus(&one)?,
                CmpIPredicate::Sle => one_more(one.minus(&two)?)?,
                CmpIPredicate::Sge => one_more(two.minus(&one)?)?,
                _ => return None,
            };
            return Some(vec![difference]);
        }
        let mut all = None;
        // Each is laid out as the mask is.
        let source = UnaryOp::of_moved(module, op)?;
        for condition in self.conditions(source, depth)? {
            let moved = self.moved(op, depth, |_, _, _| Some(condition))?;
            all.get_or_insert_with(Vec::new).push(moved);
        }
        all
    }
}

impl UnaryOp<'_> {
    /// What an operation lays out otherwise.
    fn of_moved(module: &Module, op: Op) -> Option<Value> {
        let moves = module.is(op, &SPLAT)
            || module.is(op, &BROADCAST)
            || ExpandDimsOp::of(module, op).is_some()
            || TransOp::of(module, op).is_some();
        moves.then(|| UnaryOp::new(module, op).src())
    }
}

/// The counted loop that carries a value, and its number among those.
fn carried_by(module: &Module, value: Value) -> Option<(Op, usize)> {
    let Def::Arg(block, at) = module.def(value) else { return None };
    let around = module.region_parent(module.block_region(block)).filter(|&op| module.is(op, &FOR))?;
    Some((around, (at as usize).checked_sub(1)?))
}

/// Whether a value is computed wherever an operation runs.
fn reaches(module: &Module, value: Value, op: Op) -> bool {
    let block = match module.def(value) {
        Def::Arg(block, _) => block,
        Def::Result(def, _) => match module.block_of(def) {
            Some(block) => block,
            None => return false,
        },
    };
    let mut around = std::iter::successors(Some(op), |&op| module.parent_op(op));
    let Some(user) = around.find(|&op| module.block_of(op) == Some(block)) else { return false };
    match module.def(value) {
        Def::Arg(..) => true,
        Def::Result(def, _) => {
            module.ops(block).find(|&op| op == def || op == user) == Some(def) && def != user
        }
    }
}
