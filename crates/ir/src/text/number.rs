//! How numbers are written: decimal where that reads back to the same bits, else hexadecimal bits.
//!
//! Floats have two decimal forms: six digits with an exponent (`1.000000e+00`), and where that would lose precision as
//! many digits as the format needs (`0.00999999977`, `4.6566126E-10`). Infinities, NaNs and large whole numbers that
//! fit neither form are written as bits (`0xFF800000`).

use crate::scalar::{float_bits, float_value};
use crate::types::FloatKind;

/// Digits that tell every two numbers of a format apart.
fn digits_needed(kind: FloatKind) -> usize {
    let precision = match kind {
        FloatKind::F8E5M2 | FloatKind::F8E5M2FNUZ => 3,
        FloatKind::F8E4M3FN | FloatKind::F8E4M3FNUZ => 4,
        FloatKind::F16 => 11,
        FloatKind::BF16 => 8,
        FloatKind::F32 => 24,
        FloatKind::F64 => 53,
    };
    2 + precision * 59 / 196
}

/// Writes a float.
pub(super) fn write_float(out: &mut String, kind: FloatKind, bits: u64) {
    let value = float_value(kind, bits);
    if value.is_finite() {
        let start = out.len();
        write_short(out, value);
        if reads_back(kind, bits, &out[start..]) {
            return;
        }
        out.truncate(start);
        write_long(out, value, digits_needed(kind));
        if out[start..].contains('.') && reads_back(kind, bits, &out[start..]) {
            return;
        }
        out.truncate(start);
    }
    let width = kind.bits() as usize / 4;
    out.push_str(&format!("0x{bits:0width$X}"));
}

fn reads_back(kind: FloatKind, bits: u64, text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|value| float_bits(kind, value) == bits)
}

/// The decimal digits of a number without trailing zeros, and the exponent of the first one.
///
/// Digits beyond the precision are cut first, to a length judged from the number of bits, and only what is still too
/// long then is rounded. That is how the reference comes to `0.00999999977` where rounding gives `…978`.
fn decimal(value: f64, precision: usize) -> (String, i32) {
    let value = value.abs();
    if value == 0.0 {
        return ("0".into(), 0);
    }
    let bits = value.to_bits();
    let (mantissa, exponent) = match bits >> 52 {
        0 => (bits, -1074),
        biased => (bits & ((1 << 52) - 1) | 1 << 52, biased as i32 - 1075),
    };
    let exponent = exponent + mantissa.trailing_zeros() as i32;
    let mantissa = mantissa >> mantissa.trailing_zeros();
    // The number is `mantissa * 5^places * 10^-places`; its digits are those of the first two factors.
    let places = usize::try_from(-exponent).unwrap_or(0);
    let written = format!("{value:.places$}").replace('.', "");
    let mut digits = written.trim_start_matches('0').as_bytes().to_vec();
    let mut last = -(places as i32);
    let active_bits = match places {
        0 => (i32::try_from(mantissa.ilog2()).unwrap_or(0) + 1 + exponent) as usize,
        _ => ((mantissa as f64).log2() + places as f64 * 5f64.log2()) as usize + 1,
    };
    let surplus = active_bits.saturating_sub((precision * 196).div_ceil(59)) * 59 / 196;
    digits.truncate(digits.len().saturating_sub(surplus).max(1));
    last += surplus as i32;
    drop_zeros(&mut digits, &mut last);
    if digits.len() > precision {
        last += (digits.len() - precision) as i32;
        let up = digits[precision] >= b'5';
        digits.truncate(precision);
        if up {
            round_up(&mut digits, &mut last);
        }
        drop_zeros(&mut digits, &mut last);
    }
    let first = last + digits.len() as i32 - 1;
    (digits.into_iter().map(char::from).collect(), first)
}

fn drop_zeros(digits: &mut Vec<u8>, last: &mut i32) {
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
        *last += 1;
    }
}

fn round_up(digits: &mut Vec<u8>, last: &mut i32) {
    while digits.last() == Some(&b'9') {
        digits.pop();
        *last += 1;
    }
    match digits.last_mut() {
        Some(digit) => *digit += 1,
        None => digits.push(b'1'),
    }
}

/// Six digits behind the point, of which the last is always zero, and an exponent.
fn write_short(out: &mut String, value: f64) {
    let (digits, exponent) = decimal(value, 6);
    if value.is_sign_negative() {
        out.push('-');
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    out.push_str(&format!("{}.{:0<6}e{sign}{:02}", &digits[..1], &digits[1..], exponent.abs()));
}

fn write_long(out: &mut String, value: f64, precision: usize) {
    let (digits, first) = decimal(value, precision);
    if value.is_sign_negative() {
        out.push('-');
    }
    let count = digits.len() as i32;
    let last = first - (count - 1);
    let scientific = if last >= 0 { last > 3 || count + last > precision as i32 } else { first < -3 };
    if scientific {
        let tail = if count == 1 { "0" } else { &digits[1..] };
        let sign = if first < 0 { '-' } else { '+' };
        out.push_str(&format!("{}.{tail}E{sign}{}", &digits[..1], first.abs()));
    } else if last >= 0 {
        out.push_str(&digits);
        out.extend(std::iter::repeat_n('0', last as usize));
    } else if first >= 0 {
        let (whole, part) = digits.split_at(first as usize + 1);
        out.push_str(&format!("{whole}.{part}"));
    } else {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-first - 1) as usize));
        out.push_str(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::write_float;
    use crate::types::FloatKind;

    fn f32_text(value: f32) -> String {
        let mut out = String::new();
        write_float(&mut out, FloatKind::F32, u64::from(value.to_bits()));
        out
    }

    #[test]
    fn floats_are_written_as_the_reference_writes_them() {
        assert_eq!(f32_text(0.0), "0.000000e+00");
        assert_eq!(f32_text(-0.0), "-0.000000e+00");
        assert_eq!(f32_text(1.0), "1.000000e+00");
        assert_eq!(f32_text(0.01), "0.00999999977");
        assert_eq!(f32_text(4.656_612_6e-10), "4.6566126E-10");
        assert_eq!(f32_text(f32::NEG_INFINITY), "0xFF800000");
        assert_eq!(f32_text(f32::NAN), "0x7FC00000");
        assert_eq!(f32_text(16_777_216.0), "0x4B800000");
        assert_eq!(f32_text(1.234_56), "1.234560e+00");
        assert_eq!(f32_text(std::f32::consts::LOG2_E), "1.44269502");
    }

    #[test]
    fn every_half_reads_back() {
        for bits in 0..=u16::MAX {
            let mut out = String::new();
            write_float(&mut out, FloatKind::F16, u64::from(bits));
            if let Some(hex) = out.strip_prefix("0x") {
                assert_eq!(u64::from_str_radix(hex, 16), Ok(u64::from(bits)));
            } else {
                let back = half::f16::from_f64(out.parse().expect("a decimal number"));
                assert_eq!(back.to_bits(), bits, "{out}");
            }
        }
    }
}
