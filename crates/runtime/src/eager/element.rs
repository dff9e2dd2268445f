//! What an element of a block is, for whoever shows it.

use frontend::{DType, Scalar};
use ir::scalar::sign_extend;

/// An element of a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Element {
    /// `int1`.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float, exactly.
    Float(f64),
    /// An address.
    Pointer(u64),
}

/// The element of a type that these bits are.
pub fn element(scalar: Scalar, bits: u64) -> Element {
    let Scalar::Number(dtype) = scalar else { return Element::Pointer(bits) };
    if dtype == DType::Int1 {
        return Element::Bool(bits & 1 != 0);
    }
    if let Some(value) = frontend::eager::float_of(dtype, bits) {
        return Element::Float(value);
    }
    let signed = dtype.is_int_signed();
    Element::Int(if signed { i128::from(sign_extend(dtype.bits(), bits)) } else { i128::from(bits) })
}

#[cfg(test)]
mod tests {
    use super::{Element, element};
    use frontend::DType;

    #[test]
    fn elements_are_what_their_bits_mean() {
        let of = |dtype: DType, bits| element(dtype.into(), bits);
        assert_eq!(of(DType::Int1, 1), Element::Bool(true));
        assert_eq!(of(DType::Int8, 0xff), Element::Int(-1));
        assert_eq!(of(DType::UInt8, 0xff), Element::Int(255));
        assert_eq!(of(DType::UInt64, u64::MAX), Element::Int(u64::MAX.into()));
        assert_eq!(of(DType::Bf16, 0x3fc0), Element::Float(1.5));
        assert_eq!(of(DType::Fp8E4B15, 0x78), Element::Float(1.0));
    }
}
