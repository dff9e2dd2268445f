//! Values in fixtures: how they are read, written and compared.
//!
//! A scalar is a number, `true`, `false`, `nan`, `inf`, or bits in base 16 (`0x3f800000`). A block is a list of them in
//! row-major order, `[1, 2, 3]`, or one for all, `[0; 16]`; or a range of integers, `[0..16]`.

use crate::types::{elem, is_tensor, numel};
use ir::Type;
use ir::scalar::{float_bits, float_value, sign_extend, truncate};

/// How far floats may be from what is expected.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tolerance {
    /// Units in the last place of the format.
    pub ulp: u64,
    /// Absolute difference.
    pub absolute: f64,
}

/// Reads the elements of a value of this type.
///
/// # Errors
/// When the text is no such value.
pub fn parse_values(text: &str, ty: Type) -> Result<Vec<u64>, String> {
    let text = text.trim();
    let count = numel(ty) as usize;
    if !is_tensor(ty) {
        return Ok(vec![parse_scalar(text, ty)?]);
    }
    let inside = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or_else(|| format!("`{text}` is not a list of {count} elements"))?;
    let values = list(inside, elem(ty))?;
    if values.len() == count {
        Ok(values)
    } else {
        Err(format!("{} elements, expected {count}", values.len()))
    }
}

/// Reads what stands between the brackets of a list.
pub(super) fn list(inside: &str, elem: Type) -> Result<Vec<u64>, String> {
    let inside = inside.trim();
    if let Some((value, count)) = inside.split_once(';') {
        let count: usize = count.trim().parse().map_err(|_| format!("`{count}` is not a count"))?;
        return Ok(vec![parse_scalar(value.trim(), elem)?; count]);
    }
    if let Some((first, end)) = inside.split_once("..") {
        let number =
            |text: &str| text.trim().parse::<i64>().map_err(|_| format!("`{text}` is not an integer"));
        let numbers = number(first)?..number(end)?;
        return numbers.map(|number| parse_scalar(&number.to_string(), elem)).collect();
    }
    inside.split(',').map(|value| parse_scalar(value.trim(), elem)).collect()
}

fn parse_scalar(text: &str, ty: Type) -> Result<u64, String> {
    let bits = ty.scalar_bits().ok_or_else(|| format!("{ty} has no values in text"))?;
    if let Some(hex) = text.strip_prefix("0x") {
        let value = u64::from_str_radix(hex, 16).map_err(|_| format!("`{text}` is not a number"))?;
        return Ok(truncate(bits, value));
    }
    if let Some(kind) = ty.as_float() {
        let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a float"))?;
        return Ok(float_bits(kind, value));
    }
    if let "true" | "false" = text {
        return Ok(u64::from(text == "true"));
    }
    let value: i128 = text.parse().map_err(|_| format!("`{text}` is not an integer"))?;
    Ok(truncate(bits, value as u64))
}

/// Writes the elements of a value so that [`parse_values`] reads them.
pub fn format_values(values: &[u64], ty: Type) -> String {
    let texts: Vec<String> = values.iter().map(|&bits| format_scalar(bits, elem(ty))).collect();
    if !is_tensor(ty) {
        return texts.concat();
    }
    match texts.first() {
        Some(first) if texts.len() > 4 && texts.iter().all(|text| text == first) => {
            format!("[{first}; {}]", texts.len())
        }
        _ => format!("[{}]", texts.join(", ")),
    }
}

fn format_scalar(bits: u64, ty: Type) -> String {
    let Some(kind) = ty.as_float() else {
        return match ty.as_int() {
            Some(1) => (bits & 1 != 0).to_string(),
            Some(width) => sign_extend(width, bits).to_string(),
            None => format!("{bits:#x}"),
        };
    };
    let value = float_value(kind, bits);
    if value.is_nan() {
        return "nan".into();
    }
    let short = match kind {
        ir::FloatKind::F32 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    };
    let exact = short.parse::<f64>().is_ok_and(|read| float_bits(kind, read) == bits);
    if exact { short } else { format!("{bits:#x}") }
}

/// A number in which neighbouring floats of a format are neighbouring integers.
fn ordered(bits: u64, width: u32) -> i128 {
    let magnitude = i128::from(bits & ((1u64 << (width - 1)) - 1));
    if bits >> (width - 1) & 1 != 0 { -magnitude } else { magnitude }
}

fn close(expected: u64, found: u64, ty: Type, tolerance: Tolerance) -> bool {
    let Some(kind) = ty.as_float() else { return expected == found };
    let (want, have) = (float_value(kind, expected), float_value(kind, found));
    if want.is_nan() || have.is_nan() {
        return want.is_nan() && have.is_nan();
    }
    if tolerance == Tolerance::default() {
        return expected == found;
    }
    let apart = (ordered(expected, kind.bits()) - ordered(found, kind.bits())).unsigned_abs();
    apart <= u128::from(tolerance.ulp) || (want - have).abs() <= tolerance.absolute
}

/// The first element that differs by more than the tolerance, in words. NaNs are equal to each other; without a
/// tolerance zeros of different sign differ.
pub fn difference(expected: &[u64], found: &[u64], ty: Type, tolerance: Tolerance) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} elements, expected {}", found.len(), expected.len()));
    }
    let elem = elem(ty);
    let index = (0..expected.len()).find(|&index| !close(expected[index], found[index], elem, tolerance))?;
    Some(format!(
        "element {index} is {} ({:#x}), expected {} ({:#x})",
        format_scalar(found[index], elem),
        found[index],
        format_scalar(expected[index], elem),
        expected[index]
    ))
}

#[cfg(test)]
mod tests {
    use super::{Tolerance, difference, format_values, parse_values};
    use crate::types::tensor;
    use ir::{FloatKind, Type};

    #[test]
    fn values_survive_a_round_trip() {
        let f32s = tensor(&[4], Type::float(FloatKind::F32));
        for text in ["[1.0, -0.0, inf, nan]", "[1e-45, 0.1, -3.5, 1e30]"] {
            assert_eq!(format_values(&parse_values(text, f32s).unwrap(), f32s), text);
        }
        let bytes = tensor(&[8], Type::int(8));
        assert_eq!(format_values(&parse_values("[-1; 8]", bytes).unwrap(), bytes), "[-1; 8]");
        assert_eq!(parse_values("[0..8]", bytes).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(parse_values("0xff", Type::int(8)), Ok(vec![255]));
        assert!(parse_values("[1, 2]", bytes).is_err());
    }

    #[test]
    fn tolerance_is_in_units_of_the_last_place() {
        let f32 = Type::float(FloatKind::F32);
        let one = u64::from(1.0f32.to_bits());
        assert!(difference(&[one], &[one + 2], f32, Tolerance { ulp: 2, absolute: 0.0 }).is_none());
        assert!(difference(&[one], &[one + 3], f32, Tolerance { ulp: 2, absolute: 0.0 }).is_some());
        assert!(difference(&[0], &[1 << 31], f32, Tolerance::default()).is_some());
        assert!(difference(&[0x7fc0_0000], &[0xffc0_0001], f32, Tolerance::default()).is_none());
    }
}
