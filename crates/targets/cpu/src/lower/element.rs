//! Single elements and chunks of them: what the lowering of elementwise operations needs of this processor.
//!
//! Narrow floats are kept as their bits and compute in binary32, the same on every processor.

use super::emitter::Emitter;
use super::error::{LowerError, Result};
use super::subtarget::Subtarget;
use super::types;
use crate::math::MathConfig;
use elementwise::{
    Abilities, Ctx, Division, ElementTarget, Elems, Math, MinMax, PlainSums, Rounding, Widths, library,
    small_float,
};
use ir::{FloatKind, Op};
use llir::{FloatCompare, FunctionBuilder, Param, ParamAttributes, Type, Value, intrinsics};
use maths::MathMachine;
use ttir::ops::extern_call::{EXTERN_ELEMENTWISE, ExternElementwiseOp};
use ttir::ops::forms::UnaryOp;
use ttir::ops::math;

/// Whether the sign of a zero is free, as in a reduction, whose order is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zeros {
    /// It must be right.
    Signed,
    /// It is free.
    Free,
}

impl Emitter<'_> {
    /// Makes instructions on elements or chunks of them.
    pub(crate) fn element<T>(&mut self, zeros: Zeros, build: impl FnOnce(&mut Ctx<'_, '_>) -> T) -> T {
        let target = Processor {
            machine: self.machine,
            maths: MathConfig::of(self.machine),
            free_zeros: zeros == Zeros::Free,
        };
        build(&mut Ctx { b: &mut self.b, target: &target, sums: &mut PlainSums })
    }

    /// How many instructions an elementary function is, on a register of binary32; `None` if it has no version.
    pub(crate) fn length_of(&self, op: Op) -> Option<usize> {
        let (row, elems) = (self.module.row(op), Elems::of(self.module, op));
        let param = |ty: &ir::Type| Param {
            ty: types::register(*ty).vector(self.machine.lanes()),
            name: String::new(),
            attributes: ParamAttributes::default(),
        };
        let mut apart = llir::Module::new("apart");
        let id = apart.add_function("one", Type::VOID, elems.operands.iter().map(param).collect());
        let mut b = FunctionBuilder::new(&mut apart, id);
        let x: Vec<Value> = (0..elems.operands.len()).map(|index| b.param(index)).collect();
        let target =
            Processor { machine: self.machine, maths: MathConfig::of(self.machine), free_zeros: false };
        let mut ctx = Ctx { b: &mut b, target: &target, sums: &mut PlainSums };
        if row.is(&EXTERN_ELEMENTWISE) {
            let symbol = ExternElementwiseOp::new(self.module, op).symbol();
            library::call(&mut ctx, symbol, &elems, &x).ok()??;
        } else if let Some(name) = exp_of_nonpositive(self.module, op) {
            ctx.maths(name, &x).ok()?;
        } else {
            elementwise::find(row)?(&mut ctx, &elems, &x).ok()?;
        }
        drop(b);
        Some(apart.functions().map(llir::Function::len).sum())
    }

    /// The binary32 number of an encoding, exactly.
    pub(crate) fn widen(&mut self, kind: FloatKind, bits: Value) -> Value {
        self.element(Zeros::Signed, |ctx| small_float::as_wide(ctx, ir::Type::float(kind), bits))
    }

    /// The encoding of a binary32 or binary64 number, to nearest even.
    pub(crate) fn narrow(&mut self, kind: FloatKind, value: Value) -> Value {
        self.element(Zeros::Signed, |ctx| small_float::narrow_to(ctx, ir::Type::float(kind), value))
    }

    /// Makes the instructions of an elementwise operation.
    pub(crate) fn apply(&mut self, op: Op, x: &[Value], zeros: Zeros) -> Result<Value> {
        let row = self.module.row(op);
        let elems = Elems::of(self.module, op);
        if row.is(&EXTERN_ELEMENTWISE) {
            let symbol = ExternElementwiseOp::new(self.module, op).symbol();
            let made = self.element(zeros, |ctx| library::call(ctx, symbol, &elems, x))?;
            let unknown =
                || format!("there is no function `{symbol}`; write it with the functions of tl.math");
            return made.ok_or_else(|| LowerError::unsupported(self.module, op, &unknown()));
        }
        if let Some(name) = exp_of_nonpositive(self.module, op) {
            return Ok(self.element(zeros, |ctx| ctx.maths(name, x))?);
        }
        if super::operands::is_narrowed_for_pairs(self.module, self.machine, op)
            && let Some(made) = super::bf16::round_normal(&mut self.b, x[0])
        {
            return Ok(made);
        }
        match elementwise::find(row) {
            Some(emit) => Ok(self.element(zeros, |ctx| emit(ctx, &elems, x))?),
            None => self.no_lowering(op),
        }
    }
}

/// The function that an exponential is where its argument is known not to be positive, as in a softmax.
pub(crate) fn exp_of_nonpositive(module: &ir::Module, op: Op) -> Option<&'static str> {
    let functions = [(&math::EXP, "exp_nonpositive"), (&math::EXP2, "exp2_nonpositive")];
    let (_, name) = functions.into_iter().find(|(row, _)| module.is(op, row))?;
    let argument = UnaryOp::new(module, op).src();
    let is_wide = ttir::types::elem(module.ty(argument)).as_float().is_some_and(|kind| kind.bits() >= 32);
    (is_wide && ttir::order::is_nonpositive(module, argument)).then_some(name)
}

impl From<elementwise::Error> for LowerError {
    fn from(error: elementwise::Error) -> LowerError {
        LowerError::new(error.to_string())
    }
}

/// The processor, at one place of the program.
struct Processor<'a> {
    machine: &'a Subtarget,
    maths: MathConfig,
    free_zeros: bool,
}

impl ElementTarget for Processor<'_> {
    fn register(&self, ty: ir::Type) -> Type {
        types::register(ty)
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            widths: Widths { compare: 1, minmax: 1, add: 8, divide: 1 },
            division: Division::Traps,
            halves_from_int: false,
            writes_functions_out: false,
        }
    }

    fn has_arithmetic(&self, _kind: FloatKind) -> bool {
        false
    }

    fn converts(&self, kind: FloatKind) -> bool {
        kind == FloatKind::F16 && self.machine.has_f16
    }

    fn divides_by_floats(&self) -> bool {
        self.machine.is_x86
    }

    fn convert(
        &self,
        b: &mut FunctionBuilder<'_>,
        formats: (FloatKind, FloatKind),
        rounding: Rounding,
        value: Value,
    ) -> Option<Value> {
        let is_known = formats == (FloatKind::F32, FloatKind::BF16) && rounding == Rounding::NearestEven;
        (is_known && self.machine.rounds_to_bf16).then(|| super::bf16::round(b, value))?
    }

    fn minmax(&self, _ty: Type) -> MinMax {
        MinMax::OpenZeros
    }

    fn zeros_are_free(&self) -> bool {
        self.free_zeros
    }

    fn minmax_nan(&self, b: &mut FunctionBuilder<'_>, max: bool, x: &[Value]) -> Option<Value> {
        let ty = b.ty(x[0]);
        Some(b.intrinsic(if max { &intrinsics::MAXIMUM } else { &intrinsics::MINIMUM }, ty, x))
    }

    fn math(&self, b: &mut FunctionBuilder<'_>, function: Math, x: &[Value]) -> Option<Value> {
        let ty = b.ty(x[0]);
        matches!(function, Math::Sqrt | Math::PreciseSqrt).then(|| b.intrinsic(&intrinsics::SQRT, ty, x))
    }

    fn maths(&self) -> &dyn MathMachine {
        &self.maths
    }

    fn to_int(&self, b: &mut FunctionBuilder<'_>, signed: bool, value: Value, ty: Type) -> Value {
        if ty.lanes() > 1 {
            return lanes_to_int(b, signed, value, ty);
        }
        b.intrinsic(if signed { &intrinsics::FPTOSI_SAT } else { &intrinsics::FPTOUI_SAT }, ty, &[value])
    }
}

/// Floats as integers, held at the ends of their type: numbers while they are floats, those above the greatest float
/// that fits behind it. The intrinsics that do so are computed lane by lane. NaN becomes zero.
fn lanes_to_int(b: &mut FunctionBuilder<'_>, signed: bool, value: Value, ty: Type) -> Value {
    let (float, bits) = (b.ty(value), ty.lane_bits());
    let digits = if float.lane_bits() == 64 { 53 } else { 24 };
    let exponent = bits - u32::from(signed);
    let above = 2f64.powi(exponent as i32);
    let is_exact = exponent <= digits;
    let most = if is_exact { above - 1.0 } else { above - 2f64.powi((exponent - digits) as i32) };
    let [least, zero, most] = [if signed { -above } else { 0.0 }, 0.0, most].map(|end| b.float(float, end));
    let is_number = b.fcmp(FloatCompare::Ord, value, value);
    let number = b.select(is_number, value, zero);
    let is_higher = b.fcmp(FloatCompare::Ogt, number, least);
    let held = b.select(is_higher, number, least);
    let is_lower = b.fcmp(FloatCompare::Olt, held, most);
    let held = b.select(is_lower, held, most);
    let wide = if bits < 32 { ty.with_scalar(Type::I32) } else { ty };
    let is_plain = signed || bits < 32;
    let whole = b.cast(if is_plain { llir::Op::FPTOSI } else { llir::Op::FPTOUI }, held, wide);
    let whole = b.resize_unsigned(whole, ty);
    if is_exact {
        return whole;
    }
    let (greatest, is_above) = (u64::MAX >> (64 - exponent), b.fcmp(FloatCompare::Ogt, number, most));
    let greatest = b.int(ty, greatest as i64);
    b.select(is_above, greatest, whole)
}
