//! Formats of floating point, one row each, and rounding into them in every direction.
//!
//! A result before rounding is a double and the sign of what it misses, which decides every rounding exactly as
//! long as the format has at most 24 bits.

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the fraction.
    pub fraction: u32,
    /// Bits below the fraction that are kept as zeros.
    pub padding: u32,
    /// What stands for infinity and NaN.
    pub specials: Specials,
}

/// What stands for infinity and NaN in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// All ones in the exponent: infinity where the fraction is zero, else NaN.
    Ieee,
    /// All ones in exponent and fraction are NaN; there is no infinity.
    Nan,
    /// The negative zero is NaN; there is no infinity, and the bias is one more.
    NegativeZero,
    /// All bits are numbers; what is beyond the largest becomes the largest.
    None,
}

/// IEEE binary16.
pub const F16: Format = Format { exponent: 5, fraction: 10, padding: 0, specials: Specials::Ieee };
/// bfloat16.
pub const BF16: Format = Format { exponent: 8, fraction: 7, padding: 0, specials: Specials::Ieee };
/// IEEE binary32.
pub const F32: Format = Format { exponent: 8, fraction: 23, padding: 0, specials: Specials::Ieee };
/// 32 bits of which 19 count.
pub const TF32: Format = Format { exponent: 8, fraction: 10, padding: 13, specials: Specials::Ieee };
/// 8 bits, 4 of exponent, as in the OCP standard.
pub const E4M3: Format = Format { exponent: 4, fraction: 3, padding: 0, specials: Specials::Nan };
/// 8 bits, 5 of exponent, as in the OCP standard.
pub const E5M2: Format = Format { exponent: 5, fraction: 2, padding: 0, specials: Specials::Ieee };
/// 8 bits, 4 of exponent, one zero, no infinity.
pub const E4M3_FNUZ: Format =
    Format { exponent: 4, fraction: 3, padding: 0, specials: Specials::NegativeZero };
/// 8 bits, 5 of exponent, one zero, no infinity.
pub const E5M2_FNUZ: Format =
    Format { exponent: 5, fraction: 2, padding: 0, specials: Specials::NegativeZero };
/// 6 bits, 2 of exponent.
pub const E2M3: Format = Format { exponent: 2, fraction: 3, padding: 0, specials: Specials::None };
/// 6 bits, 3 of exponent.
pub const E3M2: Format = Format { exponent: 3, fraction: 2, padding: 0, specials: Specials::None };
/// 4 bits.
pub const E2M1: Format = Format { exponent: 2, fraction: 1, padding: 0, specials: Specials::None };

/// A direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Nearest, ties to even.
    NearestEven,
    /// Nearest, ties away from zero.
    NearestAway,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards infinity.
    Up,
}

/// The modifiers that name directions.
pub const ROUNDINGS: &[(&str, Rounding)] = &[
    ("rn", Rounding::NearestEven),
    ("rna", Rounding::NearestAway),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - i32::from(self.specials != Specials::NegativeZero)
    }

    /// Bits of a value, padding included.
    pub fn bits(self) -> u32 {
        1 + self.exponent + self.fraction + self.padding
    }

    /// The NaN that hardware makes.
    pub fn nan(self) -> u64 {
        match self.specials {
            Specials::NegativeZero => self.sign_bit(),
            _ => self.sign_bit() - 1,
        }
    }

    /// The largest finite magnitude.
    pub fn largest(self) -> u64 {
        let all = (1u64 << (self.exponent + self.fraction)) - 1;
        let top = match self.specials {
            Specials::Ieee => all - (1 << self.fraction),
            Specials::Nan => all - 1,
            Specials::NegativeZero | Specials::None => all,
        };
        top << self.padding
    }

    /// Beyond the largest: infinity where there is one, else NaN, with its sign.
    fn overflow(self, sign: u64) -> u64 {
        match self.specials {
            Specials::Ieee => sign | (self.largest() + (1 << self.padding)),
            Specials::Nan => sign | self.nan(),
            Specials::NegativeZero => self.nan(),
            Specials::None => sign | self.largest(),
        }
    }

    fn sign_bit(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// The value of bits, exactly.
    pub fn decode(self, bits: u64) -> f64 {
        if self == F32 {
            return f64::from(f32::from_bits(bits as u32));
        }
        let negative = bits & self.sign_bit() != 0;
        let magnitude = (bits & (self.sign_bit() - 1)) >> self.padding;
        let top = (1 << self.exponent) - 1;
        let all = (1 << (self.exponent + self.fraction)) - 1;
        let is_nan = match self.specials {
            Specials::Nan => magnitude == all,
            Specials::NegativeZero => negative && magnitude == 0,
            Specials::Ieee | Specials::None => false,
        };
        let value = if is_nan {
            f64::NAN
        } else if self.specials == Specials::Ieee && magnitude >> self.fraction == top {
            if magnitude == top << self.fraction { f64::INFINITY } else { f64::NAN }
        } else {
            // The same bits as a double are too small by the difference of the biases, subnormal ones too.
            let scale = f64::from_bits(((2046 - self.bias()) as u64) << 52);
            f64::from_bits(magnitude << (52 - self.fraction)) * scale
        };
        if negative { -value } else { value }
    }

    /// Rounds a number into the format.
    pub fn encode(self, value: f64, rounding: Rounding) -> u64 {
        if self == F32 && rounding == Rounding::NearestEven {
            return if value.is_nan() { self.nan() } else { u64::from((value as f32).to_bits()) };
        }
        self.encode_inexact(value, 0.0, rounding)
    }

    /// Rounds the sum of a number and something smaller than half of its last place.
    pub fn encode_inexact(self, value: f64, rest: f64, rounding: Rounding) -> u64 {
        if value.is_nan() {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        if value.is_infinite() {
            return self.overflow(sign);
        }
        let bits = value.to_bits();
        let raw = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) =
            if raw == 0 { (fraction, -1074) } else { (fraction | 1 << 52, raw - 1075) };
        // Three bits more, so that what is missed only decides a tie.
        let nudge = if rest == 0.0 { 0 } else { if (rest > 0.0) == (sign == 0) { 1 } else { -1 } };
        let mantissa = (i128::from(mantissa) << 3) + nudge;
        match self.round(mantissa as u128, exponent - 3, sign != 0, rounding) {
            Some(magnitude) => self.signed(sign, magnitude),
            None => self.overflow(sign),
        }
    }

    /// A magnitude with its sign; zero has none where its negative is NaN.
    fn signed(self, sign: u64, magnitude: u64) -> u64 {
        if magnitude == 0 && self.specials == Specials::NegativeZero { 0 } else { sign | magnitude }
    }

    /// Rounds a whole number into the format.
    pub fn encode_integer(self, value: i128, rounding: Rounding) -> u64 {
        let sign = if value < 0 { self.sign_bit() } else { 0 };
        match self.round(value.unsigned_abs(), 0, value < 0, rounding) {
            Some(magnitude) => self.signed(sign, magnitude),
            None => self.overflow(sign),
        }
    }

    /// The magnitude of `mantissa * 2^exponent`, rounded; `None` beyond the largest.
    fn round(self, mantissa: u128, exponent: i32, negative: bool, rounding: Rounding) -> Option<u64> {
        if mantissa == 0 {
            return Some(0);
        }
        let length = 128 - mantissa.leading_zeros() as i32;
        let least = 1 - self.bias() - self.fraction as i32;
        // The exponent of the last place of the result.
        let place = (exponent + length - 1 - self.fraction as i32).max(least);
        let shift = place - exponent;
        let (mut kept, rest, half) = if shift <= 0 {
            (mantissa << -shift, 0, 1)
        } else if shift > 127 {
            (0, 1, 2)
        } else {
            (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1))
        };
        let up = match rounding {
            Rounding::NearestEven => rest > half || (rest == half && kept & 1 == 1),
            Rounding::NearestAway => rest >= half && rest != 0,
            Rounding::Zero => false,
            Rounding::Down => rest != 0 && negative,
            Rounding::Up => rest != 0 && !negative,
        };
        kept += u128::from(up);
        let mut biased = place - least + 1;
        if kept >> (self.fraction + 1) != 0 {
            kept >>= 1;
            biased += 1;
        }
        if kept >> self.fraction == 0 {
            biased = 0;
        }
        let limit = self.largest() >> self.padding;
        let magnitude = ((biased as u64) << self.fraction) + (kept as u64 & ((1 << self.fraction) - 1));
        if biased >= 1 << self.exponent || magnitude > limit {
            let toward_zero = match rounding {
                Rounding::Zero => true,
                Rounding::Down => !negative,
                Rounding::Up => negative,
                _ => false,
            };
            return toward_zero.then(|| self.largest());
        }
        Some(magnitude << self.padding)
    }

    /// What overflowed becomes the largest finite value; NaN stays.
    pub fn clamp_finite(self, bits: u64, source: f64) -> u64 {
        let magnitude = bits & (self.sign_bit() - 1);
        if source.is_nan() || magnitude <= self.largest() {
            return bits;
        }
        let sign = if source.is_sign_negative() { self.sign_bit() } else { 0 };
        sign | self.largest()
    }
}

#[cfg(test)]
mod tests {
    use super::{BF16, E2M1, E2M3, E3M2, E4M3, E4M3_FNUZ, E5M2, E5M2_FNUZ, F16, F32, Rounding};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn halves_round_as_the_half_crate_does(value in any::<f32>()) {
            let ours = F16.encode(f64::from(value), Rounding::NearestEven) as u16;
            let theirs = half::f16::from_f32(value);
            if value.is_nan() {
                prop_assert_eq!(ours, 0x7fff);
            } else {
                prop_assert_eq!(ours, theirs.to_bits());
                prop_assert_eq!(F16.decode(u64::from(ours)), theirs.to_f64());
                let brain = half::bf16::from_f32(value);
                prop_assert_eq!(BF16.encode(f64::from(value), Rounding::NearestEven) as u16, brain.to_bits());
            }
        }

        #[test]
        fn singles_round_as_casts_do(value in any::<f64>()) {
            if !value.is_nan() {
                prop_assert_eq!(F32.encode(value, Rounding::NearestEven) as u32, (value as f32).to_bits());
                let zero = f32::from_bits(F32.encode(value, Rounding::Zero) as u32);
                assert!(f64::from(zero).abs() <= value.abs());
                let down = f32::from_bits(F32.encode(value, Rounding::Down) as u32);
                let up = f32::from_bits(F32.encode(value, Rounding::Up) as u32);
                assert!(f64::from(down) <= value && f64::from(up) >= value);
                assert!(down == up || down.next_up() == up);
            }
        }
    }

    #[test]
    fn bytes_decode_and_encode_to_themselves() {
        for format in [E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ, E2M3, E3M2, E2M1] {
            for bits in 0..1 << format.bits() {
                let value = format.decode(bits);
                if !value.is_nan() {
                    assert_eq!(format.encode(value, Rounding::NearestEven), bits, "{format:?} {bits:#x}");
                }
            }
        }
        assert_eq!(E4M3.decode(0x7e), 448.0);
        assert_eq!(E5M2.decode(0x7b), 57344.0);
        assert_eq!(E4M3_FNUZ.decode(0x7f), 240.0);
        assert_eq!(E5M2_FNUZ.decode(0x7f), 57344.0);
        assert_eq!(E4M3_FNUZ.encode(-0.0, Rounding::NearestEven), 0);
        assert_eq!(E4M3_FNUZ.encode(241.0, Rounding::NearestEven), 0x7f);
        assert_eq!(E4M3_FNUZ.encode(1e9, Rounding::NearestEven), 0x80);
        assert!(E5M2_FNUZ.decode(0x80).is_nan());
        assert_eq!((E2M3.decode(0x1f), E3M2.decode(0x1f), E2M1.decode(7)), (7.5, 28.0, 6.0));
        assert_eq!(E2M1.encode(-1e9, Rounding::NearestEven), 0xf);
        assert_eq!(E4M3.clamp_finite(E4M3.encode(1e9, Rounding::NearestEven), 1e9), 0x7e);
        assert_eq!(E5M2.clamp_finite(E5M2.encode(-1e9, Rounding::NearestEven), -1e9), 0xfb);
    }
}
