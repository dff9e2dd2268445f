//! Arithmetic of bits: the formats of PTX types, matrices, and the operations of atomics.

pub(crate) mod matrix;
pub(crate) mod reduce;

use emulation::Format;

use crate::syntax::types::{Kind, Type};

/// The format of a type's elements; `None` for f64, powers of two and what is no float.
pub(crate) fn format_of(ty: Type) -> Option<Format> {
    Some(match (ty.kind, ty.bits) {
        (Kind::Float, 16) => emulation::F16,
        (Kind::Float, 32) => emulation::F32,
        (Kind::Brain, _) => emulation::BF16,
        (Kind::Tensor32, _) => emulation::TF32,
        (Kind::E4M3, _) => emulation::E4M3,
        (Kind::E5M2, _) => emulation::E5M2,
        (Kind::E2M1, _) => emulation::E2M1,
        (Kind::E2M3, _) => emulation::E2M3,
        (Kind::E3M2, _) => emulation::E3M2,
        _ => return None,
    })
}

/// Up to eight bytes as a cell.
pub(crate) fn cell(bytes: &[u8]) -> u64 {
    let mut out = [0; 8];
    out[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(out)
}
