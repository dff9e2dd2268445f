//! Lanes: spreading, taking out, putting in, rearranging.

use super::FunctionBuilder;
use crate::constant::Constant;
use crate::function::{InstData, Payload, Value};
use crate::rows::Op;
use smallvec::SmallVec;

impl FunctionBuilder<'_> {
    /// A vector with the scalar in every lane. A vector stays what it is.
    pub fn splat(&mut self, scalar: Value, lanes: u32) -> Value {
        let ty = self.ty(scalar);
        if ty.is_vector() {
            return scalar;
        }
        let ty = ty.vector(lanes);
        if let Some(bits) = self.func.constant(scalar).and_then(Constant::splat_bits) {
            return self.bits(ty, bits);
        }
        let (poison, zero) = (self.poison(ty), self.i64(0));
        let first = self.emit(InstData::new(Op::INSERT, ty, &[poison, scalar, zero]));
        let value = self.shuffle(first, poison, &vec![0; lanes as usize]);
        self.splats.insert(value, scalar);
        value
    }

    /// A lane.
    pub fn extract(&mut self, vector: Value, lane: u32) -> Value {
        let lane = self.i64(i64::from(lane));
        self.extract_at(vector, lane)
    }

    /// A lane chosen at run time. A scalar is its own only lane.
    pub fn extract_at(&mut self, vector: Value, lane: Value) -> Value {
        let ty = self.ty(vector);
        if !ty.is_vector() {
            return vector;
        }
        self.emit(InstData::new(Op::EXTRACT, ty.lane(), &[vector, lane]))
    }

    /// The vector with one lane replaced.
    pub fn insert(&mut self, vector: Value, scalar: Value, lane: u32) -> Value {
        let lane = self.i64(i64::from(lane));
        self.insert_at(vector, scalar, lane)
    }

    /// The vector with a lane chosen at run time replaced.
    pub fn insert_at(&mut self, vector: Value, scalar: Value, lane: Value) -> Value {
        self.emit(InstData::new(Op::INSERT, self.ty(vector), &[vector, scalar, lane]))
    }

    /// A vector of these scalars.
    pub fn vector(&mut self, scalars: &[Value]) -> Value {
        let bits: Option<Vec<u128>> =
            scalars.iter().map(|scalar| self.func.constant(*scalar)?.splat_bits()).collect();
        let lane = scalars.first().map_or(crate::Type::VOID, |scalar| self.ty(*scalar));
        let ty = lane.vector(scalars.len() as u32);
        if let Some(bits) = bits {
            return self.lanes(ty, &bits);
        }
        if let Some(shuffled) = self.lanes_of_two(scalars) {
            return shuffled;
        }
        let poison = self.poison(ty);
        let indexed = scalars.iter().enumerate();
        indexed.fold(poison, |vector, (lane, scalar)| self.insert(vector, *scalar, lane as u32))
    }

    /// A vector of scalars that were all taken out of one vector, or of two of one type: one instruction for all of
    /// them.
    fn lanes_of_two(&mut self, scalars: &[Value]) -> Option<Value> {
        let mut from: SmallVec<[Value; 2]> = SmallVec::new();
        let mut mask: SmallVec<[i32; 16]> = SmallVec::new();
        for scalar in scalars {
            let data = self.func.defining(*scalar).filter(|data| data.op == Op::EXTRACT)?;
            let (vector, ty) = (data.operands[0], self.ty(data.operands[0]));
            let lane =
                u32::try_from(self.as_int(data.operands[1])?).ok().filter(|lane| *lane < ty.lanes())?;
            let place = match from.iter().position(|other| *other == vector) {
                Some(place) => place,
                None if from.iter().all(|other| self.ty(*other) == ty) && from.len() < 2 => {
                    from.push(vector);
                    from.len() - 1
                }
                None => return None,
            };
            mask.push((place as u32 * ty.lanes() + lane) as i32);
        }
        match from[..] {
            [one] => Some(self.permute(one, &mask)),
            [a, b] => Some(self.shuffle(a, b, &mask)),
            _ => None,
        }
    }

    /// The lanes of `a` followed by `b` that the mask names; -1 is a lane that must not matter.
    pub fn shuffle(&mut self, a: Value, b: Value, mask: &[i32]) -> Value {
        let ty = self.ty(a).vector(mask.len() as u32);
        if self.ty(a) == ty && mask.iter().enumerate().all(|(index, lane)| *lane == index as i32) {
            return a;
        }
        self.emit(InstData::new(Op::SHUFFLE, ty, &[a, b]).with(Payload::Mask(mask.into())))
    }

    /// Lanes of one vector, rearranged.
    pub fn permute(&mut self, a: Value, mask: &[i32]) -> Value {
        let poison = self.poison(self.ty(a));
        self.shuffle(a, poison, mask)
    }

    /// All lanes of `a`, then all of `b`.
    pub fn concat(&mut self, a: Value, b: Value) -> Value {
        let mask: Vec<i32> = (0..2 * self.ty(a).lanes() as i32).collect();
        self.shuffle(a, b, &mask)
    }

    /// `lanes` lanes from `start` on.
    pub fn slice(&mut self, a: Value, start: u32, lanes: u32) -> Value {
        let mask: Vec<i32> = (start as i32..(start + lanes) as i32).collect();
        self.permute(a, &mask)
    }
}
