//! Integers and addresses as a part that varies plus a constant.
//!
//! `offsets = start + range` has as many registers as the lane has elements, which differ by constants. Each value that
//! was made here is remembered as `base + constant`, and sums of such values add the bases once (the builder shares
//! equal instructions) and the constants apart. What ends up unused is removed at the end; an access uses the base and
//! an immediate.

use crate::target::Near;
use cranelift_entity::SecondaryMap;
use llir::{Block, FunctionBuilder, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::interval::Interval;

/// A value as a sum. Without a base it is the constant itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sum {
    pub(crate) base: Option<Value>,
    pub(crate) constant: i64,
}

/// What is known of the values of a function.
#[derive(Default, Debug)]
pub(crate) struct Affine {
    sums: SecondaryMap<Value, Option<Sum>>,
    /// The last address that something was added to: the block, the address, the index, the bytes it counts in, and the
    /// sum. Neighbouring registers often ask for the same one.
    moved: Option<((Block, Value, Value, u32), Value)>,
    /// Parameters that point to memory which 32-bit offsets reach.
    near_bases: FxHashSet<Value>,
    /// Addresses that are such a parameter plus an index.
    near: FxHashMap<Value, Near>,
    /// Values that are not negative and stay so when any of the constants that were added to them is added.
    bounds: FxHashMap<Value, u64>,
}

/// Cuts to a width, sign-extended.
fn wrap(ty: Type, constant: i64) -> i64 {
    let shift = 64 - ty.lane_bits().min(64);
    (constant << shift) >> shift
}

impl Affine {
    /// A value as a sum.
    pub(crate) fn split(&self, b: &FunctionBuilder<'_>, value: Value) -> Sum {
        if let Some(constant) = b.as_int(value) {
            return Sum { base: None, constant: constant as i64 };
        }
        self.sums[value].unwrap_or(Sum { base: Some(value), constant: 0 })
    }

    /// The value of a sum of integers.
    pub(crate) fn join(&mut self, b: &mut FunctionBuilder<'_>, ty: Type, sum: Sum) -> Value {
        let constant = wrap(ty, sum.constant);
        let Some(base) = sum.base else { return b.int(ty, constant) };
        // Loops carry values of any type by their bases, which then have no constant.
        if constant == 0 {
            return base;
        }
        let by = b.int(ty, constant);
        let value = b.add(base, by);
        self.sums[value] = Some(Sum { base: Some(base), constant });
        value
    }

    /// The sum of two integers.
    pub(crate) fn add_integers(&mut self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        let ty = b.ty(x);
        let (x, y) = (self.split(b, x), self.split(b, y));
        let base = match (x.base, y.base) {
            (Some(x), Some(y)) => Some(b.add(x, y)),
            (base, None) | (None, base) => base,
        };
        // The sum of the bases may itself be known as a sum.
        let inner = base.map_or(Sum { base: None, constant: 0 }, |base| self.split(b, base));
        let constant = inner.constant.wrapping_add(x.constant).wrapping_add(y.constant);
        self.join(b, ty, Sum { base: inner.base, constant })
    }

    /// The difference of two integers.
    pub(crate) fn subtract(&mut self, b: &mut FunctionBuilder<'_>, x: Value, y: Value) -> Value {
        let ty = b.ty(x);
        let (left, right) = (self.split(b, x), self.split(b, y));
        let base = match (left.base, right.base) {
            (Some(x), Some(y)) => Some(b.sub(x, y)),
            (Some(x), None) => Some(x),
            (None, Some(y)) => Some(b.neg(y)),
            (None, None) => None,
        };
        let inner = base.map_or(Sum { base: None, constant: 0 }, |base| self.split(b, base));
        let constant = inner.constant.wrapping_add(left.constant).wrapping_sub(right.constant);
        self.join(b, ty, Sum { base: inner.base, constant })
    }

    /// The product of two integers, which does not overflow as a signed number if it `fits`; a constant factor keeps
    /// the sum.
    pub(crate) fn multiply(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        (x, y): (Value, Value),
        fits: bool,
    ) -> Value {
        let ty = b.ty(x);
        let (sum, factor) = match (b.as_int(x), b.as_int(y)) {
            (_, Some(factor)) => (self.split(b, x), factor as i64),
            (Some(factor), _) => (self.split(b, y), factor as i64),
            _ => return b.mul(x, y),
        };
        let by = b.int(ty, factor);
        // Without its constant the number may be one that overflows.
        let fits = fits && sum.constant == 0;
        let base = sum.base.map(|base| if fits { b.mul_nsw(base, by) } else { b.mul(base, by) });
        self.join(b, ty, Sum { base, constant: sum.constant.wrapping_mul(factor) })
    }

    /// The left shift by a constant that is smaller than the width.
    pub(crate) fn shift_left(&mut self, b: &mut FunctionBuilder<'_>, x: Value, amount: u32) -> Value {
        let ty = b.ty(x);
        let sum = self.split(b, x);
        let by = b.int(ty, i64::from(amount));
        let base = sum.base.map(|base| b.shl(base, by));
        self.join(b, ty, Sum { base, constant: sum.constant.wrapping_shl(amount) })
    }

    /// Says that a value is from 0 to, without, `end`.
    pub(crate) fn bound(&mut self, value: Value, end: u64) {
        self.bounds.insert(value, end);
    }

    /// Whether widening may be done before the constant is added: the base is known to be small.
    fn stays_small(&self, sum: &Sum) -> bool {
        let end = sum.base.and_then(|base| self.bounds.get(&base));
        end.is_some_and(|end| *end < 1 << 30 && (0..1 << 30).contains(&sum.constant))
    }

    /// The sign extension of an integer that lies between these bounds. Without its constant it is the difference of
    /// both as long as that has no more bits, whatever wraps around on the way.
    pub(crate) fn sign_extend(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        x: Value,
        ty: Type,
        bounds: Option<Interval>,
    ) -> Value {
        let sum = self.split(b, x);
        let most = i64::MAX >> (64 - b.ty(x).lane_bits().clamp(1, 64));
        let fits = |bound: i64| {
            bound.checked_sub(sum.constant).is_some_and(|base| (-most - 1..=most).contains(&base))
        };
        let is_difference = bounds.is_some_and(|bounds| fits(bounds.low) && fits(bounds.high));
        match sum.base {
            Some(base) if sum.constant != 0 && (is_difference || self.stays_small(&sum)) => {
                let base = b.resize_signed(base, ty);
                self.join(b, ty, Sum { base: Some(base), constant: sum.constant })
            }
            _ => b.resize_signed(x, ty),
        }
    }

    /// Says that 32-bit offsets from a parameter reach all of the memory behind it.
    pub(crate) fn is_near(&mut self, base: Value) {
        self.near_bases.insert(base);
    }

    /// What an address without a constant part is made of, if it is near a parameter.
    pub(crate) fn near(&self, pointer: Value) -> Option<Near> {
        self.near.get(&pointer).copied()
    }

    /// An address and a constant number of bytes.
    pub(crate) fn split_pointer(&self, pointer: Value) -> (Value, i64) {
        self.sums[pointer].map_or((pointer, 0), |sum| (sum.base.unwrap_or(pointer), sum.constant))
    }

    /// The address so many bytes further on.
    pub(crate) fn join_pointer(&mut self, b: &mut FunctionBuilder<'_>, base: Value, constant: i64) -> Value {
        if constant == 0 {
            return base;
        }
        let bytes = b.i64(constant);
        let value = b.offset(base, bytes);
        self.sums[value] = Some(Sum { base: Some(base), constant });
        value
    }

    /// An address and an index without constants, added.
    fn move_by(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        base: Value,
        index: Value,
        element_bytes: u32,
    ) -> Value {
        let key = (b.current(), base, index, element_bytes);
        if let Some((_, moved)) = self.moved.filter(|(last, _)| *last == key) {
            return moved;
        }
        let wide = b.resize_signed(index, Type::I64);
        let moved = b.gep(Type::int(8 * element_bytes as u16), base, wide);
        if b.ty(index) == Type::I32 && self.near_bases.contains(&base) {
            self.near.insert(moved, Near { base, index, element_bytes });
        }
        self.moved = Some((key, moved));
        moved
    }

    /// A pointer moved by a signed number of elements of so many bytes.
    ///
    /// The number does not overflow where memory is touched, but its base may: of `(x - 32) * 2^26` it is `x * 2^26`.
    /// So most of the constant is added before the extension to 64 bits, and less than `window` after it. What is
    /// extended is then no larger than the number, and smaller by less than that.
    pub(crate) fn move_pointer(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        pointer: Value,
        index: Value,
        element_bytes: u32,
    ) -> Value {
        let (base, constant) = self.split_pointer(pointer);
        let (ty, index) = (b.ty(index), self.split(b, index));
        let (moved, rest) = match index.base {
            None => (base, index.constant),
            Some(_) => {
                let rest = window(ty).map_or(index.constant, |window| index.constant.rem_euclid(window));
                let start = self.join(b, ty, Sum { constant: index.constant - rest, ..index });
                (self.move_by(b, base, start, element_bytes), rest)
            }
        };
        let (moved, inner) = self.split_pointer(moved);
        let bytes = rest.wrapping_mul(i64::from(element_bytes));
        self.join_pointer(b, moved, inner.wrapping_add(constant).wrapping_add(bytes))
    }
}

/// What may be added to an index behind its extension to 64 bits, if that is one: 2^20 elements for 32 bits, which the
/// immediate of an access on a GPU holds.
fn window(ty: Type) -> Option<i64> {
    let bits = ty.lane_bits();
    (bits < 64).then(|| 1 << bits.saturating_sub(12))
}
