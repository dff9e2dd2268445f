//! Constants: bits per lane, addresses of symbols, and values that stand for "anything".
//!
//! A constant whose lanes are all alike is stored once ([`ConstantKind::Bits`]); that is what folding looks at.

use crate::types::{Scalar, Type};
use std::fmt;

/// A constant and its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Constant {
    /// Its type.
    pub ty: Type,
    /// Its value.
    pub kind: ConstantKind,
}

/// The value of a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstantKind {
    /// The bits of the scalar, or of every lane alike; for floats their own encoding; a null pointer is 0.
    Bits(u128),
    /// The bits of each lane.
    Lanes(Box<[u128]>),
    /// The address of a global or a function.
    Symbol(Box<str>),
    /// A value that must not matter.
    Poison,
    /// Any value, perhaps another at each look.
    Undef,
}

impl Constant {
    /// Bits, cut to the width of a lane; lanes that are all alike become one.
    pub fn lanes(ty: Type, lanes: &[u128]) -> Constant {
        let width = ty.lane_bits();
        match lanes {
            [first, rest @ ..] if rest.iter().all(|lane| mask(*lane, width) == mask(*first, width)) => {
                Constant::bits(ty, *first)
            }
            _ => Constant {
                ty,
                kind: ConstantKind::Lanes(lanes.iter().map(|lane| mask(*lane, width)).collect()),
            },
        }
    }

    /// Bits, cut to the width of a lane, in every lane.
    pub fn bits(ty: Type, bits: u128) -> Constant {
        Constant { ty, kind: ConstantKind::Bits(mask(bits, ty.lane_bits())) }
    }

    /// A float, rounded to the lane type.
    pub fn float(ty: Type, value: f64) -> Constant {
        Constant::bits(ty, float_bits(ty.kind(), value))
    }

    /// The bits that every lane has, where they are known and alike.
    pub fn splat_bits(&self) -> Option<u128> {
        match self.kind {
            ConstantKind::Bits(bits) => Some(bits),
            _ => None,
        }
    }

    /// The bits of one lane, where they are known.
    pub fn lane_bits(&self, lane: u32) -> Option<u128> {
        match &self.kind {
            ConstantKind::Bits(bits) => Some(*bits),
            ConstantKind::Lanes(lanes) => lanes.get(lane as usize).copied(),
            _ => None,
        }
    }
}

/// The low `width` bits.
pub(crate) fn mask(bits: u128, width: u32) -> u128 {
    if width >= 128 { bits } else { bits & ((1 << width) - 1) }
}

/// The low `width` bits, read as a signed number.
pub(crate) fn signed(bits: u128, width: u32) -> i128 {
    if width == 0 || width >= 128 {
        return bits as i128;
    }
    ((bits << (128 - width)) as i128) >> (128 - width)
}

/// The encoding of a float in a format, rounded to nearest even.
pub(crate) fn float_bits(kind: Scalar, value: f64) -> u128 {
    match kind {
        Scalar::Half => u128::from(narrow(value, 5, 10)),
        Scalar::BFloat => u128::from(narrow(value, 8, 7)),
        Scalar::Float => u128::from((value as f32).to_bits()),
        _ => u128::from(value.to_bits()),
    }
}

/// Rounds to a 16-bit format with so many exponent and mantissa bits, ties to even.
fn narrow(value: f64, exponent_bits: u32, mantissa_bits: u32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u16) << 15;
    let max = (1u64 << exponent_bits) - 1;
    if value.is_nan() {
        return sign | ((max << mantissa_bits) as u16) | (1 << (mantissa_bits - 1));
    }
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let significand = (bits & ((1 << 52) - 1)) | if value.is_normal() { 1 << 52 } else { 0 };
    // Below the smallest normal number the last place stays where it is.
    let extra = (1 - bias - exponent).clamp(0, 12 + i64::from(mantissa_bits));
    let drop = 52 - i64::from(mantissa_bits) + extra;
    let (kept, rest) =
        if drop >= 64 { (0, 0) } else { (significand >> drop, significand & ((1 << drop) - 1)) };
    let half = if drop >= 64 { 1 } else { 1u64 << (drop - 1) };
    let rounded = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
    let base = if extra > 0 { 0 } else { (exponent + bias - 1) as u64 };
    let encoded = if exponent > bias { max << mantissa_bits } else { (base << mantissa_bits) + rounded };
    sign | encoded.min(max << mantissa_bits) as u16
}

/// Writes one lane as LLVM does.
pub(crate) fn write_lane(f: &mut dyn fmt::Write, kind: Scalar, bits: u128) -> fmt::Result {
    match kind {
        Scalar::Int(1) => f.write_str(if bits & 1 == 1 { "true" } else { "false" }),
        Scalar::Int(width) => write!(f, "{}", signed(bits, u32::from(width))),
        Scalar::Half => write!(f, "0xH{bits:04X}"),
        Scalar::BFloat => write!(f, "0xR{bits:04X}"),
        Scalar::Float => write!(f, "0x{:016X}", widen_float(bits as u32)),
        Scalar::Double => write!(f, "0x{bits:016X}"),
        Scalar::Ptr(_) if bits == 0 => f.write_str("null"),
        Scalar::Ptr(_) => write!(f, "inttoptr (i64 {bits} to {kind})"),
        Scalar::Void => Ok(()),
    }
}

/// The double that stands for a float in text; the bits of a NaN are kept, a conversion would quiet it.
fn widen_float(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        return sign | 0x7ff << 52 | u64::from(bits & 0x7f_ffff) << 29;
    }
    f64::from(value).to_bits()
}

impl fmt::Display for Constant {
    /// The value without its type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, lane) = (self.ty.kind(), self.ty.lane());
        match &self.kind {
            ConstantKind::Poison => f.write_str("poison"),
            ConstantKind::Undef => f.write_str("undef"),
            ConstantKind::Symbol(name) => write!(f, "@{}", crate::quoted::symbol(name)),
            ConstantKind::Bits(bits) if !self.ty.is_vector() => write_lane(f, kind, *bits),
            ConstantKind::Bits(0) => f.write_str("zeroinitializer"),
            ConstantKind::Bits(bits) => {
                let lanes = vec![*bits; self.ty.lanes() as usize];
                write_lanes(f, lane, &lanes)
            }
            ConstantKind::Lanes(lanes) => write_lanes(f, lane, lanes),
        }
    }
}

/// Writes `<i32 1, i32 2>`.
fn write_lanes(f: &mut fmt::Formatter<'_>, lane: Type, lanes: &[u128]) -> fmt::Result {
    for (index, bits) in lanes.iter().enumerate() {
        write!(f, "{}{lane} ", if index == 0 { "<" } else { ", " })?;
        write_lane(f, lane.kind(), *bits)?;
    }
    f.write_str(">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_formats_round_to_nearest_even() {
        for (value, half, bfloat) in [
            (0.0, 0x0000, 0x0000),
            (-0.0, 0x8000, 0x8000),
            (1.0, 0x3c00, 0x3f80),
            (-2.5, 0xc100, 0xc020),
            (65504.0, 0x7bff, 0x4780),
            (65520.0, 0x7c00, 0x4780),
            (1e-7, 0x0002, 0x33d7),
            (2f64.powi(-25), 0x0000, 0x3300),
            (2f64.powi(-25) * 1.001, 0x0001, 0x3300),
            (f64::INFINITY, 0x7c00, 0x7f80),
            (f64::NAN, 0x7e00, 0x7fc0),
            (1e39, 0x7c00, 0x7f80),
            (1.0 + 3.0 / 2048.0, 0x3c02, 0x3f80),
        ] {
            assert_eq!(narrow(value, 5, 10), half, "{value} as half");
            assert_eq!(narrow(value, 8, 7), bfloat, "{value} as bfloat");
        }
    }

    #[test]
    fn floats_print_exactly() {
        let text = |ty, bits| Constant::bits(ty, bits).to_string();
        assert_eq!(text(Type::F32, 0x3dcc_cccd), "0x3FB99999A0000000");
        assert_eq!(text(Type::F32, 0x7f80_0001), "0x7FF0000020000000");
        assert_eq!(text(Type::F16, 0x3c00), "0xH3C00");
        assert_eq!(text(Type::I32, 0xffff_ffff), "-1");
        assert_eq!(text(Type::I8.vector(2), 3), "<i8 3, i8 3>");
        assert_eq!(text(Type::F32.vector(2), 0), "zeroinitializer");
        assert_eq!(text(Type::PTR, 0), "null");
    }
}
