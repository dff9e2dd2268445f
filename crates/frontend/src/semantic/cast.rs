//! Conversions between element types.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Num, Res};
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::semantic::Predicate;
use crate::value::PyValue;
use ir::{Attr, OpRow};
use ttir::ops::arith_cast;

/// The number of round-to-nearest-even in the rounding attribute.
const RTNE: u32 = 1;

impl Ctx<'_> {
    /// A value in another element type, narrowing floats to nearest even.
    pub(crate) fn cast(&mut self, tensor: Tensor, to: impl Into<Scalar>) -> Res<Tensor> {
        self.cast_rounding(tensor, to.into(), None)
    }

    /// A value in another element type; `rounding` (`rtne`, `rtz`) may be given for narrowing floats only.
    pub(crate) fn cast_rounding(
        &mut self,
        tensor: Tensor,
        to: Scalar,
        rounding: Option<&str>,
    ) -> Res<Tensor> {
        let from = tensor.ty.scalar;
        if from == to {
            return Ok(tensor);
        }
        let rounding = self.rounding(from, to, rounding)?;
        match (from, to) {
            (Scalar::Number(source), Scalar::Number(target)) => {
                self.cast_number(tensor, source, target, rounding)
            }
            (Scalar::Pointer(_), Scalar::Pointer(_)) => self.convert(&arith_cast::TT_BITCAST, tensor, to),
            (Scalar::Pointer(_), Scalar::Number(target)) => self.cast_pointer(tensor, target),
            (Scalar::Number(source), Scalar::Pointer(_)) if source.is_int() => {
                self.convert(&arith_cast::INT_TO_PTR, tensor, to)
            }
            _ => Err(self.error(Cause::Assertion.says(format!("cannot cast {from} to {to}")))),
        }
    }

    fn rounding(&mut self, from: Scalar, to: Scalar, rounding: Option<&str>) -> Res<Option<u32>> {
        let narrowing =
            from.is_number(DType::is_floating) && to.is_number(DType::is_floating) && to.bits() < from.bits();
        match rounding {
            None => Ok(narrowing.then_some(RTNE)),
            Some(name) => match arith_cast::ROUNDING.value(name) {
                Some(value) if narrowing => Ok(Some(value)),
                Some(_) => Err(self.error(format!(
                    "fp_downcast_rounding should be set only for truncating fp conversions. Source scalar type is {from} \
                     and destination type is {to}"
                ))),
                None => Err(self.error(format!(
                    "Invalid rounding mode: {name}. Supported rounding modes are 'rtne' and 'rtz'."
                ))),
            },
        }
    }

    /// A conversion op.
    fn convert(&mut self, row: &'static OpRow, tensor: Tensor, to: impl Into<Scalar>) -> Res<Tensor> {
        let ty = tensor.ty.with(to);
        let ir_type = self.ir_type(&ty)?;
        Ok(Tensor { value: self.emit_as(row, &[tensor.value], &[], ir_type), ty })
    }

    fn cast_number(&mut self, tensor: Tensor, from: DType, to: DType, rounding: Option<u32>) -> Res<Tensor> {
        if from == DType::Fp8E4B15 {
            let half = self.half_of_fp8e4b15(tensor)?;
            return self.cast(half, to);
        }
        if to == DType::Fp8E4B15 {
            let half = match (from, rounding) {
                (DType::Fp16, _) => tensor,
                (DType::Fp32 | DType::Fp64, _) => self.cast_float(tensor, from, DType::Fp16, rounding)?,
                _ => {
                    let single = self.cast(tensor, DType::Fp32)?;
                    self.cast(single, DType::Fp16)?
                }
            };
            return self.fp8e4b15_of_half(half);
        }
        match (from.is_floating(), to.is_floating()) {
            (true, true) => self.cast_float(tensor, from, to, rounding),
            (_, false) if to.is_bool() => {
                let zero = self.literal(&PyValue::Int(0), tensor.ty.clone())?;
                self.compare_same(Predicate::Ne, &tensor, &zero)
            }
            (false, false) => self.cast_int(tensor, from, to),
            (true, false) => {
                let tensor = if from.is_standard_floating() && from.bits() >= 32 {
                    tensor
                } else {
                    self.cast(tensor, DType::Fp32)?
                };
                let row = if to.is_int_signed() { &arith_cast::FPTOSI } else { &arith_cast::FPTOUI };
                self.convert(row, tensor, to)
            }
            (false, true) if to.is_fp8() => {
                let single = self.cast(tensor, DType::Fp32)?;
                self.cast(single, to)
            }
            (false, true) => {
                let row = if from.is_int_signed() { &arith_cast::SITOFP } else { &arith_cast::UITOFP };
                self.convert(row, tensor, to)
            }
        }
    }

    fn cast_float(&mut self, tensor: Tensor, from: DType, to: DType, rounding: Option<u32>) -> Res<Tensor> {
        let fp8 = from.is_fp8() || to.is_fp8();
        let custom = rounding.is_some_and(|value| value != RTNE);
        let between_halves = from.bits() == 16 && to.bits() == 16;
        if fp8 || custom || between_halves {
            let ty = tensor.ty.with(to);
            let ir_type = self.ir_type(&ty)?;
            let rounding = if between_halves { Some(RTNE) } else { rounding };
            let attr = rounding.map(|value| Attr::Enum { row: &arith_cast::ROUNDING, value });
            let value = self.emit_as(&arith_cast::FP_TO_FP, &[tensor.value], &[attr], ir_type);
            return Ok(Tensor { value, ty });
        }
        if from.bits() == 16 && to != DType::Fp32 {
            let single = self.cast(tensor, DType::Fp32)?;
            return self.cast(single, to);
        }
        let row = if to.bits() < from.bits() { &arith_cast::TRUNCF } else { &arith_cast::EXTF };
        self.convert(row, tensor, to)
    }

    fn cast_int(&mut self, tensor: Tensor, from: DType, to: DType) -> Res<Tensor> {
        let row = match to.bits().cmp(&from.bits()) {
            // The ir does not know signedness.
            std::cmp::Ordering::Equal => return Ok(Tensor { value: tensor.value, ty: tensor.ty.with(to) }),
            std::cmp::Ordering::Less => &arith_cast::TRUNCI,
            std::cmp::Ordering::Greater if from.is_int_signed() => &arith_cast::EXTSI,
            std::cmp::Ordering::Greater => &arith_cast::EXTUI,
        };
        self.convert(row, tensor, to)
    }

    fn cast_pointer(&mut self, tensor: Tensor, to: DType) -> Res<Tensor> {
        match to {
            DType::Int64 | DType::UInt64 => self.convert(&arith_cast::PTR_TO_INT, tensor, to),
            DType::Int1 => {
                let address = self.cast(tensor, DType::Int64)?;
                self.cast(address, DType::Int1)
            }
            _ => Err(self.error_help(
                Cause::Assertion.says(format!("cannot cast {} to {to}", tensor.ty.scalar)),
                "an address has 64 bits: cast to `tl.int64` or `tl.uint64`",
            )),
        }
    }

    /// The same bits as another type of the same width.
    pub(crate) fn bitcast(&mut self, tensor: Tensor, to: Scalar) -> Res<Tensor> {
        let from = tensor.ty.scalar;
        if from == to {
            return Ok(tensor);
        }
        if from.pointer().is_some() || to.pointer().is_some() {
            return self.cast(tensor, to);
        }
        if from.bits() != to.bits() {
            let (a, b) = (from.bits(), to.bits());
            return Err(self.error(format!("Cannot bitcast data-type of size {a} to data-type of size {b}")));
        }
        let held_as_int = |dtype: DType| dtype.is_int() || dtype == DType::Fp8E4B15;
        let both_ints = from.is_number(held_as_int) && to.is_number(held_as_int);
        if both_ints {
            return Ok(Tensor { value: tensor.value, ty: tensor.ty.with(to) });
        }
        self.convert(&arith_cast::TT_BITCAST, tensor, to)
    }

    /// A number or a value of one element as a scalar of a type.
    pub(crate) fn make_scalar(&mut self, num: Num, to: DType) -> Res<Tensor> {
        match num {
            Num::Literal(value) => self.literal(&value, crate::typing::Ty::scalar(to)),
            Num::Tensor(tensor) => {
                let scalar = self.item(tensor)?;
                self.cast(scalar, to)
            }
        }
    }
}
