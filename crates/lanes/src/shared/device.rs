//! What the lanes of a program touch in device memory, and which two touches are of the same element by different
//! lanes.
//!
//! A program runs as if its operations ran one behind the other. Lanes do not wait for each other of themselves: where
//! one lane stores what another has loaded before, or loads what another has stored, a barrier stands between. No
//! barrier is needed between memory of different parameters, which are taken to lie apart unless both are the same
//! pointer and are accessed alike, between accesses through one block of pointers of which each lane touches its own
//! elements, and between blocks that begin at the same address plus constants and do not reach each other.
//!
//! ```text
//! %x = tt.load %p                %x = tt.load %p             %p: tensor<512x!tt.ptr<f32>, #a>
//! tt.store %p, %y                (barrier)
//!                                tt.store %q, %y             %q: tensor<512x!tt.ptr<f32>, #b>
//! ```

use crate::free_bits::FreeBits;
use crate::layouts::layout_of;
use ir::{Def, Effect, Module, Op, Traits, Value};
use std::collections::BTreeMap;
use ttgir::ops::buffer::offsets;
use ttgir::roots::{Root, Roots, effect, is_pointer, stores};
use ttir::distinct::are_distinct;
use ttir::ops::arith_int::{MULI, int_value};
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::memory::AddPtrOp;
use ttir::ops::shape::MakeRangeOp;

/// Whether an operation only spreads, arranges or widens the elements of its operand.
fn moves(module: &Module, op: Op) -> bool {
    module.has(op, Traits::MOVES) || module.has(op, Traits::WIDENS)
}

/// Which lanes touch what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum By {
    /// The first lane of all touches a single element.
    First,
    /// The lanes that own the elements of this block of pointers; other lanes touch them as well, if so: those that
    /// hold copies, and those whose elements may be the same.
    Owners(Value, bool),
    /// Any.
    Any,
}

/// A touch of device memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Touch {
    /// Where the pointer comes from.
    root: Root,
    by: By,
    /// Whether it was in an earlier iteration, in which the operands of the pointer may have had other values.
    earlier: bool,
    /// Atomics among each other are in the order that they ask for.
    atomic: bool,
}

impl Touch {
    /// Whether it and another may be of the same element by different lanes.
    pub(super) fn meets(self, other: Touch, module: &Module) -> bool {
        let own = match (self.by, other.by) {
            (By::First, By::First) => true,
            (By::Owners(one, shared), By::Owners(two, also)) => one == two && !shared && !also,
            _ => false,
        };
        !(own || self.atomic && other.atomic) && self.root.meets(other.root) && !self.is_apart(other, module)
    }

    /// Whether both are of blocks that begin so far from each other that neither reaches the other.
    fn is_apart(self, other: Touch, module: &Module) -> bool {
        let (By::Owners(one, _), By::Owners(two, _)) = (self.by, other.by) else { return false };
        let form = |pointer| Form::of(module, pointer);
        !self.earlier
            && !other.earlier
            && form(one).zip(form(two)).is_some_and(|(one, two)| one.is_apart(&two))
    }

    /// The touch in a function that may be called more than once, with other pointers each time.
    pub(super) fn in_call(self) -> Touch {
        let by = if matches!(self.by, By::First) { By::First } else { By::Any };
        Touch { by, ..self }
    }

    /// The touch as a later iteration of a loop sees it.
    pub(super) fn in_next_iteration(self, module: &Module, around: Op) -> Touch {
        match self.by {
            By::Owners(pointer, _)
                if !module.is_outside(pointer, around) && !moves_on(module, pointer, around) =>
            {
                Touch { by: By::Any, ..self }
            }
            By::Owners(pointer, _) if !module.is_outside(pointer, around) => Touch { earlier: true, ..self },
            _ => self,
        }
    }
}

/// The parameters that pointers come from.
#[derive(Default, Debug)]
pub(super) struct Device {
    roots: Roots,
    /// Whether it is stored to at all: what is only read needs no order.
    is_written: bool,
    /// Where pointers that are stored to come from.
    stored: Vec<Root>,
}

impl Device {
    /// What the operations of a kernel, and of the functions that it calls, may touch.
    pub(super) fn of(module: &Module, kernel: Op, ops: &[Op]) -> Device {
        let is_written = ops.iter().any(|&op| stores(module, op));
        let roots = if is_written { Roots::of(module, kernel, ops) } else { Roots::default() };
        let mut device = Device { roots, is_written, stored: Vec::new() };
        if is_written {
            for &op in ops {
                device.note_stores(module, op);
            }
        }
        device
    }

    fn note_stores(&mut self, module: &Module, op: Op) {
        for (pointer, _) in pointers(module, op).filter(|(_, effect)| !matches!(effect, Effect::Read)) {
            for root in self.roots.get(pointer) {
                if !self.stored.contains(root) {
                    self.stored.push(*root);
                }
            }
        }
    }

    /// Whether anything is stored.
    pub(super) fn is_written(&self) -> bool {
        self.is_written
    }

    /// What an operation loads, and what it stores.
    pub(super) fn touches(&self, module: &Module, op: Op) -> [Vec<Touch>; 2] {
        let mut touches = [Vec::new(), Vec::new()];
        if !self.is_written {
            return touches;
        }
        for (pointer, effect) in pointers(module, op) {
            let reads = matches!(effect, Effect::Read);
            // What is loaded and stored nowhere needs no order.
            let matters = |root: &Root| {
                *root != Root::Own && (!reads || self.stored.iter().any(|other| root.meets(*other)))
            };
            let mut roots = self.roots.get(pointer).iter().copied().filter(matters).peekable();
            if roots.peek().is_none() {
                continue;
            }
            let by = by(module, op, pointer, effect);
            let atomic = matches!(effect, Effect::Atomic);
            let list = &mut touches[usize::from(!reads)];
            list.extend(roots.map(|root| Touch { root, by, earlier: false, atomic }));
        }
        touches
    }
}

/// The pointers by which an operation touches memory, and what becomes of it.
fn pointers(module: &Module, op: Op) -> impl Iterator<Item = (Value, Effect)> {
    let groups = (0..module.row(op).operands.len()).map(move |group| (group, effect(module, op, group)));
    let touching = groups.filter(|(_, effect)| !matches!(effect, Effect::Nothing));
    touching.flat_map(move |(group, effect)| {
        let all = module.operand_group(op, group).iter().copied();
        all.filter(|&value| is_pointer(module.ty(value))).map(move |pointer| (pointer, effect))
    })
}

/// Which lanes touch what an operand points to.
fn by(module: &Module, op: Op, pointer: Value, effect: Effect) -> By {
    if matches!(effect, Effect::Unknown) {
        return By::Any;
    }
    let address = offsets(module, op).unwrap_or(pointer);
    let reads = matches!(effect, Effect::Read);
    if !ttir::types::is_tensor(module.ty(address)) {
        return if reads { By::Any } else { By::First };
    }
    let Ok(layout) = layout_of(module.ty(address)) else { return By::Any };
    let free = FreeBits::of(&layout);
    let has_copies = reads && (free.lane | free.warp | free.block) != 0;
    By::Owners(address, has_copies || !are_distinct(module, address))
}

/// Whether the elements that a block of pointers names in an iteration of a loop are none that it names in another.
fn moves_on(module: &Module, pointer: Value, around: Op) -> bool {
    if !module.is(around, &FOR) {
        return false;
    }
    let found = Walk { module, around: ForOp::new(module, around) }.value(pointer);
    found.is_some_and(|path| path.step.saturating_abs() > path.spread)
}

/// How a value changes from one iteration to the next, and how far its elements lie apart.
#[derive(Clone, Copy, Default)]
struct Path {
    step: i64,
    spread: i64,
}

struct Walk<'m> {
    module: &'m Module,
    around: ForOp<'m>,
}

impl Walk<'_> {
    /// `None` where it is not known.
    fn value(&self, value: Value) -> Option<Path> {
        let module = self.module;
        let outside = module.is_outside(value, self.around.op);
        if outside && !ttir::types::is_tensor(module.ty(value)) {
            return Some(Path::default());
        }
        match module.def(value) {
            Def::Arg(..) => self.carried(value),
            Def::Result(op, _) => self.result(op),
        }
    }

    /// What the loop itself counts or carries.
    fn carried(&self, value: Value) -> Option<Path> {
        let at = |step| Some(Path { step, spread: 0 });
        if value == self.around.counter() {
            return at(int_value(self.module, self.around.step())?);
        }
        let index = self.around.carried().iter().position(|&arg| arg == value)?;
        let start = self.value(self.around.inits()[index])?;
        let next =
            AddPtrOp::def(self.module, self.around.yielded()[index]).filter(|next| next.ptr() == value)?;
        Some(Path { step: int_value(self.module, next.offset())?, ..start })
    }

    fn result(&self, op: Op) -> Option<Path> {
        let module = self.module;
        if let Some(range) = MakeRangeOp::of(module, op) {
            return Some(Path { step: 0, spread: i64::from(range.end()) - i64::from(range.start()) - 1 });
        }
        if int_value(module, module.result(op, 0)).is_some() {
            return Some(Path::default());
        }
        if module.has(op, Traits::ADDS) {
            let of = BinaryOp::new(module, op);
            let (one, two) = (self.value(of.lhs())?, self.value(of.rhs())?);
            return Some(Path {
                step: one.step.checked_add(two.step)?,
                spread: one.spread.checked_add(two.spread)?,
            });
        }
        if module.is(op, &MULI) {
            let of = BinaryOp::new(module, op);
            let by = int_value(module, of.rhs())?;
            let path = self.value(of.lhs())?;
            return Some(Path {
                step: path.step.checked_mul(by)?,
                spread: path.spread.checked_mul(by.checked_abs()?)?,
            });
        }
        moves(module, op).then(|| self.value(UnaryOp::new(module, op).src()))?
    }
}

/// The longest distance between two blocks that says that they lie apart: sums of 32 bits may wrap around.
const FARTHEST: i64 = 1 << 30;

/// A block of addresses or indices: a sum of scalars, each with a factor, and of a constant, to which every element
/// adds at most `spread`.
#[derive(Clone, Default)]
struct Form {
    scalars: BTreeMap<Value, i64>,
    constant: i64,
    spread: i64,
}

impl Form {
    /// `None` where a part of it is neither a scalar nor a range of constants.
    fn of(module: &Module, value: Value) -> Option<Form> {
        if let Some(constant) = int_value(module, value) {
            return Some(Form { constant, ..Form::default() });
        }
        if !ttir::types::is_tensor(module.ty(value)) {
            return Some(Form { scalars: BTreeMap::from([(value, 1)]), ..Form::default() });
        }
        // Sums of narrow integers wrap around after short distances.
        let is_narrow = ttir::types::elem(module.ty(value)).as_int().is_some_and(|bits| bits < 32);
        let Def::Result(op, _) = module.def(value) else { return None };
        if let Some(range) = MakeRangeOp::of(module, op) {
            let (start, end) = (i64::from(range.start()), i64::from(range.end()));
            return Some(Form { constant: start, spread: end - start - 1, ..Form::default() });
        }
        if !is_narrow && module.has(op, Traits::ADDS) {
            let of = BinaryOp::new(module, op);
            return Form::of(module, of.lhs())?.plus(Form::of(module, of.rhs())?);
        }
        if !is_narrow && module.is(op, &MULI) {
            let of = BinaryOp::new(module, op);
            return Form::of(module, of.lhs())?.times(int_value(module, of.rhs())?);
        }
        (!is_narrow && moves(module, op)).then(|| Form::of(module, UnaryOp::new(module, op).src()))?
    }

    fn plus(mut self, other: Form) -> Option<Form> {
        for (scalar, factor) in other.scalars {
            let sum = self.scalars.entry(scalar).or_insert(0);
            *sum = sum.checked_add(factor)?;
        }
        self.constant = self.constant.checked_add(other.constant)?;
        self.spread = self.spread.checked_add(other.spread)?;
        Some(self)
    }

    /// Factors are positive: elements then only ever add to where a block begins.
    fn times(mut self, factor: i64) -> Option<Form> {
        if factor < 0 {
            return None;
        }
        for own in self.scalars.values_mut().chain([&mut self.constant, &mut self.spread]) {
            *own = own.checked_mul(factor)?;
        }
        Some(self)
    }

    fn is_apart(&self, other: &Form) -> bool {
        let Some(distance) = other.constant.checked_sub(self.constant) else { return false };
        let reach = if distance > 0 { self.spread } else { other.spread };
        self.scalars == other.scalars
            && distance.saturating_abs() > reach
            && distance.saturating_abs().saturating_add(self.spread.max(other.spread)) < FARTHEST
    }
}
