//! Emission of ops: types, constants, folding of what is known, and the errors that carry a place.

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res, Stop};
use crate::constexpr;
use crate::diagnostic::{Call, Cause, Diagnostic, Fault, Kind};
use crate::dtype::{DType, Scalar};
use crate::stdlib;
use crate::typing::{self, Ty};
use crate::value::PyValue;
use ir::{Attr, EvalArgs, FloatKind, OpInit, OpRow, Traits, Type};
use ruff_text_size::TextRange;
use smallvec::SmallVec;
use ttir::ops::{constant, shape};

/// The most errors that one compile reports.
const MAX_ERRORS: usize = 20;

/// The ir type of an element type; `None` for types without one.
pub(crate) fn ir_dtype(dtype: DType) -> Option<Type> {
    Some(match dtype {
        DType::Fp8E5 => Type::float(FloatKind::F8E5M2),
        DType::Fp8E5B16 => Type::float(FloatKind::F8E5M2FNUZ),
        DType::Fp8E4Nv => Type::float(FloatKind::F8E4M3FN),
        DType::Fp8E4B8 => Type::float(FloatKind::F8E4M3FNUZ),
        DType::Fp16 => Type::float(FloatKind::F16),
        DType::Bf16 => Type::float(FloatKind::BF16),
        DType::Fp32 => Type::float(FloatKind::F32),
        DType::Fp64 => Type::float(FloatKind::F64),
        // Its bits; what they mean is in conversions alone.
        DType::Fp8E4B15 => Type::int(8),
        DType::Void => return None,
        int => Type::int(int.bits()),
    })
}

impl Ctx<'_> {
    // --- errors ---

    /// Reports an error at the place being walked. A text alone is a `ValueError` of Python.
    pub(crate) fn error(&mut self, fault: impl Into<Fault>) -> Stop {
        self.report(Kind::Compilation, fault, self.at, &[])
    }

    /// Reports an error at the place being walked, with a way out.
    pub(crate) fn error_help(&mut self, fault: impl Into<Fault>, help: &str) -> Stop {
        self.report(Kind::Compilation, fault, self.at, &[help])
    }

    /// Reports Python that the language does not have.
    pub(crate) fn unsupported(&mut self, message: impl Into<String>, help: &str) -> Stop {
        let help: &[&str] = if help.is_empty() { &[] } else { &[help] };
        let message: String = message.into();
        self.report(Kind::Unsupported, message, self.at, help)
    }

    /// Turns the error of a rule into a report; what stands behind its first line helps.
    pub(crate) fn check<T>(&mut self, result: Result<T, impl Into<Fault>>) -> Res<T> {
        result.map_err(|fault| {
            let fault: Fault = fault.into();
            match fault.message.split_once('\n') {
                Some((message, help)) => self.error_help(fault.cause.says(message), help),
                None => self.error(fault),
            }
        })
    }

    /// Reports anything.
    pub(crate) fn report(
        &mut self,
        kind: Kind,
        fault: impl Into<Fault>,
        range: TextRange,
        help: &[&str],
    ) -> Stop {
        let Fault { cause, message } = fault.into();
        let mut diagnostic = Diagnostic { cause, ..Diagnostic::without_place(kind, message) };
        diagnostic.help = help.iter().map(|text| text.to_string()).collect();
        // The library's own text helps nobody: its caller is where the fault is.
        let own = self.frames.iter().position(|frame| stdlib::owns(&frame.parsed.function));
        let (frames, range) = match own {
            // Where nobody's function is being walked, whoever asked for the operation knows its place.
            Some(0) => (&self.frames[..0], range),
            Some(first) => (&self.frames[..first], self.frames[first].call),
            None => (&self.frames[..], range),
        };
        if let Some(frame) = frames.last() {
            diagnostic.place = Some(frame.parsed.place(range));
        }
        for pair in frames.windows(2).rev() {
            let [caller, callee] = pair else { continue };
            let name = callee.parsed.function.0.name.clone();
            diagnostic.calls.push(Call { callee: name, place: caller.parsed.place(callee.call) });
        }
        if kind == Kind::Warning {
            if !self.warnings.contains(&diagnostic) {
                self.warnings.push(diagnostic);
            }
        } else if !self.diagnostics.contains(&diagnostic) && self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
        Stop
    }

    /// Notes something deprecated at the place being walked.
    pub(crate) fn warn(&mut self, message: &str) {
        let _ = self.report(Kind::Warning, message.to_string(), self.at, &[]);
    }

    // --- ops ---

    /// A builder at the place being filled.
    pub(crate) fn builder(&mut self) -> ir::Builder<'_> {
        let loc = self.loc();
        ir::Builder { module: &mut self.module, place: self.place, loc }
    }

    /// An op whose result type follows from its operands; a constant where all operands are.
    pub(crate) fn emit(
        &mut self,
        row: &'static OpRow,
        operands: &[ir::Value],
        attrs: &[Option<Attr>],
    ) -> Res<ir::Value> {
        let types = self.check(ir::infer(&self.module, row, operands, attrs))?;
        match types.first() {
            Some(&ty) => Ok(self.emit_as(row, operands, attrs, ty)),
            None => Err(self.error(format!("internal error: {} has no result", row.name))),
        }
    }

    /// An op with one result of a given type; a constant where all operands are.
    pub(crate) fn emit_as(
        &mut self,
        row: &'static OpRow,
        operands: &[ir::Value],
        attrs: &[Option<Attr>],
        ty: Type,
    ) -> ir::Value {
        if let Some(bits) = self.folded(row, operands, attrs, ty) {
            return self.constant_bits(ty, bits);
        }
        self.builder().build_as(row, operands, attrs, ty)
    }

    /// An op without results.
    pub(crate) fn emit_effect(
        &mut self,
        row: &'static OpRow,
        operands: &[ir::Value],
        attrs: &[Option<Attr>],
    ) {
        self.builder().build_effect(row, operands, attrs);
    }

    /// An op with any number of results, of which the types are given, and `regions` regions without blocks.
    pub(crate) fn emit_op(
        &mut self,
        row: &'static OpRow,
        operands: &[ir::Value],
        attrs: &[Option<Attr>],
        results: &[Type],
    ) -> ir::Op {
        let init = OpInit {
            operands: SmallVec::from_slice(operands),
            results: SmallVec::from_slice(results),
            attrs: attrs.iter().cloned().collect(),
            regions: row.regions.unwrap_or(0),
        };
        self.builder().insert(row, init)
    }

    /// The bits that every element of the result has, where all operands are constants.
    fn folded(&self, row: &OpRow, operands: &[ir::Value], attrs: &[Option<Attr>], ty: Type) -> Option<u64> {
        let eval = row.eval.filter(|_| row.traits.has(Traits::ELEMENTWISE) && !operands.is_empty())?;
        let result_type = ttir::types::elem(ty);
        // There are no constant addresses.
        result_type.scalar_bits()?;
        let bits: Option<SmallVec<[u64; 3]>> = operands.iter().map(|value| self.splat_bits(*value)).collect();
        let bits = bits?;
        let types: SmallVec<[Type; 3]> =
            operands.iter().map(|value| ttir::types::elem(self.module.ty(*value))).collect();
        eval(&EvalArgs { attrs, operand_types: &types, result_type }, &bits)
    }

    /// The bits of every element of a constant.
    pub(crate) fn splat_bits(&self, value: ir::Value) -> Option<u64> {
        constant::splat_bits(self.module.constant(value)?)
    }

    /// A constant of a type from the bits of each element.
    pub(crate) fn constant_bits(&mut self, ty: Type, bits: u64) -> ir::Value {
        let attr = constant::attr_from_bits(ty, bits);
        self.builder().build_as(&constant::CONSTANT, &[], &[attr], ty)
    }

    // --- types ---

    /// The ir type of a type.
    pub(crate) fn ir_type(&mut self, ty: &Ty) -> Res<Type> {
        if let Some(known) = self.ir_types.get(ty) {
            return Ok(*known);
        }
        let shape: SmallVec<[i128; 8]> = ty.shape.iter().map(|dim| i128::from(*dim)).collect();
        self.check(typing::check_any_shape(&shape))?;
        let elem = self.ir_scalar(ty.scalar)?;
        let dims: SmallVec<[i64; 8]> = ty.shape.iter().map(|dim| i64::from(*dim)).collect();
        let tensor = ttir::types::tensor(&dims, elem);
        self.ir_types.insert(ty.clone(), tensor);
        Ok(tensor)
    }

    /// The ir type of an element.
    pub(crate) fn ir_scalar(&mut self, scalar: Scalar) -> Res<Type> {
        let dtype = match scalar {
            Scalar::Number(dtype) => dtype,
            Scalar::Pointer(pointer) => pointer.pointee,
        };
        if dtype.is_fp8() {
            self.check_fp8(dtype)?;
        }
        let Some(ty) = ir_dtype(dtype) else {
            return Err(self.error(format!("values of type {dtype} cannot be computed with on this target")));
        };
        Ok(if scalar.pointer().is_some() { ttir::types::ptr(ty) } else { ty })
    }

    fn check_fp8(&mut self, dtype: DType) -> Res<()> {
        let supported = &self.request.facts.fp8_dtypes;
        if supported.iter().any(|name| name == dtype.name()) {
            return Ok(());
        }
        let list = supported.join(", ");
        let message =
            format!("type {dtype} not supported in this architecture. The supported fp8 dtypes are ({list})");
        Err(self.error(message))
    }

    // --- constants and tensors ---

    /// A constant of a number type from a Python number, filling a shape.
    pub(crate) fn literal(&mut self, value: &PyValue, ty: Ty) -> Res<Tensor> {
        let Scalar::Number(dtype) = ty.scalar else {
            return Err(self.error(Cause::Type.says(format!(
                "cannot make a {} from {}",
                ty.scalar,
                constexpr::repr(value)
            ))));
        };
        let bits = self.literal_bits(value, dtype)?;
        let ir_type = self.ir_type(&ty)?;
        Ok(Tensor { value: self.constant_bits(ir_type, bits), ty })
    }

    fn literal_bits(&mut self, value: &PyValue, dtype: DType) -> Res<u64> {
        if let Some(kind) = ir_dtype(dtype).and_then(Type::as_float) {
            return match constexpr::as_float(value) {
                Some(value) => Ok(ir::scalar::float_bits(kind, value)),
                None => Err(self.error(format!("cannot convert {} to {dtype}", constexpr::repr(value)))),
            };
        }
        if dtype == DType::Fp8E4B15 {
            return match constexpr::as_float(value) {
                Some(value) => Ok(crate::semantic::fp8e4b15_bits(value)),
                None => Err(self.error(format!("cannot convert {} to {dtype}", constexpr::repr(value)))),
            };
        }
        let whole = match (value, constexpr::as_int(value)) {
            (_, Some(whole)) => whole,
            // `tl.full(shape, 0.0, tl.int32)` is allowed for zero alone.
            (PyValue::Float(zero), None) if *zero == 0.0 => 0,
            _ => {
                let message = format!("cannot convert {} to {dtype}", constexpr::repr(value));
                return Err(self.error_help(message, "use an integer, or convert with `int(…)`"));
            }
        };
        if dtype == DType::Int1 {
            return Ok(u64::from(whole != 0));
        }
        self.check(typing::check_literal(&PyValue::Int(whole), dtype))?;
        Ok(ir::scalar::truncate(dtype.bits(), whole as u64))
    }

    /// A value as one side of an operation.
    pub(crate) fn number(&mut self, val: &Val) -> Res<Num> {
        match val {
            Val::Tensor(tensor) => Ok(Num::Tensor(tensor.clone())),
            Val::Const(value @ (PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_))) => {
                Ok(Num::Literal(value.clone()))
            }
            other => Err(self.not_a_tensor(other)),
        }
    }

    /// A value as a tensor; a number becomes a scalar of its own type.
    pub(crate) fn tensor_from(&mut self, val: &Val) -> Res<Tensor> {
        let number = self.number(val)?;
        self.num_to_tensor(number)
    }

    /// One side of an operation as a tensor.
    pub(crate) fn num_to_tensor(&mut self, number: Num) -> Res<Tensor> {
        match number {
            Num::Tensor(tensor) => Ok(tensor),
            Num::Literal(value) => {
                let dtype = self.check(typing::literal_type(&value))?;
                self.literal(&value, Ty::scalar(dtype))
            }
        }
    }

    fn not_a_tensor(&mut self, val: &Val) -> Stop {
        match val {
            Val::Poison => Stop,
            Val::Undefined(why) => self.error(Cause::Name.says(&**why)),
            other => {
                let message =
                    format!("cannot convert {} of type {} to tensor", other.describe(), other.type_name());
                self.error(Cause::Type.says(message))
            }
        }
    }

    // --- shapes of values ---

    /// A scalar repeated to a shape.
    pub(crate) fn splat(&mut self, tensor: Tensor, dims: &[u32]) -> Res<Tensor> {
        if dims.is_empty() {
            return Ok(tensor);
        }
        let ty = Ty::block(tensor.ty.scalar, dims);
        self.reshaped(&shape::SPLAT, tensor, &[], ty)
    }

    /// An op that only moves elements: on a constant with equal elements it gives a constant.
    pub(crate) fn reshaped(
        &mut self,
        row: &'static OpRow,
        tensor: Tensor,
        attrs: &[Option<Attr>],
        ty: Ty,
    ) -> Res<Tensor> {
        let ir_type = self.ir_type(&ty)?;
        let value = match self.splat_bits(tensor.value) {
            Some(bits) => self.constant_bits(ir_type, bits),
            None => self.builder().build_as(row, &[tensor.value], attrs, ir_type),
        };
        Ok(Tensor { value, ty })
    }

    /// A new dimension of size 1 in front of dimension `axis`.
    pub(crate) fn expand_dims(&mut self, tensor: Tensor, axis: usize) -> Res<Tensor> {
        let mut dims = tensor.ty.shape.clone();
        if axis > dims.len() {
            return Err(self.error(format!("invalid axis {axis} for a tensor of rank {}", dims.len())));
        }
        dims.insert(axis, 1);
        if !tensor.ty.is_block() {
            return self.splat(tensor, &dims);
        }
        let ty = Ty { scalar: tensor.ty.scalar, shape: dims };
        self.reshaped(&shape::EXPAND_DIMS, tensor, &[Some(Attr::i32(axis as i32))], ty)
    }

    /// A value broadcast to a shape: scalars are repeated, leading dimensions added, dimensions of size 1 repeated.
    pub(crate) fn broadcast(&mut self, mut tensor: Tensor, dims: &[u32]) -> Res<Tensor> {
        if tensor.ty.shape.as_slice() == dims {
            return Ok(tensor);
        }
        if !tensor.ty.is_block() {
            return self.splat(tensor, dims);
        }
        while tensor.ty.shape.len() < dims.len() {
            tensor = self.expand_dims(tensor, 0)?;
        }
        if tensor.ty.shape.as_slice() == dims {
            return Ok(tensor);
        }
        let ty = Ty::block(tensor.ty.scalar, dims);
        self.reshaped(&shape::BROADCAST, tensor, &[], ty)
    }

    /// Both values broadcast to their common shape.
    pub(crate) fn broadcast_both(&mut self, a: Tensor, b: Tensor) -> Res<(Tensor, Tensor)> {
        let dims = self.check(typing::broadcast_shapes(&a.ty.shape, &b.ty.shape))?;
        Ok((self.broadcast(a, &dims)?, self.broadcast(b, &dims)?))
    }

    /// All values broadcast to their common shape.
    pub(crate) fn broadcast_all(&mut self, tensors: Vec<Tensor>) -> Res<Vec<Tensor>> {
        let mut dims = typing::Shape::new();
        for tensor in &tensors {
            dims = self.check(typing::broadcast_shapes(&dims, &tensor.ty.shape))?;
        }
        tensors.into_iter().map(|tensor| self.broadcast(tensor, &dims)).collect()
    }
}
