//! Conversions of floats by instructions: between 8-bit formats that the architecture has and 32-bit ones.
//!
//! What an instruction makes of numbers that are too large is a matter of a mode of the wave: they become the largest finite number, or
//! NaN, in front of it.

use super::pure;
use amdgcn_isa::Arch;
use elementwise::Rounding;
use ir::FloatKind::{self, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F32, F64};
use llir::{FloatCompare, FunctionBuilder, Op, Type, Value};

/// An 8-bit format.
struct Small {
    kind: FloatKind,
    /// The intrinsic that reads it.
    reader: &'static str,
    /// The one that writes it.
    writer: &'static str,
    /// The largest number.
    max: f64,
    /// From which size on a number is not held at the largest one, but NaN.
    nan_from: Option<f64>,
}

const fn fp8(kind: FloatKind, max: f64, nan_from: Option<f64>) -> Small {
    Small { kind, reader: "llvm.amdgcn.cvt.f32.fp8", writer: "llvm.amdgcn.cvt.pk.fp8.f32", max, nan_from }
}

const fn bf8(kind: FloatKind, max: f64, nan_from: Option<f64>) -> Small {
    Small { kind, reader: "llvm.amdgcn.cvt.f32.bf8", writer: "llvm.amdgcn.cvt.pk.bf8.f32", max, nan_from }
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
        return Some(pure(b, small(from)?.reader, Type::F32, &[wide, byte]));
    }
    let exact = from == F32 && rounding == Rounding::NearestEven && b.ty(value) == Type::F32;
    small(to).filter(|_| exact).map(|small| narrow(b, small, value))
}

/// A 32-bit number in an 8-bit format.
fn narrow(b: &mut FunctionBuilder<'_>, small: &Small, value: Value) -> Value {
    let ty = Type::F32;
    let [least, most, nan] = [-small.max, small.max, f64::NAN].map(|number| b.float(ty, number));
    let held = pure(b, "llvm.amdgcn.fmed3.f32", ty, &[value, least, most]);
    let is_number = match small.nan_from {
        Some(limit) => {
            let (size, limit) = (b.intrinsic("llvm.fabs", ty, &[value]), b.float(ty, limit));
            b.fcmp(FloatCompare::Olt, size, limit)
        }
        None => b.fcmp(FloatCompare::Ord, value, value),
    };
    let number = b.select(is_number, held, nan);
    let (old, low) = (b.poison(Type::I32), b.bool(false));
    let pair = pure(b, small.writer, Type::I32, &[number, number, old, low]);
    b.resize_unsigned(pair, Type::int(8))
}
