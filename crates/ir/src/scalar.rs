//! Arithmetic on raw bits of scalars: how a number of a [`FloatKind`] is read and written.
//!
//! Formats: IEEE 754 binary16/32/64; bfloat16; the 8-bit formats of OCP "8-bit Floating Point Specification" (E5M2,
//! E4M3FN) and their FNUZ variants. Rounding is to nearest, ties to even; values out of range become infinity, or the
//! format's NaN where it has no infinity.

use crate::types::FloatKind;

/// Exponent bits, mantissa bits, exponent bias of the 8-bit formats.
fn small_format(kind: FloatKind) -> Option<(u32, u32, i32)> {
    match kind {
        FloatKind::F8E5M2 => Some((5, 2, 15)),
        FloatKind::F8E4M3FN => Some((4, 3, 7)),
        FloatKind::F8E5M2FNUZ => Some((5, 2, 16)),
        FloatKind::F8E4M3FNUZ => Some((4, 3, 8)),
        _ => None,
    }
}

/// The value of the bits of a float, exactly (every format fits into binary64).
pub fn float_value(kind: FloatKind, bits: u64) -> f64 {
    match kind {
        FloatKind::F16 => half::f16::from_bits(bits as u16).to_f64(),
        FloatKind::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
        FloatKind::F32 => f64::from(f32::from_bits(bits as u32)),
        FloatKind::F64 => f64::from_bits(bits),
        small => small_value(small, bits as u8),
    }
}

fn small_value(kind: FloatKind, bits: u8) -> f64 {
    let Some((exponent_bits, mantissa_bits, bias)) = small_format(kind) else { return f64::NAN };
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from((bits & 0x7f) >> mantissa_bits);
    let mantissa = i32::from(bits & ((1 << mantissa_bits) - 1));
    let top = (1 << exponent_bits) - 1;
    match kind {
        FloatKind::F8E5M2 if exponent == top && mantissa == 0 => return sign * f64::INFINITY,
        FloatKind::F8E5M2 if exponent == top => return f64::NAN,
        FloatKind::F8E4M3FN if bits & 0x7f == 0x7f => return f64::NAN,
        FloatKind::F8E5M2FNUZ | FloatKind::F8E4M3FNUZ if bits == 0x80 => return f64::NAN,
        _ => {}
    }
    let scale = 1 << mantissa_bits;
    if exponent == 0 {
        sign * f64::from(mantissa) / f64::from(scale) * 2f64.powi(1 - bias)
    } else {
        sign * (1.0 + f64::from(mantissa) / f64::from(scale)) * 2f64.powi(exponent - bias)
    }
}

/// The value with `mantissa_bits` behind the point and no exponent below `lowest`, rounded to nearest even. Infinities
/// and NaNs stay; no bound is set above.
fn rounded_to(value: f64, mantissa_bits: u32, lowest: i32) -> f64 {
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let quantum = 2f64.powi(exponent.max(lowest) - mantissa_bits as i32);
    // Both ways the factor is a power of two; neither step rounds, but where the value is too large for the format
    // anyway.
    (value / quantum).round_ties_even() * quantum
}

/// The bits of a value in a format, rounded to nearest even, once.
pub fn float_bits(kind: FloatKind, value: f64) -> u64 {
    match kind {
        // The conversions of `half` drop the lower 32 bits of a double: they are given values that have none.
        FloatKind::F16 => u64::from(half::f16::from_f64(rounded_to(value, 10, -14)).to_bits()),
        FloatKind::BF16 => u64::from(half::bf16::from_f64(rounded_to(value, 7, -126)).to_bits()),
        FloatKind::F32 => u64::from((value as f32).to_bits()),
        FloatKind::F64 => value.to_bits(),
        small => u64::from(small_bits(small, value)),
    }
}

/// The largest finite value and its bits, found by walking down from the top encoding.
fn small_max(kind: FloatKind) -> (f64, u8) {
    (0..0x80u8)
        .rev()
        .map(|bits| (small_value(kind, bits), bits))
        .find(|(value, _)| value.is_finite())
        .unwrap_or((0.0, 0))
}

fn small_bits(kind: FloatKind, value: f64) -> u8 {
    let Some((_, mantissa_bits, bias)) = small_format(kind) else { return 0 };
    let fnuz = matches!(kind, FloatKind::F8E5M2FNUZ | FloatKind::F8E4M3FNUZ);
    let nan = if fnuz { 0x80 } else { 0x7f };
    if value.is_nan() {
        return nan;
    }
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    let magnitude = value.abs();
    let (max, max_bits) = small_max(kind);
    // One unit in the last place above `max` starts to overflow at its half.
    let rounded = rounded_to(magnitude, mantissa_bits, 1 - bias);
    if !(magnitude.is_finite() && rounded <= max) {
        return match kind {
            FloatKind::F8E5M2 => sign | 0x7c,
            _ => nan | if fnuz { 0 } else { sign },
        };
    }
    let encoded = (0..=max_bits).find(|&bits| small_value(kind, bits) == rounded).unwrap_or(0);
    if fnuz && encoded == 0 { 0 } else { sign | encoded }
}

/// Sign-extends the low `bits` bits.
pub fn sign_extend(bits: u32, value: u64) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

/// Keeps the low `bits` bits.
pub fn truncate(bits: u32, value: u64) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

#[cfg(test)]
mod tests {
    use super::{float_bits, float_value};
    use crate::types::FloatKind;

    #[test]
    fn every_small_encoding_survives_a_round_trip() {
        for kind in [FloatKind::F8E5M2, FloatKind::F8E4M3FN, FloatKind::F8E5M2FNUZ, FloatKind::F8E4M3FNUZ] {
            for bits in 0..=255u64 {
                let value = float_value(kind, bits);
                if !value.is_nan() {
                    assert_eq!(float_bits(kind, value), bits, "{kind:?} {bits:#x} = {value}");
                }
            }
        }
    }

    /// Every value between two neighbours goes to the nearer one, also one that differs from the middle by the last bit
    /// of a double.
    #[test]
    fn halves_are_rounded_once() {
        let ulp_after = |value: f64| f64::from_bits(value.to_bits() + 1);
        let ulp_before = |value: f64| f64::from_bits(value.to_bits() - 1);
        for (kind, infinity) in [(FloatKind::F16, 0x7c00), (FloatKind::BF16, 0x7f80)] {
            for low in 0..infinity - 1 {
                let middle = f64::midpoint(float_value(kind, low), float_value(kind, low + 1));
                assert_eq!(float_bits(kind, middle), low + (low & 1), "{kind:?} {low:#x}: tie");
                assert_eq!(float_bits(kind, ulp_after(middle)), low + 1, "{kind:?} {low:#x}: above the tie");
                assert_eq!(float_bits(kind, ulp_before(middle)), low, "{kind:?} {low:#x}: below the tie");
                assert_eq!(
                    float_bits(kind, -ulp_after(middle)),
                    (low + 1) | 0x8000,
                    "{kind:?} {low:#x}: negative"
                );
            }
            let last = float_value(kind, infinity - 1);
            let overflows = last + (last - float_value(kind, infinity - 2)) / 2.0;
            assert_eq!(float_bits(kind, ulp_before(overflows)), infinity - 1);
            for value in [overflows, f64::MAX, f64::INFINITY] {
                assert_eq!(float_bits(kind, value), infinity);
            }
            assert!(float_value(kind, float_bits(kind, f64::NAN)).is_nan());
            assert_eq!(float_bits(kind, f64::MIN_POSITIVE / 4.0), 0);
            assert_eq!(float_bits(kind, -0.0), 0x8000);
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        assert_eq!(float_value(FloatKind::F8E4M3FN, float_bits(FloatKind::F8E4M3FN, 1.0625)), 1.0);
        assert_eq!(float_value(FloatKind::F8E4M3FN, float_bits(FloatKind::F8E4M3FN, 1.1875)), 1.25);
        assert_eq!(float_value(FloatKind::F8E5M2, float_bits(FloatKind::F8E5M2, 61440.0)), f64::INFINITY);
        assert!(float_value(FloatKind::F8E4M3FN, float_bits(FloatKind::F8E4M3FN, 1e9)).is_nan());
    }
}
