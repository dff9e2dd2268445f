//! Conversions of floats by instructions: between 8-bit formats that the architecture has and 32-bit ones.
//!
//! The numbers of a block are narrowed four to a register, two by each instruction:
//!
//! ```text
//! arith.truncf %x : … f32 to … f8E4M3FN    =>    %low = call @llvm.amdgcn.cvt.pk.fp8.f32(x0, x1, poison, false)
//!                                               %word = call @llvm.amdgcn.cvt.pk.fp8.f32(x2, x3, %low, true)
//! ```
//!
//! What an instruction makes of numbers that are too large is a matter of a mode of the wave: they become the largest
//! finite number, or NaN, in front of it.

use amdgcn_isa::{Arch, Row, convert};
use elementwise::Rounding;
use ir::FloatKind::{self, BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F16, F32, F64};
use lanes::{Cx, Handler, Result};
use llir::{FloatCompare, FunctionBuilder, Op, Type, Value, intrinsics};
use ttir::ops::arith_cast::{self, FpToFpOp, TRUNCF};
use ttir::ops::forms::UnaryOp;
use ttir::types::{elem, is_tensor};

/// An 8-bit format.
struct Small {
    kind: FloatKind,
    /// The intrinsic that reads it.
    reader: &'static Row,
    /// The one that writes it.
    writer: &'static Row,
    /// The largest number.
    max: f64,
    /// From which size on a number is not held at the largest one, but NaN.
    nan_from: Option<f64>,
}

const fn fp8(kind: FloatKind, max: f64, nan_from: Option<f64>) -> Small {
    Small { kind, reader: &convert::CVT_F32_FP8, writer: &convert::CVT_PK_FP8_F32, max, nan_from }
}

const fn bf8(kind: FloatKind, max: f64, nan_from: Option<f64>) -> Small {
    Small { kind, reader: &convert::CVT_F32_BF8, writer: &convert::CVT_PK_BF8_F32, max, nan_from }
}

static FNUZ: [Small; 2] = [fp8(F8E4M3FNUZ, 240.0, Some(248.0)), bf8(F8E5M2FNUZ, 57344.0, Some(61440.0))];
static OCP: [Small; 2] = [fp8(F8E4M3FN, 448.0, None), bf8(F8E5M2, 57344.0, None)];

/// The formats that an architecture has.
fn formats(arch: Arch) -> &'static [Small] {
    match arch {
        Arch::Gfx90a | Arch::Gfx1100 => &[],
        Arch::Gfx942 => &FNUZ,
        Arch::Gfx950 | Arch::Gfx1200 => &OCP,
    }
}

/// One conversion, where there is an instruction for it.
pub(super) fn one(
    b: &mut FunctionBuilder<'_>,
    arch: Arch,
    (from, to): (FloatKind, FloatKind),
    rounding: Rounding,
    value: Value,
) -> Option<Value> {
    if (from, to, rounding) == (F64, FloatKind::F16, Rounding::NearestEven) {
        return Some(b.cast(Op::FPTRUNC, value, Type::F16));
    }
    let small = |kind: FloatKind| formats(arch).iter().find(|small| small.kind == kind);
    if to == F32 {
        let wide = b.resize_unsigned(value, Type::I32);
        let byte = b.i32(0);
        return Some(b.intrinsic(small(from)?.reader, Type::F32, &[wide, byte]));
    }
    let exact = from == F32 && rounding == Rounding::NearestEven && b.ty(value) == Type::F32;
    small(to).filter(|_| exact).map(|small| narrow(b, small, value))
}

/// A 32-bit number in an 8-bit format.
fn narrow(b: &mut FunctionBuilder<'_>, small: &Small, value: Value) -> Value {
    let number = held(b, small, value);
    let (old, low) = (b.poison(Type::I32), b.bool(false));
    let pair = b.intrinsic(small.writer, Type::I32, &[number, number, old, low]);
    b.resize_unsigned(pair, Type::int(8))
}

/// A number that an instruction narrows: one that is too large is the largest one, or NaN.
fn held(b: &mut FunctionBuilder<'_>, small: &Small, value: Value) -> Value {
    let ty = Type::F32;
    let [least, most, nan] = [-small.max, small.max, f64::NAN].map(|number| b.float(ty, number));
    let held = b.intrinsic(&convert::FMED3, ty, &[value, least, most]);
    let is_number = match small.nan_from {
        Some(limit) => {
            let (size, limit) = (b.intrinsic(&intrinsics::FABS, ty, &[value]), b.float(ty, limit));
            b.fcmp(FloatCompare::Olt, size, limit)
        }
        None => b.fcmp(FloatCompare::Ord, value, value),
    };
    b.select(is_number, held, nan)
}

/// The handler of an operation that narrows the numbers of a block.
pub(super) fn handler(arch: Arch, module: &ir::Module, op: ir::Op) -> Option<Handler> {
    let small = formats(arch);
    narrowed(small, module, op)?;
    // A handler knows no architecture.
    Some(if std::ptr::eq(small, &FNUZ) {
        |cx, op| narrow_all(&FNUZ, cx, op)
    } else {
        |cx, op| narrow_all(&OCP, cx, op)
    })
}

/// The format that an operation narrows the numbers of a block to, to the nearest.
fn narrowed(formats: &'static [Small], module: &ir::Module, op: ir::Op) -> Option<&'static Small> {
    let nearest = match FpToFpOp::of(module, op) {
        Some(of) => of.rounding() != Some(arith_cast::Rounding::Rtz),
        None => module.is(op, &TRUNCF),
    };
    if !nearest {
        return None;
    }
    let ([from], [to]) = (module.operands(op), module.results(op)) else { return None };
    let [from, to] = [*from, *to].map(|value| module.ty(value));
    let (from, to) = (elem(from).as_float()?, is_tensor(to).then(|| elem(to).as_float())??);
    let small = formats.iter().find(|small| small.kind == to)?;
    matches!(from, F32 | F16 | BF16).then_some(small)
}

/// Narrows the registers of a block, four at a time.
fn narrow_all(formats: &'static [Small], cx: &mut Cx<'_>, op: ir::Op) -> Result<()> {
    let small = narrowed(formats, cx.module, op).expect("the handler is only given for what narrows");
    let source = UnaryOp::new(cx.module, op).src();
    let registers = cx.registers(source)?;
    let mut narrow = Vec::with_capacity(registers.len());
    for four in registers.chunks(4) {
        let b = &mut cx.b;
        let numbers: Vec<Value> = four
            .iter()
            .map(|&value| {
                let wide = b.resize_float(value, Type::F32);
                held(b, small, wide)
            })
            .collect();
        let mut word = b.poison(Type::I32);
        for (half, two) in numbers.chunks(2).enumerate() {
            let upper = b.bool(half == 1);
            word = b.intrinsic(small.writer, Type::I32, &[two[0], two[two.len() - 1], word, upper]);
        }
        let bytes = b.bitcast(word, Type::I8.vector(4));
        narrow.extend((0..four.len() as u32).map(|at| b.extract(bytes, at)));
    }
    cx.set_registers(op, narrow);
    Ok(())
}
