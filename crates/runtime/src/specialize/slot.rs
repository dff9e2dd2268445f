//! Numbers as 8-byte slots.

use crate::error::RuntimeError;
use frontend::{ArgSpec, DType, Pointer, Scalar};
use half::{bf16, f16};
use target::ParamKind;

/// An integer in the low bytes of a slot.
///
/// # Errors
/// When it is out of range for the type.
pub fn int_slot(dtype: DType, value: i128) -> Result<u64, RuntimeError> {
    if dtype.is_bool() {
        return Ok(u64::from(value != 0));
    }
    let (low, high) = dtype.int_range();
    if value < low || value > high {
        return Err(RuntimeError::Value(format!(
            "is {value}, which is out of range for {dtype} ({low} to {high})"
        )));
    }
    // Keeps the low 64 bits, two's complement.
    Ok(value as u64)
}

/// A float in the low bytes of a slot, rounded to the type.
///
/// # Errors
/// For types that no argument can have.
pub fn float_slot(dtype: DType, value: f64) -> Result<u64, RuntimeError> {
    match dtype {
        DType::Fp16 => Ok(u64::from(f16::from_f64(value).to_bits())),
        DType::Bf16 => Ok(u64::from(bf16::from_f64(value).to_bits())),
        DType::Fp32 => Ok(u64::from((value as f32).to_bits())),
        DType::Fp64 => Ok(value.to_bits()),
        _ => {
            Err(RuntimeError::Type(format!("is annotated as {dtype}, and a number cannot be passed as that")))
        }
    }
}

/// An argument of a kernel that is known by its binary interface alone.
pub fn spec_of_kind(kind: ParamKind) -> ArgSpec {
    let dtype = match kind {
        ParamKind::Pointer => {
            let pointer = Pointer { pointee: DType::Int8, constant: false };
            return ArgSpec::Runtime { ty: Scalar::Pointer(pointer), divisible_by_16: false };
        }
        ParamKind::Int(bits) => DType::int(bits, true).unwrap_or(DType::Int64),
        ParamKind::Float(16) => DType::Fp16,
        ParamKind::Float(32) => DType::Fp32,
        ParamKind::Float(_) => DType::Fp64,
        ParamKind::Bf16 => DType::Bf16,
    };
    ArgSpec::runtime(dtype)
}
