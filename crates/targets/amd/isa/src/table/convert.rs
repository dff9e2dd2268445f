//! Conversions, approximations, and arithmetic that LLVM has no word of its own for.

use super::pure;
use crate::arch::Arch::{Gfx942, Gfx950, Gfx1200};
use crate::arch::{Archs, EVERY, RDNA};

/// Conversions of 8-bit floats: FNUZ on gfx942, OCP on the others.
const FP8: Archs = Archs::of(&[Gfx942, Gfx950, Gfx1200]);

const FLOATS: &[&str] = &["half", "float", "double"];
const SHORT: &[&str] = &["half", "float"];

#[rustfmt::skip]
rows! {
    CVT_PK_FP8_F32: pure("llvm.amdgcn.cvt.pk.fp8.f32", "i32 (float, float, i32, imm i1)", FP8,
        "Two floats to fp8, in the upper half of the third operand where the fourth is set."),
    CVT_PK_BF8_F32: pure("llvm.amdgcn.cvt.pk.bf8.f32", "i32 (float, float, i32, imm i1)", FP8, "The same to bf8."),
    CVT_F32_FP8: pure("llvm.amdgcn.cvt.f32.fp8", "float (i32, imm i32)", FP8, "One of four fp8 numbers to a float."),
    CVT_F32_BF8: pure("llvm.amdgcn.cvt.f32.bf8", "float (i32, imm i32)", FP8, "The same of bf8."),
    CVT_PK_F32_FP8: pure("llvm.amdgcn.cvt.pk.f32.fp8", "<2 x float> (i32, imm i1)", FP8, "Two fp8 numbers, the upper ones where the second operand is set."),
    CVT_PK_F32_BF8: pure("llvm.amdgcn.cvt.pk.f32.bf8", "<2 x float> (i32, imm i1)", FP8, "The same of bf8."),
    CVT_SR_FP8_F32: pure("llvm.amdgcn.cvt.sr.fp8.f32", "i32 (float, i32, i32, imm i32)", FP8,
        "A float to fp8, rounded by the bits of the second operand, into one byte of the third."),
    CVT_SR_BF8_F32: pure("llvm.amdgcn.cvt.sr.bf8.f32", "i32 (float, i32, i32, imm i32)", FP8, "The same to bf8."),
    CVT_PKRTZ: pure("llvm.amdgcn.cvt.pkrtz", "<2 x half> (float, float)", EVERY, "Two floats to halves, rounded towards zero."),
    EXP2: pure("llvm.amdgcn.exp2", "T (T)", EVERY, "2 to the power, about 1 ulp; denormals are flushed.").over(&["float"]),
    LOG: pure("llvm.amdgcn.log", "T (T)", EVERY, "The logarithm of base 2, about 1 ulp; denormals are flushed.").over(&["float"]),
    RCP: pure("llvm.amdgcn.rcp", "T (T)", EVERY, "1 over it, about 1 ulp.").over(FLOATS),
    RSQ: pure("llvm.amdgcn.rsq", "T (T)", EVERY, "1 over the square root, about 1 ulp.").over(FLOATS),
    SQRT: pure("llvm.amdgcn.sqrt", "T (T)", EVERY, "The square root, about 1 ulp.").over(FLOATS),
    SIN: pure("llvm.amdgcn.sin", "T (T)", EVERY, "The sine of 2 pi times it.").over(SHORT),
    COS: pure("llvm.amdgcn.cos", "T (T)", EVERY, "The cosine of 2 pi times it.").over(SHORT),
    FRACT: pure("llvm.amdgcn.fract", "T (T)", EVERY, "The part behind the point.").over(FLOATS),
    FREXP_MANT: pure("llvm.amdgcn.frexp.mant", "T (T)", EVERY, "The mantissa, 0.5 to 1.").over(FLOATS),
    FREXP_EXP_I32: pure("llvm.amdgcn.frexp.exp.i32", "i32 (T)", EVERY, "The exponent that goes with the mantissa.").over(&["float", "double"]),
    FMED3: pure("llvm.amdgcn.fmed3", "T (T, T, T)", EVERY, "The middle one of three.").over(&["float", "half"]),
    FMA_LEGACY: pure("llvm.amdgcn.fma.legacy", "float (float, float, float)", RDNA, "A fused multiply-add for which 0 times anything is 0."),
    MUL_U24: pure("llvm.amdgcn.mul.u24", "T (T, T)", EVERY, "The product of 24 bits.").over(&["i32"]),
    MUL_I24: pure("llvm.amdgcn.mul.i24", "T (T, T)", EVERY, "The same, signed.").over(&["i32"]),
    UBFE: pure("llvm.amdgcn.ubfe", "T (T, i32, i32)", EVERY, "Bits from an offset, so many.").over(&["i32"]),
    SBFE: pure("llvm.amdgcn.sbfe", "T (T, i32, i32)", EVERY, "The same, with the sign.").over(&["i32"]),
}
