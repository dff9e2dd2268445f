//! Matrix instructions that take scales (CDNA4 ISA, 7.1, `V_MFMA_SCALE_F32_*_F8F6F4`).

use super::matrix::pack;
use amdgcn_isa::Row;
use lanes::ScaledMultiply;
use llir::{Op, Type, Value};
use ttgir::MatrixRow;
use ttir::ops::dot::ScaleType;

/// The number that the instruction knows a format by, and the words that 32 numbers of it take.
fn format(format: ScaleType) -> Option<(i32, u32)> {
    match format {
        ScaleType::E4m3 => Some((0, 8)),
        ScaleType::E5m2 => Some((1, 8)),
        ScaleType::E2m1 => Some((4, 4)),
        _ => None,
    }
}

/// Emits a row for factors of these formats.
pub(super) fn multiplier(row: &MatrixRow, formats: [ScaleType; 2]) -> Option<Box<ScaledMultiply>> {
    let [(left, of_left), (right, of_right)] = [format(formats[0])?, format(formats[1])?];
    let is_of = |isa: &&Row| isa.matrix.is_some_and(|matrix| (matrix.m, matrix.k) == (row.m, row.k));
    let row = amdgcn_isa::SCALED.iter().find(is_of)?;
    Some(Box::new(move |b, factors, scales, sums| {
        let x = pack(b, factors[0], Type::I32.vector(of_left));
        let y = pack(b, factors[1], Type::I32.vector(of_right));
        let c = b.vector(sums);
        let ty = b.ty(c);
        let [of_x, of_y] = scales.map(|scale: Value| b.cast(Op::ZEXT, scale, Type::I32));
        // The exponents are in the lowest byte.
        let (left, right, lowest) = (b.i32(left), b.i32(right), b.i32(0));
        let args = [x, y, c, left, right, lowest, of_x, lowest, of_y];
        let result = b.intrinsic(row, ty, &args);
        Some((0..sums.len() as u32).map(|at| b.extract(result, at)).collect())
    }))
}
