//! Atomic operations on a buffer of their own, of any element type.

use super::{Maker, input};
use crate::ops::{arith_int, atomic, compare, constant, memory, program, shape as ops};
use crate::types::{elem, is_tensor, numel, shape, tensor, with_elem};
use ir::{Attr, FloatKind, Type, Value};

/// Elements of the buffer that belong to each program.
pub(super) const COUNTERS: i64 = 256;

/// Operations whose results do not depend on the order.
const UNORDERED: [u32; 8] = [1, 2, 3, 4, 6, 7, 8, 9];
const FADD: u32 = 5;
const EXCHANGE: u32 = 10;

/// The type of the elements of the buffer.
pub(super) fn random_elem(random: &mut super::Random) -> Type {
    use FloatKind::{BF16, F16, F32, F64};
    match random.below(8) {
        0 | 1 => Type::int(32),
        2 => Type::int(64),
        3 => Type::int(random.of(&[8, 16])),
        4 => Type::float(F16),
        5 => Type::float(BF16),
        6 => Type::float(F64),
        _ => Type::float(F32),
    }
}

impl Maker {
    /// An atomic operation on each element of a block, or on one.
    pub(super) fn random_atomic(&mut self) {
        let own = self.counter_elem;
        let fits = |ty: Type| elem(ty) == own && numel(ty) <= COUNTERS;
        let value = match self.pick(fits) {
            Some(value) => value,
            None => {
                let size = self.random.of(&[1, 4, 17, 64, 256]);
                let bits = input::values(&mut self.random, own, 1)[0];
                constant::build(&mut self.builder(), tensor(&[size], own), bits)
            }
        };
        let ty = self.ty(value);
        let base = self.counters_part();
        if !is_tensor(ty) {
            return self.update(base, value, None);
        }
        if own.as_int().is_some() && self.random.one_in(3) {
            return self.unordered_update(base, value);
        }
        let pointers = self.own_elements(base, ty);
        let condition = with_elem(ty, Type::int(1));
        let mask = self.pick_of(condition).filter(|_| self.random.one_in(2));
        self.update(pointers, value, mask);
    }

    fn counters_part(&mut self) -> Value {
        let axis = Attr::Enum { row: &program::AXIS, value: 0 };
        let pid = self.build(&program::GET_PROGRAM_ID, &[], &[Some(axis)]);
        let size = self.constant(Type::int(32), COUNTERS);
        let start = self.build(&arith_int::MULI, &[pid, size], &[]);
        self.build(&memory::ADDPTR, &[self.counters, start], &[])
    }

    /// Another element for each of a block, in order or permuted.
    fn own_elements(&mut self, base: Value, ty: Type) -> Value {
        let range = self.range(numel(ty));
        let flip = (numel(ty) as u64).next_power_of_two().min(COUNTERS as u64);
        let flip = self.random.below(flip) as i64;
        let flip = self.constant(self.ty(range), flip);
        let mut offsets =
            if self.random.one_in(2) { range } else { self.build(&arith_int::XORI, &[range, flip], &[]) };
        let wanted = with_elem(ty, Type::int(32));
        if self.ty(offsets) != wanted {
            offsets = self.build_as(&ops::RESHAPE, &[offsets], &[], wanted);
        }
        self.pointers_at(base, offsets)
    }

    /// Elements that several may be combined into: what was there before depends on the order.
    fn unordered_update(&mut self, base: Value, value: Value) {
        let ty = self.ty(value);
        let indices = self.operand(tensor(shape(ty), Type::int(32)));
        // Few elements, so that many are combined into one, or all of them.
        let count = self.random.of(&[1, 4, 32, COUNTERS]);
        let inside = self.cut(indices, count);
        let pointers = self.pointers_at(base, inside);
        let kind = self.random.of(&UNORDERED);
        let mut operands = vec![pointers, value];
        let condition = with_elem(ty, Type::int(1));
        operands.extend(self.pick_of(condition).filter(|_| self.random.one_in(2)));
        self.build(&atomic::ATOMIC_RMW, &operands, &rmw(kind));
    }

    /// An update of elements of which no two are the same. What was there before is used.
    fn update(&mut self, pointers: Value, mut value: Value, mask: Option<Value>) {
        let ty = self.ty(value);
        let is_float = elem(ty).as_float().is_some();
        if !is_float && mask.is_none() && self.random.one_in(4) {
            let expected = self.operand(ty);
            let attrs = rmw(0)[1..].to_vec();
            let old = self.build(&atomic::ATOMIC_CAS, &[pointers, expected, value], &attrs);
            return self.learn(old);
        }
        let kind = match is_float {
            _ if self.random.one_in(6) => EXCHANGE,
            true => {
                value = self.small_integers(value);
                FADD
            }
            false => self.random.of(&UNORDERED),
        };
        let operands: Vec<Value> = [pointers, value].into_iter().chain(mask).collect();
        let old = self.build(&atomic::ATOMIC_RMW, &operands, &rmw(kind));
        let Some(mask) = mask else { return self.learn(old) };
        let zero = constant::build(&mut self.builder(), ty, 0);
        let known = self.build(&compare::SELECT, &[mask, old, zero], &[]);
        self.learn(known);
    }
}

fn rmw(kind: u32) -> [Option<Attr>; 3] {
    [
        Some(Attr::Enum { row: &atomic::RMW, value: kind }),
        Some(Attr::Enum { row: &atomic::SEM, value: 4 }),
        Some(Attr::Enum { row: &atomic::SCOPE, value: 1 }),
    ]
}
