//! Conversions of floats by instructions: 8-bit formats that the architecture has become 32-bit ones.
//!
//! The way back rounds and saturates as a mode of the wave says, so it is written out.

use super::pure;
use amdgcn_isa::Arch;
use elementwise::Rounding;
use ir::FloatKind::{self, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F32, F64};
use llir::{FunctionBuilder, Op, Type, Value};

/// The formats that an architecture reads, with the intrinsic for each.
fn readers(arch: Arch) -> &'static [(FloatKind, &'static str)] {
    match arch {
        Arch::Gfx90a | Arch::Gfx1100 => &[],
        Arch::Gfx942 => &[(F8E4M3FNUZ, "llvm.amdgcn.cvt.f32.fp8"), (F8E5M2FNUZ, "llvm.amdgcn.cvt.f32.bf8")],
        Arch::Gfx950 | Arch::Gfx1200 => {
            &[(F8E4M3FN, "llvm.amdgcn.cvt.f32.fp8"), (F8E5M2, "llvm.amdgcn.cvt.f32.bf8")]
        }
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
    let (_, name) = readers(arch).iter().find(|(kind, _)| *kind == from && to == F32)?;
    let wide = b.resize_unsigned(value, Type::I32);
    let byte = b.i32(0);
    Some(pure(b, name, Type::F32, &[wide, byte]))
}
