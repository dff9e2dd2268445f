//! What instructions compute that move and count bits, and add up bytes.

use super::compute::{Compute, Registers};
use super::text::Operand;
use ir::{Attr, Value};
use ttir::ops::arith_int::{ADDI, ANDI, MULI, SHLI, SHRSI, SHRUI, SUBI};
use ttir::ops::extern_call::EXTERN_ELEMENTWISE;

impl Compute<'_> {
    /// The result of an instruction of this file; `None` for others.
    pub(super) fn of_bits(
        &mut self,
        words: &[&str],
        from: &[Operand],
        registers: &Registers,
    ) -> Option<Value> {
        let get = |this: &mut Self, at: usize, bits: u32| this.read(from.get(at)?, bits, registers);
        match (words, from.len()) {
            (["bfe", ty @ ("u32" | "s32")], 3) => {
                let (at, count) = field(&from[1..])?;
                let value = get(self, 0, 32)?;
                let top = self.shifted_left(value, 32 - at - count);
                let by = self.number(32, u64::from(32 - count));
                Some(self.op(if *ty == "s32" { &SHRSI } else { &SHRUI }, &[top, by]))
            }
            (["bfi", "b32"], 4) => {
                let (at, count) = field(&from[2..])?;
                let mask = u64::from(u32::MAX >> (32 - count) << at);
                let (part, whole) = (get(self, 0, 32)?, get(self, 1, 32)?);
                let part = self.shifted_left(part, at);
                let (inside, outside) = (self.number(32, mask), self.number(32, !mask));
                let (part, rest) = (self.op(&ANDI, &[part, inside]), self.op(&ANDI, &[whole, outside]));
                Some(self.or(part, rest))
            }
            (["shf", side @ ("l" | "r"), "wrap", "b32"], 3) => {
                let all = [get(self, 0, 32)?, get(self, 1, 32)?, get(self, 2, 32)?];
                Some(self.funnel(*side == "l", all))
            }
            (["dp4a", a @ ("s32" | "u32"), b @ ("s32" | "u32")], 3) => {
                let all = [get(self, 0, 32)?, get(self, 1, 32)?, get(self, 2, 32)?];
                Some(self.dot_of_bytes([*a == "s32", *b == "s32"], all))
            }
            ([name @ ("popc" | "clz" | "brev"), ty @ ("b32" | "b64")], 1) => {
                let value = get(self, 0, width(ty)?)?;
                let symbol = format!("__nv_{name}{}", if *ty == "b64" { "ll" } else { "" });
                let result = self.library(&symbol, &[value]);
                Some(if *name == "brev" { result } else { self.resized(result, 32) })
            }
            (["bfind", "u32"], 1) => {
                let (value, last) = (get(self, 0, 32)?, self.number(32, 31));
                let zeros = self.library("__nv_clz", &[value]);
                Some(self.op(&SUBI, &[last, zeros]))
            }
            (["sad", ty @ ("s32" | "u32")], 3) => {
                let all = [get(self, 0, 32)?, get(self, 1, 32)?, get(self, 2, 32)?];
                Some(self.library(if *ty == "s32" { "__nv_sad" } else { "__nv_usad" }, &all))
            }
            (["mul", "hi", ty @ ("s32" | "s64")], 2) => {
                let bits = width(ty)?;
                let both = [get(self, 0, bits)?, get(self, 1, bits)?];
                Some(self.library(if bits == 32 { "__nv_mulhi" } else { "__nv_mul64hi" }, &both))
            }
            _ => None,
        }
    }

    /// A function of the maths library, whose result is of the type of its operands.
    fn library(&mut self, symbol: &str, operands: &[Value]) -> Value {
        let ty = self.ty(operands[0]);
        let attrs = [Attr::str("libdevice"), Attr::str(""), Attr::Bool(true), Attr::str(symbol)].map(Some);
        self.builder().build_as(&EXTERN_ELEMENTWISE, operands, &attrs, ty)
    }

    /// One word of two, from so many bits on: the upper one of both shifted to the left, or the lower one of both
    /// shifted to the right.
    fn funnel(&mut self, is_left: bool, [low, high, by]: [Value; 3]) -> Value {
        let last = self.number(32, 31);
        let by = self.op(&ANDI, &[by, last]);
        let [low, high, by] = [low, high, by].map(|value| self.resized(value, 64));
        let high = self.shifted_left(high, 32);
        let both = self.or(low, high);
        let shifted = if is_left {
            let shifted = self.op(&SHLI, &[both, by]);
            self.shifted_right(shifted, 32)
        } else {
            self.op(&SHRUI, &[both, by])
        };
        self.resized(shifted, 32)
    }

    /// The sum of the products of the bytes of two words, and a third word.
    fn dot_of_bytes(&mut self, signed: [bool; 2], [a, b, sum]: [Value; 3]) -> Value {
        (0..4).fold(sum, |sum, byte| {
            let [a, b] = [(a, signed[0]), (b, signed[1])].map(|(word, signed)| {
                let (top, by) = (self.shifted_left(word, 24 - 8 * byte), self.number(32, 24));
                self.op(if signed { &SHRSI } else { &SHRUI }, &[top, by])
            });
            let product = self.op(&MULI, &[a, b]);
            self.op(&ADDI, &[sum, product])
        })
    }
}

/// The first bit of a field of a word, and how many of its bits lie in the word, where both are numbers.
fn field(operands: &[Operand]) -> Option<(u32, u32)> {
    let [Operand::Number(at @ 0..32), Operand::Number(count @ 1..=32)] = operands else { return None };
    Some((*at as u32, (*count).min(32 - at) as u32))
}

/// The bits of a type of 32 or 64.
fn width(ty: &str) -> Option<u32> {
    ty.get(1..)?.parse().ok()
}
