//! How lanes hold matrices, and products of them.
//!
//! With `g = lane / 4` and `t = lane % 4`, and `e` elements in a register (`32 / bits`, 1 of doubles):
//! - `A` (rows by `k`): register `i` holds row `g + 8 * (i % halves)`, `k = t * e + j + 4 * e * (i / halves)`,
//! - `B` (`k` by columns): register `i` holds column `g`, `k = t * e + j + 4 * e * i`,
//! - `C`, `D`: row `g + 8 * h` and columns `8 * b + 2 * t + {0, 1}`, for column block `b` and half `h`, in that order.

use crate::numeric::format_of;
use crate::syntax::types::{Kind, Type, mask};
use emulation::Rounding;

/// A number of a matrix: integers are exact, too.
pub(crate) fn decode(bits: u64, ty: Type) -> f64 {
    match (ty.kind, format_of(ty)) {
        (_, Some(format)) => format.decode(bits & mask(format.bits())),
        (Kind::Signed, _) => {
            let shift = 64 - ty.bits;
            (((bits << shift) as i64) >> shift) as f64
        }
        (Kind::Unsigned | Kind::Bits, _) => (bits & mask(ty.bits)) as f64,
        _ => f64::from_bits(bits),
    }
}

/// Elements of a register.
pub(crate) fn per_register(ty: Type) -> usize {
    (32 / ty.bits as usize).max(1)
}

/// Row, `k` of element `j` of register `i` of lane `lane` of `A`.
pub(crate) fn place_a(ty: Type, halves: usize, lane: usize, i: usize, j: usize) -> (usize, usize) {
    let e = per_register(ty);
    (lane / 4 + 8 * (i % halves), lane % 4 * e + j + 4 * e * (i / halves))
}

/// `k`, column of element `j` of register `i` of lane `lane` of `B`.
pub(crate) fn place_b(ty: Type, lane: usize, i: usize, j: usize) -> (usize, usize) {
    let e = per_register(ty);
    (lane % 4 * e + j + 4 * e * i, lane / 4)
}

/// Row and column of number `index` of lane `lane` of `C` and `D`.
pub(crate) fn place_c(halves: usize, lane: usize, index: usize) -> (usize, usize) {
    let block = index / (2 * halves);
    let half = index / 2 % halves;
    (lane / 4 + 8 * half, 8 * block + 2 * (lane % 4) + index % 2)
}

/// Rounds a sum into the type of the result.
pub(crate) fn encode(sum: f64, ty: Type, saturate: bool) -> u64 {
    match (ty.kind, format_of(ty)) {
        (Kind::Float, Some(format)) => format.encode(sum, Rounding::NearestEven),
        (Kind::Signed, _) if saturate => {
            (sum as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 as u64
        }
        (Kind::Signed, _) => sum as i64 as u32 as u64,
        _ => sum.to_bits(),
    }
}

/// A matrix of numbers, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    pub(crate) values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn new(rows: usize, columns: usize) -> Matrix {
        Matrix { columns, values: vec![0.0; rows * columns] }
    }

    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    pub(crate) fn set(&mut self, (row, column): (usize, usize), value: f64) {
        self.values[row * self.columns + column] = value;
    }

    pub(crate) fn transposed(&self) -> Matrix {
        let rows = self.values.len() / self.columns;
        let mut out = Matrix::new(self.columns, rows);
        for row in 0..rows {
            for (column, value) in self.row(row).iter().enumerate() {
                out.values[column * rows + row] = *value;
            }
        }
        out
    }

    pub(crate) fn get(&self, (row, column): (usize, usize)) -> f64 {
        self.values[row * self.columns + column]
    }
}

/// Adds the product of `a` and `b` to `c`.
pub(crate) fn add_product(a: &Matrix, b: &Matrix, c: &mut Matrix) {
    let columns = c.columns;
    for (row, out) in c.values.chunks_mut(columns).enumerate() {
        for (k, x) in a.row(row).iter().enumerate() {
            for (sum, y) in out.iter_mut().zip(b.row(k)) {
                *sum += x * y;
            }
        }
    }
}
