//! Constants in text.

use super::ParseError;
use super::lexer::{Cursor, Token};
use super::types::Structures;
use crate::constant::{Constant, ConstantKind, float_bits};
use crate::types::{Scalar, Type};

/// Reads the constant of a type.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    ty: Type,
    structures: &Structures,
) -> Result<Constant, ParseError> {
    let wrong = cursor.wrong(&format!("a value of type {ty} is expected here"));
    let special = |kind| Ok(Constant { ty, kind });
    match cursor.take() {
        Some(Token::Word(word)) => match word.as_str() {
            "poison" => special(ConstantKind::Poison),
            "undef" => special(ConstantKind::Undef),
            "zeroinitializer" | "null" | "false" => Ok(Constant::bits(ty, 0)),
            "true" if ty.is_int() => Ok(Constant::bits(ty, 1)),
            "inttoptr" => address(cursor, ty, structures),
            "splat" => {
                cursor.expect('(')?;
                let lane = structures.read(cursor)?;
                let bits = read(cursor, lane, structures)?.splat_bits().ok_or(wrong)?;
                cursor.expect(')')?;
                Ok(Constant::bits(ty, bits))
            }
            _ => Err(wrong),
        },
        Some(Token::Global(name)) => special(ConstantKind::Symbol(name.as_str().into())),
        Some(Token::Number(text)) if !ty.is_vector() => {
            lane_bits(text, ty.kind()).map(|bits| Constant::bits(ty, bits)).ok_or(wrong)
        }
        Some(Token::Mark('<')) if ty.is_vector() => {
            let mut lanes = Vec::new();
            while !cursor.accept('>') {
                if !lanes.is_empty() {
                    cursor.expect(',')?;
                }
                let lane = structures.read(cursor)?;
                let value = read(cursor, lane, structures)?;
                lanes.push(
                    value
                        .splat_bits()
                        .ok_or_else(|| cursor.wrong("a number is expected in front of this"))?,
                );
            }
            if lanes.len() == ty.lanes() as usize { Ok(Constant::lanes(ty, &lanes)) } else { Err(wrong) }
        }
        _ => Err(wrong),
    }
}

/// `inttoptr (i64 7 to ptr)`, behind its word.
fn address(cursor: &mut Cursor<'_>, ty: Type, structures: &Structures) -> Result<Constant, ParseError> {
    cursor.expect('(')?;
    let number = structures.read(cursor)?;
    let bits = read(cursor, number, structures)?.splat_bits();
    let bits = bits.ok_or_else(|| cursor.wrong("a number is expected in front of this"))?;
    cursor.expect_word("to")?;
    structures.read(cursor)?;
    cursor.expect(')')?;
    Ok(Constant::bits(ty, bits))
}

/// The bits of a number for a lane of this kind.
fn lane_bits(text: &str, kind: Scalar) -> Option<u128> {
    let hexadecimal = |digits: &str| u128::from_str_radix(digits, 16).ok();
    match kind {
        Scalar::Int(_) => {
            text.parse::<i128>().map(|number| number as u128).or_else(|_| text.parse::<u128>()).ok()
        }
        Scalar::Half => text.strip_prefix("0xH").and_then(hexadecimal).or_else(|| decimal(text, kind)),
        Scalar::BFloat => text.strip_prefix("0xR").and_then(hexadecimal).or_else(|| decimal(text, kind)),
        Scalar::Float => match text.strip_prefix("0x") {
            Some(digits) => Some(u128::from(narrowed(u64::try_from(hexadecimal(digits)?).ok()?))),
            None => decimal(text, kind),
        },
        Scalar::Double => text.strip_prefix("0x").map_or_else(|| decimal(text, kind), hexadecimal),
        Scalar::Ptr(_) | Scalar::Void => None,
    }
}

fn decimal(text: &str, kind: Scalar) -> Option<u128> {
    text.parse::<f64>().ok().map(|value| float_bits(kind, value))
}

/// The float that a double stands for in text; the bits of a NaN are kept.
fn narrowed(bits: u64) -> u32 {
    let value = f64::from_bits(bits);
    if !value.is_nan() {
        return (value as f32).to_bits();
    }
    let sign = ((bits >> 63) as u32) << 31;
    sign | 0x7f80_0000 | ((bits >> 29) as u32 & 0x7f_ffff)
}
