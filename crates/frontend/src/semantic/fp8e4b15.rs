//! fp8e4b15: four bits of exponent with the bias of fp16, three of mantissa, no infinities and no NaN.
//!
//! No hardware has it. It is held as an integer of eight bits and converted by way of fp16, whose bits it shares but
//! for their place. What is larger than 1.75, NaN included, becomes 1.75; halves are rounded away from zero.
//! Operations compute in fp32, where sums and products of two numbers are exact.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Res};
use crate::dtype::DType;
use crate::value::PyValue;
use ir::{FloatKind, OpRow};
use ttir::ops::arith_int;

/// The bits of the largest number that a conversion gives, as fp16.
const LARGEST: u64 = 0x3f00;

/// The bits of a number.
pub(crate) fn bits_of(value: f64) -> u64 {
    let half = ir::scalar::float_bits(FloatKind::F16, value);
    let magnitude = (half & 0x7fff).min(LARGEST);
    ((magnitude * 2 + 0x80) >> 8) | ((half >> 8) & 0x80)
}

/// Whether a value is of this type.
pub(crate) fn is_fp8e4b15(tensor: &Tensor) -> bool {
    tensor.ty.scalar == DType::Fp8E4B15.into()
}

impl Ctx<'_> {
    fn with_bits(&mut self, row: &'static OpRow, tensor: &Tensor, bits: u64) -> Res<Tensor> {
        let other = self.literal(&PyValue::Int(bits.into()), tensor.ty.clone())?;
        self.elementwise(row, tensor, &other)
    }

    /// A value as fp16, which is exact.
    pub(crate) fn half_of_fp8e4b15(&mut self, tensor: Tensor) -> Res<Tensor> {
        let byte = Tensor { value: tensor.value, ty: tensor.ty.with(DType::UInt8) };
        let word = self.cast(byte, DType::UInt16)?;
        let sign = self.with_bits(&arith_int::ANDI, &word, 0x80)?;
        let sign = self.with_bits(&arith_int::SHLI, &sign, 8)?;
        let magnitude = self.with_bits(&arith_int::ANDI, &word, 0x7f)?;
        let magnitude = self.with_bits(&arith_int::SHLI, &magnitude, 7)?;
        let bits = self.elementwise(&arith_int::ORI, &sign, &magnitude)?;
        self.bitcast(bits, DType::Fp16.into())
    }

    /// A value without its sign.
    pub(crate) fn absolute_fp8e4b15(&mut self, tensor: Tensor) -> Res<Tensor> {
        self.change_byte(&arith_int::ANDI, tensor, 0x7f)
    }

    /// A value with the other sign.
    pub(crate) fn negate_fp8e4b15(&mut self, tensor: Tensor) -> Res<Tensor> {
        self.change_byte(&arith_int::XORI, tensor, 0x80)
    }

    fn change_byte(&mut self, row: &'static OpRow, tensor: Tensor, bits: u64) -> Res<Tensor> {
        let byte = Tensor { value: tensor.value, ty: tensor.ty.with(DType::UInt8) };
        let changed = self.with_bits(row, &byte, bits)?;
        Ok(Tensor { value: changed.value, ty: tensor.ty })
    }

    /// A value as operations on floats take it.
    pub(crate) fn computable(&mut self, tensor: Tensor) -> Res<Tensor> {
        if is_fp8e4b15(&tensor) { self.cast(tensor, DType::Fp32) } else { Ok(tensor) }
    }

    /// A value of fp16 in the nearest fp8e4b15.
    pub(crate) fn fp8e4b15_of_half(&mut self, tensor: Tensor) -> Res<Tensor> {
        let bits = self.bitcast(tensor, DType::UInt16.into())?;
        let magnitude = self.with_bits(&arith_int::ANDI, &bits, 0x7fff)?;
        let magnitude = self.with_bits(&arith_int::MINUI, &magnitude, LARGEST)?;
        let doubled = self.with_bits(&arith_int::SHLI, &magnitude, 1)?;
        let rounded = self.with_bits(&arith_int::ADDI, &doubled, 0x80)?;
        let rounded = self.with_bits(&arith_int::SHRUI, &rounded, 8)?;
        let sign = self.with_bits(&arith_int::SHRUI, &bits, 8)?;
        let sign = self.with_bits(&arith_int::ANDI, &sign, 0x80)?;
        let word = self.elementwise(&arith_int::ORI, &rounded, &sign)?;
        let byte = self.cast(word, DType::UInt8)?;
        Ok(Tensor { value: byte.value, ty: byte.ty.with(DType::Fp8E4B15) })
    }
}

#[cfg(test)]
mod tests {
    use super::bits_of;

    #[test]
    fn numbers_become_the_nearest_byte() {
        for (value, bits) in [
            (0.0, 0x00),
            (-0.0, 0x80),
            (1.0, 0x78),
            (-1.0, 0xf8),
            (1.75, 0x7e),
            (100.0, 0x7e),
            (f64::NAN, 0x7e),
            (f64::NEG_INFINITY, 0xfe),
            (1.0625, 0x79),
            (1.06, 0x78),
            (0.5, 0x70),
            (2f64.powi(-17), 0x01),
        ] {
            assert_eq!(bits_of(value), bits, "{value}");
        }
    }
}
