//! Matrix instructions: `mfma` of CDNA, `wmma` of RDNA.

use super::pure;
use crate::arch::Arch::{Gfx90a, Gfx942, Gfx950, Gfx1100, Gfx1200};
use crate::arch::{Archs, CDNA};
use crate::row::Number::{BF16, Bf8, F16, F32, F64, Fp8, I4, I8, I32, Xf32};
use crate::row::{Matrix, Number, Role, Row};
use llir::intrinsics::Part;
use llir::{Intrinsic, Purity};

const GFX90A: Archs = Archs::of(&[Gfx90a]);
const GFX942: Archs = Archs::of(&[Gfx942]);
const GFX950: Archs = Archs::of(&[Gfx950]);
const NEWER: Archs = Archs::of(&[Gfx942, Gfx950]);
const GFX11: Archs = Archs::of(&[Gfx1100]);
const GFX12: Archs = Archs::of(&[Gfx1200]);

/// One row: name, signature, architectures, shape (m, n, k, blocks), numbers (a, b, c).
const fn row(
    name: &'static str,
    signature: &'static str,
    archs: Archs,
    shape: [u32; 4],
    numbers: [Number; 3],
) -> Row {
    let [m, n, k, blocks] = shape;
    let [a, b, c] = numbers;
    let matrix = Some(Matrix { m, n, k, blocks, a, b, c });
    Row { matrix, ..pure(name, signature, archs, "c + a · b.") }.alike().counted(Role::Multiply)
}

#[rustfmt::skip]
pub(super) static MFMA: &[Row] = &[
    row("llvm.amdgcn.mfma.f64.16x16x4f64", "<4 x double> (double, double, <4 x double>, imm i32, imm i32, imm i32)", CDNA, [16, 16, 4, 1], [F64, F64, F64]),
    row("llvm.amdgcn.mfma.f64.4x4x4f64", "double (double, double, double, imm i32, imm i32, imm i32)", CDNA, [4, 4, 4, 4], [F64, F64, F64]),
    row("llvm.amdgcn.mfma.f32.32x32x2f32", "<16 x float> (float, float, <16 x float>, imm i32, imm i32, imm i32)", CDNA, [32, 32, 2, 1], [F32, F32, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x4f32", "<4 x float> (float, float, <4 x float>, imm i32, imm i32, imm i32)", CDNA, [16, 16, 4, 1], [F32, F32, F32]),
    row("llvm.amdgcn.mfma.f32.4x4x1f32", "<4 x float> (float, float, <4 x float>, imm i32, imm i32, imm i32)", CDNA, [4, 4, 1, 16], [F32, F32, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x4.xf32", "<16 x float> (<2 x float>, <2 x float>, <16 x float>, imm i32, imm i32, imm i32)", GFX942, [32, 32, 4, 1], [Xf32, Xf32, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x8.xf32", "<4 x float> (<2 x float>, <2 x float>, <4 x float>, imm i32, imm i32, imm i32)", GFX942, [16, 16, 8, 1], [Xf32, Xf32, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x8f16", "<16 x float> (<4 x half>, <4 x half>, <16 x float>, imm i32, imm i32, imm i32)", CDNA, [32, 32, 8, 1], [F16, F16, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x16f16", "<4 x float> (<4 x half>, <4 x half>, <4 x float>, imm i32, imm i32, imm i32)", CDNA, [16, 16, 16, 1], [F16, F16, F32]),
    row("llvm.amdgcn.mfma.f32.4x4x4f16", "<4 x float> (<4 x half>, <4 x half>, <4 x float>, imm i32, imm i32, imm i32)", CDNA, [4, 4, 4, 16], [F16, F16, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x16.f16", "<16 x float> (<8 x half>, <8 x half>, <16 x float>, imm i32, imm i32, imm i32)", GFX950, [32, 32, 16, 1], [F16, F16, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x32.f16", "<4 x float> (<8 x half>, <8 x half>, <4 x float>, imm i32, imm i32, imm i32)", GFX950, [16, 16, 32, 1], [F16, F16, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x8bf16.1k", "<16 x float> (<4 x i16>, <4 x i16>, <16 x float>, imm i32, imm i32, imm i32)", CDNA, [32, 32, 8, 1], [BF16, BF16, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x16bf16.1k", "<4 x float> (<4 x i16>, <4 x i16>, <4 x float>, imm i32, imm i32, imm i32)", CDNA, [16, 16, 16, 1], [BF16, BF16, F32]),
    row("llvm.amdgcn.mfma.f32.4x4x4bf16.1k", "<4 x float> (<4 x i16>, <4 x i16>, <4 x float>, imm i32, imm i32, imm i32)", CDNA, [4, 4, 4, 16], [BF16, BF16, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x16.bf16", "<16 x float> (<8 x bfloat>, <8 x bfloat>, <16 x float>, imm i32, imm i32, imm i32)", GFX950, [32, 32, 16, 1], [BF16, BF16, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x32.bf16", "<4 x float> (<8 x bfloat>, <8 x bfloat>, <4 x float>, imm i32, imm i32, imm i32)", GFX950, [16, 16, 32, 1], [BF16, BF16, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x16.fp8.fp8", "<16 x float> (i64, i64, <16 x float>, imm i32, imm i32, imm i32)", NEWER, [32, 32, 16, 1], [Fp8, Fp8, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x16.fp8.bf8", "<16 x float> (i64, i64, <16 x float>, imm i32, imm i32, imm i32)", NEWER, [32, 32, 16, 1], [Fp8, Bf8, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x16.bf8.fp8", "<16 x float> (i64, i64, <16 x float>, imm i32, imm i32, imm i32)", NEWER, [32, 32, 16, 1], [Bf8, Fp8, F32]),
    row("llvm.amdgcn.mfma.f32.32x32x16.bf8.bf8", "<16 x float> (i64, i64, <16 x float>, imm i32, imm i32, imm i32)", NEWER, [32, 32, 16, 1], [Bf8, Bf8, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8", "<4 x float> (i64, i64, <4 x float>, imm i32, imm i32, imm i32)", NEWER, [16, 16, 32, 1], [Fp8, Fp8, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x32.fp8.bf8", "<4 x float> (i64, i64, <4 x float>, imm i32, imm i32, imm i32)", NEWER, [16, 16, 32, 1], [Fp8, Bf8, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x32.bf8.fp8", "<4 x float> (i64, i64, <4 x float>, imm i32, imm i32, imm i32)", NEWER, [16, 16, 32, 1], [Bf8, Fp8, F32]),
    row("llvm.amdgcn.mfma.f32.16x16x32.bf8.bf8", "<4 x float> (i64, i64, <4 x float>, imm i32, imm i32, imm i32)", NEWER, [16, 16, 32, 1], [Bf8, Bf8, F32]),
    row("llvm.amdgcn.mfma.i32.32x32x8i8", "<16 x i32> (i32, i32, <16 x i32>, imm i32, imm i32, imm i32)", GFX90A, [32, 32, 8, 1], [I8, I8, I32]),
    row("llvm.amdgcn.mfma.i32.16x16x16i8", "<4 x i32> (i32, i32, <4 x i32>, imm i32, imm i32, imm i32)", GFX90A, [16, 16, 16, 1], [I8, I8, I32]),
    row("llvm.amdgcn.mfma.i32.4x4x4i8", "<4 x i32> (i32, i32, <4 x i32>, imm i32, imm i32, imm i32)", CDNA, [4, 4, 4, 16], [I8, I8, I32]),
    row("llvm.amdgcn.mfma.i32.32x32x16.i8", "<16 x i32> (i64, i64, <16 x i32>, imm i32, imm i32, imm i32)", NEWER, [32, 32, 16, 1], [I8, I8, I32]),
    row("llvm.amdgcn.mfma.i32.16x16x32.i8", "<4 x i32> (i64, i64, <4 x i32>, imm i32, imm i32, imm i32)", NEWER, [16, 16, 32, 1], [I8, I8, I32]),
    row("llvm.amdgcn.mfma.i32.32x32x32.i8", "<16 x i32> (<4 x i32>, <4 x i32>, <16 x i32>, imm i32, imm i32, imm i32)", GFX950, [32, 32, 32, 1], [I8, I8, I32]),
    row("llvm.amdgcn.mfma.i32.16x16x64.i8", "<4 x i32> (<4 x i32>, <4 x i32>, <4 x i32>, imm i32, imm i32, imm i32)", GFX950, [16, 16, 64, 1], [I8, I8, I32]),
];

/// One of those whose factors have scales, and formats that operands say. The types of both factors are in its name.
const fn scaled(name: &'static str, side: u32, k: u32) -> Row {
    let row = row(name, "", GFX950, [side, side, k, 1], [Fp8, Fp8, F32]);
    Row { intrinsic: Intrinsic::new(name, &[Part::Arg(0), Part::Arg(1)], Purity::Pure), ..row }
}

/// The scaled instructions: of 16 rows, and of 32.
pub static SCALED: [Row; 2] = [
    scaled("llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4", 16, 128),
    scaled("llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4", 32, 64),
];

#[rustfmt::skip]
pub(super) static WMMA: &[Row] = &[
    // gfx11: every lane has all 16 elements of a row or column, lanes 16 to 31 a copy.
    row("llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16", "<8 x float> (<16 x half>, <16 x half>, <8 x float>)", GFX11, [16, 16, 16, 1], [F16, F16, F32]),
    row("llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16", "<8 x float> (<16 x i16>, <16 x i16>, <8 x float>)", GFX11, [16, 16, 16, 1], [BF16, BF16, F32]),
    row("llvm.amdgcn.wmma.f16.16x16x16.f16.v16f16.v16f16", "<16 x half> (<16 x half>, <16 x half>, <16 x half>, imm i1)", GFX11, [16, 16, 16, 1], [F16, F16, F16]),
    row("llvm.amdgcn.wmma.bf16.16x16x16.bf16.v16i16.v16i16", "<16 x i16> (<16 x i16>, <16 x i16>, <16 x i16>, imm i1)", GFX11, [16, 16, 16, 1], [BF16, BF16, BF16]),
    row("llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32", "<8 x i32> (imm i1, <4 x i32>, imm i1, <4 x i32>, <8 x i32>, imm i1)", GFX11, [16, 16, 16, 1], [I8, I8, I32]),
    row("llvm.amdgcn.wmma.i32.16x16x16.iu4.v8i32.v2i32", "<8 x i32> (imm i1, <2 x i32>, imm i1, <2 x i32>, <8 x i32>, imm i1)", GFX11, [16, 16, 16, 1], [I4, I4, I32]),
    // gfx12: 8 elements a lane, lanes 16 to 31 the next ones.
    row("llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16", "<8 x float> (<8 x half>, <8 x half>, <8 x float>)", GFX12, [16, 16, 16, 1], [F16, F16, F32]),
    row("llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v8i16", "<8 x float> (<8 x i16>, <8 x i16>, <8 x float>)", GFX12, [16, 16, 16, 1], [BF16, BF16, F32]),
    row("llvm.amdgcn.wmma.f16.16x16x16.f16.v8f16.v8f16", "<8 x half> (<8 x half>, <8 x half>, <8 x half>, imm i1)", GFX12, [16, 16, 16, 1], [F16, F16, F16]),
    row("llvm.amdgcn.wmma.bf16.16x16x16.bf16.v8i16.v8i16", "<8 x i16> (<8 x i16>, <8 x i16>, <8 x i16>, imm i1)", GFX12, [16, 16, 16, 1], [BF16, BF16, BF16]),
    row("llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v2i32", "<8 x i32> (imm i1, <2 x i32>, imm i1, <2 x i32>, <8 x i32>, imm i1)", GFX12, [16, 16, 16, 1], [I8, I8, I32]),
    row("llvm.amdgcn.wmma.i32.16x16x16.iu4.v8i32.i32", "<8 x i32> (imm i1, i32, imm i1, i32, <8 x i32>, imm i1)", GFX12, [16, 16, 16, 1], [I4, I4, I32]),
    row("llvm.amdgcn.wmma.i32.16x16x32.iu4.v8i32.v2i32", "<8 x i32> (imm i1, <2 x i32>, imm i1, <2 x i32>, <8 x i32>, imm i1)", GFX12, [16, 16, 32, 1], [I4, I4, I32]),
    row("llvm.amdgcn.wmma.f32.16x16x16.fp8.fp8.v8f32.v2i32", "<8 x float> (<2 x i32>, <2 x i32>, <8 x float>)", GFX12, [16, 16, 16, 1], [Fp8, Fp8, F32]),
    row("llvm.amdgcn.wmma.f32.16x16x16.fp8.bf8.v8f32.v2i32", "<8 x float> (<2 x i32>, <2 x i32>, <8 x float>)", GFX12, [16, 16, 16, 1], [Fp8, Bf8, F32]),
    row("llvm.amdgcn.wmma.f32.16x16x16.bf8.fp8.v8f32.v2i32", "<8 x float> (<2 x i32>, <2 x i32>, <8 x float>)", GFX12, [16, 16, 16, 1], [Bf8, Fp8, F32]),
    row("llvm.amdgcn.wmma.f32.16x16x16.bf8.bf8.v8f32.v2i32", "<8 x float> (<2 x i32>, <2 x i32>, <8 x float>)", GFX12, [16, 16, 16, 1], [Bf8, Bf8, F32]),
];

#[cfg(test)]
mod tests {
    use super::{CDNA, MFMA, WMMA};
    use crate::arch::{ARCHS, RDNA};

    /// What lanes hold together is what the shapes say. gfx11 holds operands twice, and 16-bit results in words.
    #[test]
    fn signatures_have_room_for_the_shapes() {
        for row in MFMA.iter().chain(WMMA) {
            let matrix = row.matrix.expect("they are matrix instructions");
            let lanes = ARCHS.into_iter().find(|arch| row.is_on(*arch)).expect("some has it").wave().lanes();
            let call = row.calls().next().expect("one").signature();
            let values: Vec<u32> = call
                .operands
                .iter()
                .filter(|operand| !operand.1)
                .map(|(ty, _)| ty.lane_bits() * ty.lanes() * lanes)
                .collect();
            let twice = if row.archs == super::GFX11 { 2 } else { 1 };
            let words = if twice == 2 && matrix.c.bits() == 16 { 2 } else { 1 };
            assert_eq!(
                values[0],
                matrix.m * matrix.k * matrix.blocks * matrix.a.bits() * twice,
                "{}",
                row.name
            );
            assert_eq!(
                values[1],
                matrix.n * matrix.k * matrix.blocks * matrix.b.bits() * twice,
                "{}",
                row.name
            );
            assert_eq!(
                values[2],
                matrix.m * matrix.n * matrix.blocks * matrix.c.bits() * words,
                "{}",
                row.name
            );
            assert!(ARCHS.into_iter().all(|arch| !row.is_on(arch) || CDNA.has(arch) || RDNA.has(arch)));
        }
    }
}
