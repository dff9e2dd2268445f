//! Comparisons and selection.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Num, Res};
use crate::diagnostic::Cause;
use crate::dtype::DType;
use crate::semantic::Pointers;
use crate::semantic::fp8e4b15::is_fp8e4b15;
use crate::typing::Arithmetic;
use ir::Attr;
use ruff_python_ast::CmpOp;
use ttir::ops::compare;

/// What a comparison asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Predicate {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Predicate {
    /// The predicate of a Python operator.
    pub(crate) fn from_python(op: CmpOp) -> Option<Predicate> {
        Some(match op {
            CmpOp::Eq => Predicate::Eq,
            CmpOp::NotEq => Predicate::Ne,
            CmpOp::Lt => Predicate::Lt,
            CmpOp::LtE => Predicate::Le,
            CmpOp::Gt => Predicate::Gt,
            CmpOp::GtE => Predicate::Ge,
            _ => return None,
        })
    }

    /// Keywords on floats, signed and unsigned integers. All are false with a NaN but `!=`.
    fn keywords(self) -> [&'static str; 3] {
        match self {
            Predicate::Eq => ["oeq", "eq", "eq"],
            Predicate::Ne => ["une", "ne", "ne"],
            Predicate::Lt => ["olt", "slt", "ult"],
            Predicate::Le => ["ole", "sle", "ule"],
            Predicate::Gt => ["ogt", "sgt", "ugt"],
            Predicate::Ge => ["oge", "sge", "uge"],
        }
    }
}

impl Ctx<'_> {
    /// A comparison.
    pub(crate) fn compare(&mut self, predicate: Predicate, a: Num, b: Num) -> Res<Tensor> {
        let (a, b) = self.unify(a, b, Pointers::None, Arithmetic::Plain)?;
        self.compare_same(predicate, &a, &b)
    }

    /// A comparison of values of one number type and shape.
    pub(crate) fn compare_same(&mut self, predicate: Predicate, a: &Tensor, b: &Tensor) -> Res<Tensor> {
        let Some(dtype) = a.ty.scalar.dtype() else {
            return Err(self.error_help(
                Cause::Type.says(format!("unexpected type {}: pointers cannot be compared", a.ty.scalar)),
                "compare addresses as integers: `ptr.to(tl.int64)`",
            ));
        };
        if is_fp8e4b15(a) {
            let [a, b] = [self.computable(a.clone())?, self.computable(b.clone())?];
            return self.compare_same(predicate, &a, &b);
        }
        let [float, signed, unsigned] = predicate.keywords();
        let (row, cases, keyword) = if dtype.is_floating() {
            (&compare::CMPF, &compare::CMPF_PREDICATE, float)
        } else {
            (&compare::CMPI, &compare::CMPI_PREDICATE, if dtype.is_int_signed() { signed } else { unsigned })
        };
        let attr = cases.value(keyword).map(|value| Attr::Enum { row: cases, value });
        let value = self.emit(row, &[a.value, b.value], &[attr])?;
        Ok(Tensor { value, ty: a.ty.with(DType::Int1) })
    }

    /// `x` where the condition holds, `y` elsewhere.
    pub(crate) fn select(&mut self, condition: Tensor, x: Num, y: Num) -> Res<Tensor> {
        if condition.ty.scalar != DType::Int1.into() {
            self.warn(&format!(
                "tl.where with a non-boolean condition is deprecated and will error out in a future triton release. Got {}",
                condition.ty.scalar
            ));
        }
        let condition = self.as_bool(condition)?;
        let (x, y) = self.unify(x, y, Pointers::Both, Arithmetic::Plain)?;
        let (x, y) = self.same_pointee(x, y)?;
        let (condition, x, y) = if condition.ty.is_block() {
            let (condition, x) = self.broadcast_both(condition, x)?;
            let (x, y) = self.broadcast_both(x, y)?;
            (condition, x, y)
        } else {
            (self.broadcast(condition, &x.ty.shape.clone())?, x, y)
        };
        let value = self.emit(&compare::SELECT, &[condition.value, x.value, y.value], &[])?;
        Ok(Tensor { value, ty: x.ty })
    }

    fn same_pointee(&mut self, x: Tensor, y: Tensor) -> Res<(Tensor, Tensor)> {
        if x.ty.scalar == y.ty.scalar {
            return Ok((x, y));
        }
        Err(self.error(
            Cause::IncompatibleTypes
                .says(format!("invalid operands of type {} and {}", x.ty.scalar, y.ty.scalar)),
        ))
    }
}
