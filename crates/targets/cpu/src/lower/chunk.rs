//! The chunks of a walk over an iteration space: what is fixed for them, and which of their values are known.

use super::emitter::Emitter;
use super::value::{Affine, At, Linear, Val, Window};
use ir::Value as IrValue;
use llir::{Type, Value, intrinsics};
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut};

/// What generated code takes for granted, because it runs behind a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assumed {
    /// Remainders that do not wrap around, with what to take away from their dividend.
    pub(crate) no_wrap: FxHashMap<IrValue, Value>,
    /// Quotients that are one number in all lanes.
    pub(crate) quotients: FxHashMap<IrValue, Value>,
    /// Divisors that serve by their inverses.
    pub(crate) inverses: FxHashMap<IrValue, Value>,
    /// Where stores of full vectors go past the caches: how many elements lead to the first aligned one.
    pub(crate) peel: Option<Value>,
    /// Whether these are none, so that chunks begin at the first one.
    pub(crate) begins_first: bool,
    /// Whether the group stores past the caches what it makes of no more than one load.
    pub(crate) is_of_one_load: bool,
}

/// Values of chunks known so far, by scope.
#[derive(Debug, Default)]
pub(crate) struct Memo(Vec<FxHashMap<(IrValue, u32), Val>>);

/// A walk over chunks.
pub(crate) struct Chunks<'w, 'a> {
    emitter: &'w mut Emitter<'a>,
    memo: &'w mut Memo,
    /// What is taken for granted.
    pub(crate) assumed: &'w Assumed,
    /// Lanes of a chunk.
    pub(crate) lanes: u32,
    /// Lanes that are inside of what the loop covers; `None` for all.
    pub(crate) limit: Option<Value>,
    /// Whether only forms are asked for, so that nothing is loaded and counters are not known.
    pub(crate) is_form: bool,
    /// Whether a form alone did not answer.
    pub(crate) is_open: bool,
}

impl<'a> Deref for Chunks<'_, 'a> {
    type Target = Emitter<'a>;

    fn deref(&self) -> &Emitter<'a> {
        self.emitter
    }
}

impl<'a> DerefMut for Chunks<'_, 'a> {
    fn deref_mut(&mut self) -> &mut Emitter<'a> {
        self.emitter
    }
}

impl<'w, 'a> Chunks<'w, 'a> {
    /// Chunks of so many lanes.
    pub(crate) fn new(
        emitter: &'w mut Emitter<'a>,
        memo: &'w mut Memo,
        assumed: &'w Assumed,
        lanes: u32,
    ) -> Chunks<'w, 'a> {
        Chunks { emitter, memo, assumed, lanes, limit: None, is_form: false, is_open: false }
    }

    /// The same walk in chunks of so many lanes.
    pub(crate) fn of_lanes(&mut self, lanes: u32) -> Chunks<'_, 'a> {
        Chunks { lanes, ..self.again() }
    }

    /// The same walk where only some lanes are inside.
    pub(crate) fn inside(&mut self, limit: Option<Value>) -> Chunks<'_, 'a> {
        Chunks { limit, ..self.again() }
    }

    /// The same walk, where only forms are asked for.
    pub(crate) fn forms(&mut self) -> Chunks<'_, 'a> {
        Chunks { is_form: true, ..self.again() }
    }

    fn again(&mut self) -> Chunks<'_, 'a> {
        let Chunks { assumed, lanes, limit, is_form, is_open, .. } = *self;
        Chunks { emitter: self.emitter, memo: self.memo, assumed, lanes, limit, is_form, is_open }
    }

    /// Runs a part of the walk: what becomes known in it is forgotten behind it.
    pub(crate) fn scoped<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        self.memo.0.push(FxHashMap::default());
        let made = part(self);
        self.memo.0.pop();
        made
    }

    /// The value of a block at a position, if it was made before or is a mask that is known here.
    pub(crate) fn known(&self, value: IrValue, at: &At) -> Option<Val> {
        let key = (value, at.id);
        self.memo.0.iter().rev().find_map(|scope| scope.get(&key)).cloned()
    }

    /// Notes the value of a block at a position.
    pub(crate) fn remember(&mut self, value: IrValue, at: &At, val: Val) {
        if let Some(scope) = self.memo.0.last_mut() {
            scope.insert((value, at.id), val);
        }
    }

    /// The type of so many lanes.
    pub(crate) fn vector_type(&self, lane: Type) -> Type {
        lane.with_lanes(self.lanes)
    }

    /// A mask that holds everywhere.
    pub(crate) fn all(&mut self) -> Value {
        let ty = self.vector_type(Type::I1);
        self.b.int(ty, -1)
    }

    /// A scalar in every lane of the current chunk.
    pub(crate) fn spread(&mut self, scalar: Value) -> Value {
        let lanes = self.lanes;
        if lanes == 1 { scalar } else { self.b.splat(scalar, lanes) }
    }

    /// 0, 1, 2, … in the lanes.
    pub(crate) fn iota(&mut self, lane: Type) -> Value {
        let lanes: Vec<i64> = (0..i64::from(self.lanes)).collect();
        self.table(lane, &lanes)
    }

    /// The `i64` that a linear form stands for. Where counters are not known, a form alone does not answer.
    pub(crate) fn linear(&mut self, linear: &Linear) -> Value {
        self.is_open |= linear.terms.iter().any(|&(var, _)| self.emitter.counter(var).is_none());
        self.emitter.linear(linear)
    }

    /// `base + linear` of an affine value, as a scalar. `element` is what addresses count in.
    pub(crate) fn scalar_of(&mut self, affine: &Affine, element: Type) -> Value {
        self.is_open |= affine.linear.terms.iter().any(|&(var, _)| self.emitter.counter(var).is_none());
        self.emitter.scalar_of(affine, element)
    }

    /// The vector (the scalar for one lane) behind a chunk value. `ty` is its type, of which the element counts.
    pub(crate) fn vector(&mut self, val: &Val, ty: ir::Type) -> Value {
        match val {
            Val::Vector(value) => *value,
            Val::Uniform(value) => self.spread(*value),
            Val::Affine(affine) => {
                let element = self.pointee(ty);
                self.affine_vector(affine, element)
            }
            Val::Offsets { base, offsets } => {
                let element = self.pointee(ty);
                self.b.gep(element, *base, *offsets)
            }
            Val::Window(window) => self.window_vector(window),
        }
    }

    fn affine_vector(&mut self, affine: &Affine, element: Type) -> Value {
        let scalar = self.scalar_of(affine, element);
        if affine.lanes.is_uniform() {
            return self.spread(scalar);
        }
        let lane = self.b.ty(scalar);
        if lane.is_ptr() {
            let table = self.table(Type::I64, &affine.lanes.0);
            return self.b.gep(element, scalar, table);
        }
        let (spread, table) = (self.spread(scalar), self.table(lane, &affine.lanes.0));
        self.b.add(spread, table)
    }

    /// An end of a window, from 0 to `lanes`, in every lane.
    fn window_end(&mut self, end: Value, linear: &Linear) -> Value {
        let more = self.linear(linear);
        let end = self.b.add(end, more);
        let lanes = i64::from(self.lanes);
        let (zero, all) = (self.b.i64(0), self.b.i64(lanes));
        let end = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[end, zero]);
        let end = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[end, all]);
        let end = self.b.resize_signed(end, Type::I32);
        self.spread(end)
    }

    /// The mask that a window is.
    pub(crate) fn window_vector(&mut self, window: &Window) -> Value {
        let iota = self.iota(Type::I32);
        let mut mask = self.all();
        if let Some(count) = window.count {
            let end = self.window_end(count, &window.linear);
            let holds = self.b.icmp(llir::IntCompare::Slt, iota, end);
            mask = self.b.and(mask, holds);
        }
        if let Some(start) = window.start {
            let start = self.window_end(start, &window.linear);
            let holds = self.b.icmp(llir::IntCompare::Sge, iota, start);
            mask = self.b.and(mask, holds);
        }
        mask
    }

    /// The scalar behind a chunk value that is the same in all lanes.
    pub(crate) fn as_scalar(&mut self, val: &Val, ty: ir::Type) -> Option<Value> {
        match val {
            Val::Uniform(value) => Some(*value),
            Val::Affine(affine) if affine.lanes.is_uniform() => {
                let element = self.pointee(ty);
                Some(self.scalar_of(affine, element))
            }
            Val::Vector(value) if self.lanes == 1 => Some(*value),
            Val::Window(_) if self.lanes == 1 => Some(self.vector(val, ty)),
            _ => None,
        }
    }
}
