//! Sums of products in binary32, with the vector instructions that the processor has.
//!
//! Each sum is a chain of fused multiply-adds in the order of k, so results are the same on every processor: what runs
//! side by side are sums of different elements.

use pulp::{Simd, WithSimd};

/// Rows of the result, and vectors in each of them, that are summed at a time: in registers, with room for operands.
const ROWS: usize = 4;
const VECTORS: usize = 2;

/// Sizes of a stack of products: `batch × m × k` times `batch × k × n`.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

/// Adds the products of two stacks of matrices, row by row, to `sums`.
pub(super) fn add_products(sizes: Sizes, lhs: &[f32], rhs: &[f32], sums: &mut [f32]) {
    let Sizes { batch, m, n, k } = sizes;
    assert_eq!([lhs.len(), rhs.len(), sums.len()], [m * k, k * n, m * n].map(|size| batch * size));
    pulp::Arch::new().dispatch(Products { sizes, lhs, rhs, sums });
}

/// What is inlined into its one method is compiled once for each set of instructions.
struct Products<'a> {
    sizes: Sizes,
    lhs: &'a [f32],
    rhs: &'a [f32],
    sums: &'a mut [f32],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Products { sizes: Sizes { batch, m, n, k }, lhs, rhs, sums } = self;
        for stack in 0..batch {
            let [a, b] = [&lhs[stack * m * k..][..m * k], &rhs[stack * k * n..][..k * n]];
            add_product(simd, [n, k], a, b, &mut sums[stack * m * n..][..m * n]);
        }
    }
}

#[inline(always)]
fn add_product<S: Simd>(simd: S, [n, k]: [usize; 2], a: &[f32], b: &[f32], sums: &mut [f32]) {
    let m = sums.len() / n.max(1);
    let whole = m - m % ROWS;
    for row in (0..whole).step_by(ROWS) {
        add_rows::<S, ROWS>(simd, [n, k], &a[row * k..][..ROWS * k], b, &mut sums[row * n..][..ROWS * n]);
    }
    for row in whole..m {
        add_rows::<S, 1>(simd, [n, k], &a[row * k..][..k], b, &mut sums[row * n..][..n]);
    }
}

/// All columns of `R` rows.
#[inline(always)]
fn add_rows<S: Simd, const R: usize>(simd: S, [n, k]: [usize; 2], a: &[f32], b: &[f32], sums: &mut [f32]) {
    let wide = VECTORS * S::F32_LANES;
    let [several, whole] = [wide, S::F32_LANES].map(|width| n - n % width);
    for column in (0..several).step_by(wide) {
        add_tile::<S, R, VECTORS>(simd, [n, k], a, &b[column..], &mut sums[column..]);
    }
    for column in (several..whole).step_by(S::F32_LANES) {
        add_tile::<S, R, 1>(simd, [n, k], a, &b[column..], &mut sums[column..]);
    }
    for (a, sums) in a.chunks_exact(k.max(1)).zip(sums.chunks_exact_mut(n)) {
        for (factor, line) in a.iter().zip(b.chunks_exact(n)) {
            for (sum, other) in sums[whole..].iter_mut().zip(&line[whole..]) {
                *sum = factor.mul_add(*other, *sum);
            }
        }
    }
}

/// The first columns of `R` rows, as many as `V` vectors have lanes.
///
/// Neither closures nor iterators: what of them is not inlined is compiled without the instructions that `S` stands
/// for, and the tile must stay in registers (iterators take it four to eight times as long).
#[inline(always)]
#[expect(clippy::manual_memcpy, reason = "see above")]
fn add_tile<S: Simd, const R: usize, const V: usize>(
    simd: S,
    [n, k]: [usize; 2],
    a: &[f32],
    b: &[f32],
    sums: &mut [f32],
) {
    let wide = V * S::F32_LANES;
    let mut tile = [[simd.splat_f32s(0.0); V]; R];
    for row in 0..R {
        let line = S::as_simd_f32s(&sums[row * n..][..wide]).0;
        for vector in 0..V {
            tile[row][vector] = line[vector];
        }
    }
    for at in 0..k {
        let line = S::as_simd_f32s(&b[at * n..][..wide]).0;
        for row in 0..R {
            let factor = simd.splat_f32s(a[row * k + at]);
            for vector in 0..V {
                tile[row][vector] = simd.mul_add_f32s(factor, line[vector], tile[row][vector]);
            }
        }
    }
    for row in 0..R {
        let line = S::as_mut_simd_f32s(&mut sums[row * n..][..wide]).0;
        for vector in 0..V {
            line[vector] = tile[row][vector];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sizes, add_products};

    /// A small generator of floats of many sizes.
    fn floats(count: usize, seed: &mut u64) -> Vec<f32> {
        let mut next = || {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let number = (*seed >> 40) as f32 / (1 << 23) as f32 - 1.0;
            number * 2f32.powi((*seed >> 20) as i32 % 20)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn every_sum_is_a_chain_of_fused_steps() {
        let mut seed = 7;
        for [batch, m, n, k] in [[1, 1, 1, 1], [2, 4, 16, 8], [1, 7, 33, 5], [3, 5, 3, 17], [1, 8, 64, 1]] {
            let (a, b) = (floats(batch * m * k, &mut seed), floats(batch * k * n, &mut seed));
            let start = floats(batch * m * n, &mut seed);
            let mut sums = start.clone();
            add_products(Sizes { batch, m, n, k }, &a, &b, &mut sums);
            for (index, &sum) in sums.iter().enumerate() {
                let (stack, row, column) = (index / (m * n), index / n % m, index % n);
                let want = (0..k).fold(start[index], |sum, at| {
                    a[(stack * m + row) * k + at].mul_add(b[(stack * k + at) * n + column], sum)
                });
                assert_eq!(sum.to_bits(), want.to_bits(), "{batch} {m} {n} {k}: {index}");
            }
        }
    }

    #[test]
    fn nan_and_infinity_stay_in_their_rows_and_columns() {
        let (m, n, k) = (5, 20, 3);
        let (mut a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
        (a[0], a[k]) = (f32::NAN, f32::INFINITY);
        let mut sums = vec![0.0; m * n];
        add_products(Sizes { batch: 1, m, n, k }, &a, &b, &mut sums);
        assert!(sums[..n].iter().all(|sum| sum.is_nan()));
        assert!(sums[n..2 * n].iter().all(|&sum| sum == f32::INFINITY));
        assert!(sums[2 * n..].iter().all(|&sum| sum == 3.0));
    }
}
