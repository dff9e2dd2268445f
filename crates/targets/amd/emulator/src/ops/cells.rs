//! Cells as numbers: integers of any width, floats of every format.

use emulation::{BF16, F16, Format, Rounding};
use llir::{Scalar, Type};

/// The low `bits` bits.
pub(crate) fn low(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// A cell as a number with a sign.
pub(crate) fn signed(cell: u64, bits: u32) -> i64 {
    let shift = 64 - bits;
    (cell << shift) as i64 >> shift
}

/// How the floats of a type are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Small(Format),
    Single,
    Double,
}

impl Kind {
    /// Of the lanes of a type.
    pub(crate) fn of(ty: Type) -> Result<Kind, String> {
        match ty.kind() {
            Scalar::Half => Ok(Kind::Small(F16)),
            Scalar::BFloat => Ok(Kind::Small(BF16)),
            Scalar::Float => Ok(Kind::Single),
            Scalar::Double => Ok(Kind::Double),
            _ => Err(format!("a float is expected, not {ty}")),
        }
    }

    pub(crate) fn decode(self, cell: u64) -> f64 {
        match self {
            Kind::Small(format) => format.decode(cell),
            Kind::Single => f64::from(f32::from_bits(cell as u32)),
            Kind::Double => f64::from_bits(cell),
        }
    }

    /// Rounds to nearest.
    pub(crate) fn encode(self, value: f64) -> u64 {
        match self {
            Kind::Small(format) => format.encode(value, Rounding::NearestEven),
            Kind::Single => u64::from((value as f32).to_bits()),
            Kind::Double => value.to_bits(),
        }
    }

    /// Bits of a number.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Kind::Small(format) => format.bits(),
            Kind::Single => 32,
            Kind::Double => 64,
        }
    }
}

/// Up to eight bytes as a cell.
pub(super) fn cell(bytes: &[u8]) -> u64 {
    match bytes.len() {
        4 => u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        count => {
            let mut out = [0; 8];
            out[..count].copy_from_slice(bytes);
            u64::from_le_bytes(out)
        }
    }
}
