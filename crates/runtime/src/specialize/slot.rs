//! Numbers as 8-byte slots.

use crate::error::RuntimeError;
use frontend::{ArgSpec, DType, Pointer, Scalar};
use ir::FloatKind;
use ir::scalar::float_bits;
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
    let kind = match dtype {
        DType::Fp16 => FloatKind::F16,
        DType::Bf16 => FloatKind::BF16,
        DType::Fp32 => FloatKind::F32,
        DType::Fp64 => FloatKind::F64,
        _ => {
            let text = format!("is annotated as {dtype}, and a number cannot be passed as that");
            return Err(RuntimeError::Type(text));
        }
    };
    Ok(float_bits(kind, value))
}

/// An argument of a kernel that is known by its binary interface alone.
pub fn spec_of_kind(kind: ParamKind) -> ArgSpec {
    let dtype = match kind {
        ParamKind::Pointer => {
            let pointer = Pointer { pointee: DType::Int8, constant: false };
            return ArgSpec::runtime(Scalar::Pointer(pointer));
        }
        ParamKind::Int(bits) => DType::int(bits, true).expect("kernels take integers of 1 to 64 bits"),
        ParamKind::Float(16) => DType::Fp16,
        ParamKind::Float(32) => DType::Fp32,
        ParamKind::Float(_) => DType::Fp64,
        ParamKind::Bf16 => DType::Bf16,
    };
    ArgSpec::runtime(dtype)
}
