//! Operators as Python has them (extensions `floor_division` and `pointer_difference`).

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::dtype::{DType, Scalar};
use crate::extension::Extension;
use crate::semantic::{Overflow, Pointers, Predicate};
use crate::typing::Arithmetic;
use crate::value::PyValue;
use ruff_python_ast::Operator;
use ttir::ops::{arith_int, compare};

/// Operators, the extension that changes them, and the operation that they become.
static OPERATORS: [(Operator, Extension, &str); 3] = [
    (Operator::FloorDiv, Extension::FloorDivision, "python._floordiv"),
    (Operator::Mod, Extension::FloorDivision, "python._mod"),
    (Operator::Sub, Extension::PointerDifference, "python._sub"),
];

impl Ctx<'_> {
    /// Whether the function that is being walked uses an extension. Functions of the library use what their callers do.
    pub(crate) fn has_extension(&self, extension: Extension) -> bool {
        let functions = self.frames.iter().rev().map(|frame| &frame.parsed.function);
        let asking = functions.into_iter().find(|function| !crate::stdlib::owns(function));
        asking.map_or(self.granted, |function| function.0.extensions).has(extension)
    }

    /// The operation that an operator on run-time values becomes in the function that is being walked; `None` where it
    /// is the language's own.
    pub(crate) fn extended_operator(&self, op: Operator, left: &Val, right: &Val) -> Option<&'static str> {
        if !matches!(left, Val::Tensor(_)) && !matches!(right, Val::Tensor(_)) {
            return None;
        }
        if self.frames.last().is_none_or(|frame| crate::stdlib::owns(&frame.parsed.function)) {
            return None;
        }
        OPERATORS.iter().find(|row| row.0 == op && self.has_extension(row.1)).map(|row| row.2)
    }

    /// `a // b` of integers, rounded down.
    pub(crate) fn floor_divide(&mut self, a: Num, b: Num) -> Res<Tensor> {
        let (a, b) = self.unify(a, b, Pointers::None, Arithmetic::Division)?;
        if !a.ty.scalar.is_number(DType::is_int_signed) {
            return self.arithmetic(Operator::FloorDiv, Num::Tensor(a), Num::Tensor(b), Overflow::Wraps);
        }
        let quotient = self.elementwise(&arith_int::DIVSI, &a, &b)?;
        let rest = self.elementwise(&arith_int::REMSI, &a, &b)?;
        let is_below = self.is_off(&rest, &b)?;
        let one = self.literal(&PyValue::Int(1), quotient.ty.clone())?;
        let below = self.elementwise(&arith_int::SUBI, &quotient, &one)?;
        self.chosen(&is_below, &below, &quotient)
    }

    /// `a % b` with the sign of `b`.
    pub(crate) fn floor_remainder(&mut self, a: Num, b: Num) -> Res<Tensor> {
        let (a, b) = self.unify(a, b, Pointers::None, Arithmetic::Division)?;
        let both = [Num::Tensor(a), Num::Tensor(b.clone())];
        let [left, right] = both;
        let rest = self.arithmetic(Operator::Mod, left, right, Overflow::Wraps)?;
        let Scalar::Number(dtype) = rest.ty.scalar else { return Ok(rest) };
        if dtype.is_int_unsigned() {
            return Ok(rest);
        }
        let is_off = self.is_off(&rest, &b)?;
        let sum =
            self.arithmetic(Operator::Add, Num::Tensor(rest.clone()), Num::Tensor(b), Overflow::Wraps)?;
        self.chosen(&is_off, &sum, &rest)
    }

    /// Whether a remainder is not zero and has another sign than the divisor.
    fn is_off(&mut self, rest: &Tensor, divisor: &Tensor) -> Res<Tensor> {
        let zero = self.literal(&PyValue::Int(0), rest.ty.clone())?;
        let is_some = self.compare_same(Predicate::Ne, rest, &zero)?;
        let negative = self.compare_same(Predicate::Lt, rest, &zero)?;
        let divides_down = self.compare_same(Predicate::Lt, divisor, &zero)?;
        let differ = self.elementwise(&arith_int::XORI, &negative, &divides_down)?;
        self.elementwise(&arith_int::ANDI, &is_some, &differ)
    }

    fn chosen(&mut self, condition: &Tensor, yes: &Tensor, no: &Tensor) -> Res<Tensor> {
        let value = self.emit(&compare::SELECT, &[condition.value, yes.value, no.value], &[])?;
        Ok(Tensor { value, ty: no.ty.clone() })
    }

    /// `a - b`; of two pointers the number of elements between them.
    pub(crate) fn difference(&mut self, a: Num, b: Num) -> Res<Tensor> {
        let (Num::Tensor(left), Num::Tensor(right)) = (&a, &b) else {
            return self.arithmetic(Operator::Sub, a, b, Overflow::Checked);
        };
        let (Some(to), Some(from)) = (left.ty.scalar.pointer(), right.ty.scalar.pointer()) else {
            return self.arithmetic(Operator::Sub, a, b, Overflow::Checked);
        };
        if to.pointee != from.pointee {
            return Err(self.error_help(
                format!("pointers to {} and {} have no difference", to.pointee, from.pointee),
                "cast one of them with `.to(tl.pointer_type(…))`",
            ));
        }
        let (left, right) = (self.cast(left.clone(), DType::Int64)?, self.cast(right.clone(), DType::Int64)?);
        let (left, right) = self.broadcast_both(left, right)?;
        let bytes = self.elementwise(&arith_int::SUBI, &left, &right)?;
        let shift = (to.pointee.bits().max(8) / 8).trailing_zeros();
        let shift = self.literal(&PyValue::Int(i128::from(shift)), bytes.ty.clone())?;
        self.elementwise(&arith_int::SHRSI, &bytes, &shift)
    }
}
