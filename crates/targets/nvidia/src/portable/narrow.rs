//! Conversions of floats to formats of four and six bits, to powers of two, and back, as operations on integers.
//!
//! Left out: formats of eight bits, which the language has, and rounding by random bits.

use super::compute::Compute;
use ir::{FloatKind, Type, Value};
use ttir::ops::arith_cast::{EXTF, TRUNCF, UITOFP};
use ttir::ops::arith_float::{ADDF, MULF};
use ttir::ops::arith_int::{ADDI, ANDI, MINUI, SUBI};
use ttir::ops::compare::CmpIPredicate;
use ttir::ops::constant;
use ttir::types::with_elem;

/// A format without infinities and NaN.
#[derive(Clone, Copy)]
struct Small {
    exponent: u32,
    fraction: u32,
    /// Bits from one element to the next.
    step: u32,
}

impl Small {
    fn of(word: &str) -> Option<Small> {
        Some(match word {
            "e2m1x2" => Small { exponent: 2, fraction: 1, step: 4 },
            "e2m3x2" => Small { exponent: 2, fraction: 3, step: 8 },
            "e3m2x2" => Small { exponent: 3, fraction: 2, step: 8 },
            _ => return None,
        })
    }

    fn bias(self) -> u32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The code of the largest number.
    fn last(self) -> u64 {
        (1 << (self.exponent + self.fraction)) - 1
    }

    /// What is added to the exponent of the format for that of a number of 32 bits, at its place in one.
    fn rebias(self) -> u64 {
        u64::from(127 - self.bias()) << 23
    }
}

/// The bits of 2^`exponent` as a number of 32 bits.
fn power(exponent: i32) -> u64 {
    ((exponent + 127) as u64) << 23
}

impl Compute<'_> {
    /// `cvt` with one of these formats; `None` where it is another instruction. An operand is asked for by its place
    /// and its bits.
    pub(super) fn narrow(
        &mut self,
        words: &[&str],
        operands: usize,
        mut get: impl FnMut(&mut Self, usize, u32) -> Option<Value>,
    ) -> Option<Value> {
        match (words, operands) {
            (["rn", "satfinite", to, "f32"], 2) => {
                let format = Small::of(to)?;
                let codes =
                    [get(self, 1, 32)?, get(self, 0, 32)?].map(|value| self.small_code(format, value));
                Some(self.joined(codes, format.step, 2 * format.step))
            }
            (["rn", "satfinite", to, from @ ("f16x2" | "bf16x2")], 1) => {
                let format = Small::of(to)?;
                let kind = if *from == "f16x2" { FloatKind::F16 } else { FloatKind::BF16 };
                let pair = get(self, 0, 32)?;
                let codes = [0, 16].map(|at| {
                    let half = self.shifted_right(pair, at);
                    let half = self.resized(half, 16);
                    let half = self.float(half, kind);
                    let value = self.cast(&EXTF, half, Type::float(FloatKind::F32));
                    let value = self.bits_of(value);
                    self.small_code(format, value)
                });
                Some(self.joined(codes, format.step, 2 * format.step))
            }
            (["rn", "f16x2", from], 1) => {
                let format = Small::of(from)?;
                let codes = get(self, 0, 2 * format.step)?;
                let halves = [0, format.step].map(|at| {
                    let code = self.shifted_right(codes, at);
                    let code = self.resized(code, 32);
                    let value = self.small_value(format, code);
                    let value = self.cast(&TRUNCF, value, Type::float(FloatKind::F16));
                    self.bits_of(value)
                });
                Some(self.joined(halves, 16, 32))
            }
            ([direction @ ("rz" | "rp"), rest @ .., "ue8m0x2", from], _) => {
                let upwards = *direction == "rp";
                let finite = match rest {
                    [] => false,
                    ["satfinite"] => true,
                    _ => return None,
                };
                let values = match (*from, operands) {
                    ("f32", 2) => [get(self, 1, 32)?, get(self, 0, 32)?],
                    ("bf16x2", 1) => {
                        let pair = get(self, 0, 32)?;
                        let upper = self.number(32, 0xffff_0000);
                        [self.shifted_left(pair, 16), self.op(&ANDI, &[pair, upper])]
                    }
                    _ => return None,
                };
                let codes = values.map(|value| self.power_code(value, upwards, finite));
                Some(self.joined(codes, 8, 16))
            }
            (["rn", "bf16x2", "ue8m0x2"], 1) => {
                let codes = get(self, 0, 16)?;
                let halves = [0, 8].map(|at| {
                    let code = self.shifted_right(codes, at);
                    let code = self.resized(code, 8);
                    let code = self.resized(code, 16);
                    self.power_value(code)
                });
                Some(self.joined(halves, 16, 32))
            }
            _ => None,
        }
    }

    /// Two values in one register, the first lower.
    fn joined(&mut self, [lower, upper]: [Value; 2], step: u32, bits: u32) -> Value {
        let [lower, upper] = [lower, upper].map(|value| self.resized(value, bits));
        let upper = self.shifted_left(upper, step);
        self.or(lower, upper)
    }

    /// The nearest number of a format to one of 32 bits, of two the even one. What is too large becomes the largest,
    /// and so does NaN, without a sign.
    fn small_code(&mut self, format: Small, value: Value) -> Value {
        let (all, infinity) = (self.number(32, 0x7fff_ffff), self.number(32, 0x7f80_0000));
        let magnitude = self.op(&ANDI, &[value, all]);
        let is_nan = self.compare(CmpIPredicate::Ugt, magnitude, infinity);
        let largest = self.number(32, (format.last() << (23 - format.fraction)) + format.rebias());
        let magnitude = self.op(&MINUI, &[magnitude, largest]);
        // Normal numbers: half of the last place is added, or a little less where the place is even.
        let shift = 23 - format.fraction;
        let (one, below_half) = (self.number(32, 1), self.number(32, (1 << (shift - 1)) - 1));
        let place = self.shifted_right(magnitude, shift);
        let is_odd = self.op(&ANDI, &[place, one]);
        let sum = self.op(&ADDI, &[magnitude, below_half]);
        let sum = self.op(&ADDI, &[sum, is_odd]);
        let rebias = self.number(32, format.rebias() >> shift);
        let rounded = self.shifted_right(sum, shift);
        let normal = self.op(&SUBI, &[rounded, rebias]);
        // Others: a sum whose last place is theirs rounds them.
        let least = 1 - format.bias() as i32;
        let anchor = self.number(32, power(least - format.fraction as i32 + 23));
        let (own, anchor_value) = (self.float(magnitude, FloatKind::F32), self.float(anchor, FloatKind::F32));
        let sum = self.op(&ADDF, &[own, anchor_value]);
        let sum = self.bits_of(sum);
        let subnormal = self.op(&SUBI, &[sum, anchor]);
        let least = self.number(32, power(least));
        let is_subnormal = self.compare(CmpIPredicate::Ult, magnitude, least);
        let code = self.select(is_subnormal, subnormal, normal);
        let sign = self.shifted_right(value, 31);
        let sign = self.shifted_left(sign, format.exponent + format.fraction);
        let signed = self.or(code, sign);
        let last = self.number(32, format.last());
        self.select(is_nan, last, signed)
    }

    /// The number of 32 bits of a code; bits above it do not count.
    fn small_value(&mut self, format: Small, code: Value) -> Value {
        let width = format.exponent + format.fraction;
        let (last, below) = (self.number(32, format.last()), self.number(32, 1 << format.fraction));
        let magnitude = self.op(&ANDI, &[code, last]);
        let rebias = self.number(32, format.rebias());
        let bits = self.shifted_left(magnitude, 23 - format.fraction);
        let normal = self.op(&ADDI, &[bits, rebias]);
        let single = with_elem(self.shape(), Type::float(FloatKind::F32));
        let place = f64::from(1 - format.bias() as i32 - format.fraction as i32).exp2();
        let place = constant::float(&mut self.builder(), single, place);
        let whole = self.cast(&UITOFP, magnitude, Type::float(FloatKind::F32));
        let subnormal = self.op(&MULF, &[whole, place]);
        let subnormal = self.bits_of(subnormal);
        let is_subnormal = self.compare(CmpIPredicate::Ult, magnitude, below);
        let bits = self.select(is_subnormal, subnormal, normal);
        let one = self.number(32, 1);
        let sign = self.shifted_right(code, width);
        let sign = self.op(&ANDI, &[sign, one]);
        let sign = self.shifted_left(sign, 31);
        let bits = self.or(bits, sign);
        self.float(bits, FloatKind::F32)
    }

    /// The exponent of the power of two below the magnitude of a number of 32 bits, or above it. 255 is NaN, which what
    /// is too large becomes unless it shall be finite.
    fn power_code(&mut self, value: Value, upwards: bool, finite: bool) -> Value {
        let all = self.number(32, 0x7fff_ffff);
        let magnitude = self.op(&ANDI, &[value, all]);
        let mut code = self.shifted_right(magnitude, 23);
        if upwards {
            // All of the fraction but nothing carries into the exponent. What is infinite stays, and so does what is at
            // most 2^-127.
            let fraction = self.number(32, (1 << 23) - 1);
            let sum = self.op(&ADDI, &[magnitude, fraction]);
            let above = self.shifted_right(sum, 23);
            let (least, infinity) = (self.number(32, 0x0040_0000), self.number(32, 0x7f80_0000));
            let is_small = self.compare(CmpIPredicate::Ule, magnitude, least);
            let is_large = self.compare(CmpIPredicate::Uge, magnitude, infinity);
            let above = self.select(is_small, code, above);
            code = self.select(is_large, code, above);
        }
        if finite {
            let infinity = self.number(32, 0x7f80_0000);
            let is_nan = self.compare(CmpIPredicate::Ugt, magnitude, infinity);
            let last = self.number(32, 254);
            let least = self.op(&MINUI, &[code, last]);
            code = self.select(is_nan, code, least);
        }
        code
    }

    /// The bits of bf16 of an exponent.
    fn power_value(&mut self, code: Value) -> Value {
        let (zero, last) = (self.number(16, 0), self.number(16, 255));
        let (least, nan) = (self.number(16, 0x0040), self.number(16, 0x7fff));
        let normal = self.shifted_left(code, 7);
        let is_least = self.compare(CmpIPredicate::Eq, code, zero);
        let is_nan = self.compare(CmpIPredicate::Eq, code, last);
        let value = self.select(is_least, least, normal);
        self.select(is_nan, nan, value)
    }
}
