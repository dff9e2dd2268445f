//! Arithmetic and bitwise operators, minimum, maximum and clamping.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Num, Res};
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::semantic::fp8e4b15::is_fp8e4b15;
use crate::typing::{self, Arithmetic, Operand, Ty};
use crate::value::PyValue;
use ir::{Attr, OpRow, Traits};
use ruff_python_ast::Operator;
use ttir::ops::arith_float::PropagateNan;
use ttir::ops::{arith_cast, arith_float, arith_int, debug, memory};

/// Which sides of an operation may be pointers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pointers {
    /// Neither.
    None,
    /// The left one.
    Left,
    /// Either.
    Both,
}

/// Whether integer overflow is asserted against in debug builds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// It is.
    Checked,
    /// It is wanted.
    Wraps,
}

/// The rows of an operation on floats, signed and unsigned integers.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    float: Option<&'static OpRow>,
    signed: Option<&'static OpRow>,
    unsigned: Option<&'static OpRow>,
}

/// A binary operator on tensors: its rows and rules.
struct Rule {
    op: Operator,
    rows: Rows,
    arithmetic: Arithmetic,
    pointers: Pointers,
}

const fn rule(op: Operator, float: Option<&'static OpRow>, int: &'static OpRow, pointers: Pointers) -> Rule {
    let rows = Rows { float, signed: Some(int), unsigned: Some(int) };
    Rule { op, rows, arithmetic: Arithmetic::Plain, pointers }
}

const fn division(op: Operator, float: Option<&'static OpRow>, ints: Option<[&'static OpRow; 2]>) -> Rule {
    let rows = match ints {
        Some([signed, unsigned]) => Rows { float, signed: Some(signed), unsigned: Some(unsigned) },
        None => Rows { float, signed: None, unsigned: None },
    };
    Rule { op, rows, arithmetic: Arithmetic::Division, pointers: Pointers::None }
}

static RULES: [Rule; 11] = [
    rule(Operator::Add, Some(&arith_float::ADDF), &arith_int::ADDI, Pointers::Both),
    rule(Operator::Sub, Some(&arith_float::SUBF), &arith_int::SUBI, Pointers::Left),
    rule(Operator::Mult, Some(&arith_float::MULF), &arith_int::MULI, Pointers::None),
    division(Operator::Div, Some(&arith_float::DIVF), None),
    division(Operator::FloorDiv, None, Some([&arith_int::DIVSI, &arith_int::DIVUI])),
    division(Operator::Mod, Some(&arith_float::REMF), Some([&arith_int::REMSI, &arith_int::REMUI])),
    rule(Operator::BitAnd, None, &arith_int::ANDI, Pointers::None),
    rule(Operator::BitOr, None, &arith_int::ORI, Pointers::None),
    rule(Operator::BitXor, None, &arith_int::XORI, Pointers::None),
    rule(Operator::LShift, None, &arith_int::SHLI, Pointers::None),
    Rule {
        op: Operator::RShift,
        rows: Rows { float: None, signed: Some(&arith_int::SHRSI), unsigned: Some(&arith_int::SHRUI) },
        arithmetic: Arithmetic::Plain,
        pointers: Pointers::None,
    },
];

/// The rows of a minimum or maximum that ignores NaN.
pub(crate) static MINIMUM: Rows = Rows {
    float: Some(&arith_float::MINNUMF),
    signed: Some(&arith_int::MINSI),
    unsigned: Some(&arith_int::MINUI),
};
/// As [`MINIMUM`].
pub(crate) static MAXIMUM: Rows = Rows {
    float: Some(&arith_float::MAXNUMF),
    signed: Some(&arith_int::MAXSI),
    unsigned: Some(&arith_int::MAXUI),
};
/// The rows of a minimum that is NaN where an operand is.
pub(crate) static MINIMUM_NAN: Rows = Rows { float: Some(&arith_float::MINIMUMF), ..MINIMUM };
/// As [`MINIMUM_NAN`].
pub(crate) static MAXIMUM_NAN: Rows = Rows { float: Some(&arith_float::MAXIMUMF), ..MAXIMUM };

impl Rows {
    fn of(&self, dtype: DType) -> Option<&'static OpRow> {
        if dtype.is_floating() {
            self.float
        } else if dtype.is_int_signed() {
            self.signed
        } else {
            self.unsigned
        }
    }
}

impl Ctx<'_> {
    fn typing_operand(&mut self, num: &Num) -> Res<Option<Operand>> {
        match num {
            Num::Literal(value) => Ok(Some(Operand::literal(self.check(typing::literal_type(value))?))),
            Num::Tensor(tensor) => Ok(tensor.ty.scalar.dtype().map(Operand::tensor)),
        }
    }

    fn scalar_of(&mut self, num: &Num) -> Res<Scalar> {
        match num {
            Num::Literal(value) => Ok(Scalar::Number(self.check(typing::literal_type(value))?)),
            Num::Tensor(tensor) => Ok(tensor.ty.scalar),
        }
    }

    /// Brings both sides to one type (unless one is a pointer) and shape.
    pub(crate) fn unify(
        &mut self,
        a: Num,
        b: Num,
        pointers: Pointers,
        arithmetic: Arithmetic,
    ) -> Res<(Tensor, Tensor)> {
        let (left, right) = (self.scalar_of(&a)?, self.scalar_of(&b)?);
        let allowed = [pointers != Pointers::None, pointers == Pointers::Both];
        self.check(typing::check_pointers(left, right, allowed[0], allowed[1]))?;
        let (Some(x), Some(y)) = (self.typing_operand(&a)?, self.typing_operand(&b)?) else {
            let (a, b) = (self.num_to_tensor(a)?, self.num_to_tensor(b)?);
            return self.broadcast_both(a, b);
        };
        let dtype = self.check(typing::computation_type(x, y, arithmetic))?;
        match (a, b) {
            (Num::Tensor(a), Num::Literal(b)) => {
                let a = self.cast(a, dtype)?;
                let b = self.computed_literal(&b, a.ty.with(dtype))?;
                Ok((a, b))
            }
            (Num::Literal(a), Num::Tensor(b)) => {
                let a = self.computed_literal(&a, b.ty.with(dtype))?;
                let b = self.cast(b, dtype)?;
                Ok((a, b))
            }
            (a, b) => {
                let (a, b) = (self.computed(a, dtype)?, self.computed(b, dtype)?);
                self.broadcast_both(a, b)
            }
        }
    }

    /// A side in the type that an operation is done in.
    fn computed(&mut self, num: Num, dtype: DType) -> Res<Tensor> {
        match num {
            Num::Tensor(tensor) => self.cast(tensor, dtype),
            Num::Literal(value) => self.computed_literal(&value, Ty::scalar(dtype)),
        }
    }

    fn computed_literal(&mut self, value: &PyValue, ty: Ty) -> Res<Tensor> {
        if let Scalar::Number(dtype) = ty.scalar {
            self.check(typing::check_literal(value, dtype))?;
        }
        self.literal(value, ty)
    }

    /// An operation on two values of one number type.
    pub(crate) fn elementwise(&mut self, row: &'static OpRow, a: &Tensor, b: &Tensor) -> Res<Tensor> {
        if is_fp8e4b15(a) {
            let [a, b] = [self.computable(a.clone())?, self.computable(b.clone())?];
            let result = self.elementwise(row, &a, &b)?;
            return self.cast(result, DType::Fp8E4B15);
        }
        let value = self.emit(row, &[a.value, b.value], &[])?;
        Ok(Tensor { value, ty: a.ty.clone() })
    }

    /// A binary operator.
    pub(crate) fn arithmetic(&mut self, op: Operator, a: Num, b: Num, overflow: Overflow) -> Res<Tensor> {
        let Some(rule) = RULES.iter().find(|rule| rule.op == op) else {
            return Err(self.unsupported(
                format!("the operator `{}` is not supported on tensors", op.as_str()),
                if op == Operator::Pow { "write `x * x`, or `libdevice.pow(x, y)`" } else { "" },
            ));
        };
        if op == Operator::LShift || op == Operator::RShift {
            self.check_shift(&a, &b);
        }
        // A signed value is shifted arithmetically, whatever type both sides are promoted to.
        let shifted = match (&a, &b) {
            (Num::Tensor(tensor), _) | (_, Num::Tensor(tensor)) => tensor.ty.scalar.dtype(),
            _ => None,
        };
        let given = [self.scalar_of(&a)?, self.scalar_of(&b)?];
        let (mut a, mut b) = self.unify(a, b, rule.pointers, rule.arithmetic)?;
        if b.ty.scalar.pointer().is_some() {
            std::mem::swap(&mut a, &mut b);
        }
        if a.ty.scalar.pointer().is_some() {
            return self.offset_pointer(op, a, b);
        }
        let Scalar::Number(mut dtype) = a.ty.scalar else { return Ok(a) };
        if op == Operator::Div && dtype.is_int() {
            (a, b) = (self.cast(a, DType::Fp32)?, self.cast(b, DType::Fp32)?);
            dtype = DType::Fp32;
        }
        let by_sign = shifted.filter(|own| op == Operator::RShift && own.is_int() && dtype.is_int());
        let Some(row) = rule.rows.of(by_sign.unwrap_or(dtype)) else {
            let help = if dtype.is_floating() && op == Operator::FloorDiv {
                "use `tl.floor(x / y)`"
            } else {
                "convert the operands to integers with `.to(tl.int32)`"
            };
            let [left, right] = given;
            let message = if rule.rows.float.is_none() && op != Operator::FloorDiv {
                Cause::IncompatibleTypes.says(format!(
                    "invalid operands of type {left} and {right} for the operator `{}`",
                    op.as_str()
                ))
            } else {
                Cause::Type.says(format!("unexpected type {dtype} for the operator `{}`", op.as_str()))
            };
            return Err(self.error_help(message, help));
        };
        if overflow == Overflow::Checked && matches!(op, Operator::Add | Operator::Sub | Operator::Mult) {
            self.check_overflow(op, row, &a, &b)?;
        }
        self.elementwise(row, &a, &b)
    }

    fn check_shift(&mut self, a: &Num, b: &Num) {
        if let (Num::Tensor(tensor), Num::Literal(PyValue::Int(amount))) = (a, b) {
            let bits = tensor.ty.scalar.bits();
            if *amount >= i128::from(bits) {
                let ty = tensor.ty.scalar;
                self.warn(&format!(
                    "Value {amount} exceeds the maximum bitwidth ({bits}) for type '{ty}'. This may result in undefined behavior."
                ));
            }
        }
    }

    fn offset_pointer(&mut self, op: Operator, pointer: Tensor, offset: Tensor) -> Res<Tensor> {
        let Scalar::Number(dtype) = offset.ty.scalar else {
            return Err(self.error_help(
                Cause::Type.says("cannot add pointers together"),
                "a pointer moves by an integer number of elements: `ptr + offset`",
            ));
        };
        let mut offset = offset;
        if op == Operator::Sub {
            offset = self.negate(offset)?;
        }
        // Offsets are signed: an unsigned one must not turn negative.
        if dtype.is_int_unsigned() && dtype.bits() < 64 {
            offset = self.cast(offset, DType::UInt64)?;
        }
        let value = self.emit(&memory::ADDPTR, &[pointer.value, offset.value], &[])?;
        Ok(Tensor { value, ty: pointer.ty })
    }

    /// In debug builds, an assertion that the exact result fits.
    fn check_overflow(&mut self, op: Operator, row: &'static OpRow, a: &Tensor, b: &Tensor) -> Res<()> {
        let options = &self.request.options;
        let Scalar::Number(dtype) = a.ty.scalar else { return Ok(()) };
        let wanted = options.debug && options.sanitize_overflow;
        if !wanted || !dtype.is_int() || dtype.bits() >= 64 {
            return Ok(());
        }
        let (wide_a, wide_b) = (self.cast(a.clone(), DType::Int64)?, self.cast(b.clone(), DType::Int64)?);
        let exact = self.elementwise(row, &wide_a, &wide_b)?;
        let (min, max) = dtype.int_range();
        let max = self.literal(&PyValue::Int(max), exact.ty.clone())?;
        let min = self.literal(&PyValue::Int(min), exact.ty.clone())?;
        let below = self.compare_same(super::Predicate::Le, &exact, &max)?;
        let above = self.compare_same(super::Predicate::Ge, &exact, &min)?;
        let fits = self.elementwise(&arith_int::ANDI, &below, &above)?;
        let verb = match op {
            Operator::Add => "add",
            Operator::Sub => "sub",
            _ => "mul",
        };
        let message = format!("int{} overflow detected for operation {verb}", dtype.bits());
        self.emit_effect(&debug::ASSERT, &[fits.value], &[Some(Attr::str(&message))]);
        Ok(())
    }

    /// `-x`.
    pub(crate) fn negate(&mut self, tensor: Tensor) -> Res<Tensor> {
        match tensor.ty.scalar {
            Scalar::Pointer(_) => {
                Err(self.error(format!("wrong type argument to unary minus ({})", tensor.ty.scalar)))
            }
            Scalar::Number(DType::Fp8E4B15) => self.negate_fp8e4b15(tensor),
            Scalar::Number(dtype) if dtype.is_floating() => {
                let value = self.emit(&arith_float::NEGF, &[tensor.value], &[])?;
                Ok(Tensor { value, ty: tensor.ty })
            }
            Scalar::Number(_) => {
                let zero = self.literal(&PyValue::Int(0), tensor.ty.clone())?;
                self.elementwise(&arith_int::SUBI, &zero, &tensor)
            }
        }
    }

    /// `~x`.
    pub(crate) fn invert(&mut self, tensor: Tensor) -> Res<Tensor> {
        if !tensor.ty.scalar.is_number(DType::is_int) {
            return Err(self.error(format!("wrong type argument to unary invert ({})", tensor.ty.scalar)));
        }
        let ones = self.all_ones(&tensor.ty)?;
        self.elementwise(&arith_int::XORI, &tensor, &ones)
    }

    fn all_ones(&mut self, ty: &Ty) -> Res<Tensor> {
        let ir_type = self.ir_type(ty)?;
        let bits = ir::scalar::truncate(ty.scalar.bits(), u64::MAX);
        Ok(Tensor { value: self.constant_bits(ir_type, bits), ty: ty.clone() })
    }

    /// `not x`.
    pub(crate) fn logical_not(&mut self, tensor: Tensor) -> Res<Tensor> {
        let tensor = self.as_bool(tensor)?;
        self.invert(tensor)
    }

    /// A value as `int1`: as the logical operators and `if` take it.
    pub(crate) fn as_bool(&mut self, tensor: Tensor) -> Res<Tensor> {
        self.cast(tensor, DType::Int1)
    }

    /// bf16 is compared in fp32; see [`Ctx::narrowed_extremum`].
    fn without_bf16(&mut self, num: Num) -> Res<Num> {
        match num {
            Num::Tensor(tensor) if tensor.ty.scalar == DType::Bf16.into() => {
                Ok(Num::Tensor(self.cast(tensor, DType::Fp32)?))
            }
            other => Ok(other),
        }
    }

    /// The bf16 that a minimum, maximum or clamp of bf16 in fp32 is without a loss, where `ty` asks for it; else the
    /// value as it is.
    pub(crate) fn narrowed_extremum(&mut self, tensor: Tensor, ty: &Ty) -> Res<Tensor> {
        let widened = tensor.ty.scalar == DType::Fp32.into() && ty.scalar == DType::Bf16.into();
        if widened && self.is_chosen_from_bf16(tensor.value, 0) {
            return self.cast(tensor, DType::Bf16);
        }
        Ok(tensor)
    }

    /// Whether a value is one of several that were bf16 before.
    fn is_chosen_from_bf16(&self, value: ir::Value, depth: usize) -> bool {
        let module = &self.module;
        if let Some(bits) = self.splat_bits(value) {
            return bits.trailing_zeros() >= 16 || bits == 0;
        }
        let ir::Def::Result(op, _) = module.def(value) else { return false };
        let row = module.row(op);
        if row.is(&arith_cast::EXTF) {
            let source = ttir::ops::forms::UnaryOp::new(module, op).src();
            return ttir::types::elem(module.ty(source)).as_float() == Some(ir::FloatKind::BF16);
        }
        let known = row.traits.has(Traits::MOVES) || row.traits.has(Traits::CHOOSES);
        known
            && depth < 8
            && module.operands(op).iter().all(|operand| self.is_chosen_from_bf16(*operand, depth + 1))
    }

    /// Minimum and maximum.
    pub(crate) fn extremum(&mut self, rows: &Rows, a: Num, b: Num) -> Res<Tensor> {
        let (a, b) = (self.without_bf16(a)?, self.without_bf16(b)?);
        let (a, b) = self.unify(a, b, Pointers::None, Arithmetic::Plain)?;
        let Some(row) = a.ty.scalar.dtype().and_then(|dtype| rows.of(dtype)) else {
            return Err(self.error(Cause::Type.says(format!("Unexpected dtype {}", a.ty.scalar))));
        };
        self.elementwise(row, &a, &b)
    }

    /// Three sides in one type and shape.
    pub(crate) fn unify3(&mut self, operands: [Num; 3]) -> Res<[Tensor; 3]> {
        let mut known = Vec::new();
        for operand in &operands {
            match self.typing_operand(operand)? {
                Some(operand) => known.push(operand),
                None => {
                    return Err(self.error(
                        Cause::Assertion.says("invalid operand: expected a number, found a pointer"),
                    ));
                }
            }
        }
        let dtype = self.check(typing::ternary_type([known[0], known[1], known[2]]))?;
        let mut tensors = Vec::new();
        for operand in operands {
            tensors.push(self.computed(operand, dtype)?);
        }
        let all = self.broadcast_all(tensors)?;
        all.try_into().map_err(|_| self.error("internal error: three operands became another number"))
    }

    /// `x` held between `min` and `max`.
    pub(crate) fn clamp(&mut self, operands: [Num; 3], propagate_nan: PropagateNan) -> Res<Tensor> {
        let [x, min, max] = operands;
        let operands = [self.without_bf16(x)?, self.without_bf16(min)?, self.without_bf16(max)?];
        let [x, min, max] = self.unify3(operands)?;
        if !x.ty.scalar.is_number(DType::is_floating) {
            let low = self.extremum(&MAXIMUM, Num::Tensor(x), Num::Tensor(min))?;
            return self.extremum(&MINIMUM, Num::Tensor(low), Num::Tensor(max));
        }
        let attr = Attr::Enum { row: &arith_float::PROPAGATE_NAN, value: propagate_nan as u32 };
        self.of_three(&arith_float::CLAMPF, [x, min, max], &[Some(attr)])
    }

    /// An operation on three floats of one type.
    pub(crate) fn of_three(
        &mut self,
        row: &'static OpRow,
        operands: [Tensor; 3],
        attrs: &[Option<Attr>],
    ) -> Res<Tensor> {
        let given = operands[0].ty.scalar;
        let [x, y, z] = operands;
        let [x, y, z] = [self.computable(x)?, self.computable(y)?, self.computable(z)?];
        let value = self.emit(row, &[x.value, y.value, z.value], attrs)?;
        self.cast(Tensor { value, ty: x.ty }, given)
    }

    /// Division with a chosen rounding.
    pub(crate) fn float_divide(&mut self, a: Num, b: Num, row: &'static OpRow) -> Res<Tensor> {
        let (a, b) = self.unify(a, b, Pointers::None, Arithmetic::Division)?;
        if !a.ty.scalar.is_number(DType::is_floating) {
            return Err(self.error_help(
                Cause::Type.says("fdiv requires floating-point operands after type promotion"),
                "use `/`, which converts integers to fp32",
            ));
        }
        self.elementwise(row, &a, &b)
    }
}
