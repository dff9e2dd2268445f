//! How warps, and blocks of a cluster, share the result of a dot.

use crate::BasisList;

/// The least rows of a block of a cluster that warp groups, or single warps, have work for.
const LEAST_ROWS: [i64; 2] = [64, 16];
/// The least columns.
const LEAST_COLUMNS: i64 = 32;

/// How blocks of a cluster share the result of a dot: such that parts are as square as they can be, or rows stay
/// whole where the result feeds another dot.
pub(super) fn split(shape: &[i64], blocks: u32, chained: bool) -> BasisList {
    let rank = shape.len();
    let (row, column) = (rank - 2, rank - 1);
    let mut part = shape.to_vec();
    let mut bases = BasisList::new();
    for _ in 0..blocks.max(1).ilog2() {
        let splits = |dim: usize, least: i64| part[dim] >= 2 * least;
        let rows = splits(row, LEAST_ROWS[0]) && (chained || part[row] >= part[column]);
        let dim = if rank == 3 && splits(0, 1) {
            Some(0)
        } else if rows || (chained && splits(row, LEAST_ROWS[1])) {
            Some(row)
        } else if !chained && splits(column, LEAST_COLUMNS) {
            Some(column)
        } else {
            [row, column].into_iter().find(|&dim| splits(dim, LEAST_ROWS[1]))
        };
        let mut basis = vec![0; rank];
        if let Some(dim) = dim {
            basis[dim] = (shape[dim] / part[dim]) as u32;
            part[dim] /= 2;
        }
        bases.push(basis);
    }
    bases
}

/// Warps along each dimension for dots that all warps of a program make together, each with tiles of `tile`
/// elements. Chained dots keep rows in one warp, so that a result is an operand of the next without leaving its
/// warp.
pub(super) fn warps(shape: &[i64], tile: [i64; 2], warps: u32, chained: bool) -> Vec<u32> {
    let rank = shape.len();
    let mut counts = vec![1u32; rank];
    let mut left = warps;
    if rank == 3 {
        counts[0] = left.min(shape[0] as u32);
        left /= counts[0];
    }
    let (row, column) = (rank - 2, rank - 1);
    if chained {
        counts[row] = left;
        return counts;
    }
    while counts[row] * counts[column] < left {
        let rows = shape[row] / tile[0] / i64::from(counts[row]);
        let columns = shape[column] / (tile[1] * 2) / i64::from(counts[column]);
        if rows >= columns && rows > 1 {
            counts[row] *= 2;
        } else {
            counts[column] *= 2;
        }
    }
    counts
}

/// The same for chained dots with fewer rows than warps have tiles: those without rows share the columns, where all
/// would do the same otherwise, and results go through shared memory.
pub(super) fn warps_of_few_rows(shape: &[i64], rows: i64, warps: u32) -> Option<Vec<u32>> {
    let [.., height, _] = *shape else { return None };
    let tiles = (height / rows).max(1);
    (shape.len() == 2 && tiles < i64::from(warps)).then(|| vec![tiles as u32, warps / tiles as u32])
}

/// Warps along each dimension for dots of groups of four warps, each of which takes 16 of the 64 rows.
pub(super) fn group_warps(shape: &[i64], warps: u32, chained: bool) -> Vec<u32> {
    if chained {
        return vec![warps, 1];
    }
    let mut counts = vec![4u32, 1];
    while counts[0] * counts[1] < warps {
        if shape[0] > 16 * i64::from(counts[0]) {
            counts[0] *= 2;
        } else {
            counts[1] *= 2;
        }
    }
    counts
}

/// The widest instruction of a group that tiles the columns of the result, when warps that find no rows share them.
pub(super) fn group_columns(shape: &[i64], warps: u32) -> i64 {
    let rows = (shape[0] / 16).max(1);
    let sharers = (i64::from(warps) / rows).max(1);
    let most = (shape[1] / sharers).clamp(8, 256);
    (1..=32).rev().map(|eighths| eighths * 8).find(|n| *n <= most && shape[1] % n == 0).unwrap_or(8)
}

#[cfg(test)]
mod tests {
    use super::{group_columns, group_warps, split, warps, warps_of_few_rows};

    #[test]
    fn blocks_of_a_cluster_share_rows_then_columns() {
        assert_eq!(split(&[128, 128], 1, false), Vec::<Vec<u32>>::new());
        assert_eq!(split(&[128, 128], 4, false), [[1, 0], [0, 1]]);
        assert_eq!(split(&[64, 256], 4, false), [[0, 1], [0, 2]]);
        assert_eq!(split(&[256, 64], 4, true), [[1, 0], [2, 0]]);
        assert_eq!(split(&[16, 16], 2, false), [[0, 0]]);
        assert_eq!(split(&[4, 32, 32], 2, false), [[1, 0, 0]]);
    }

    #[test]
    fn warps_split_rows_and_columns_evenly() {
        assert_eq!(warps(&[64, 64], [16, 8], 4, false), [2, 2]);
        assert_eq!(warps(&[128, 256], [16, 8], 8, false), [2, 4]);
        assert_eq!(warps(&[16, 64], [16, 8], 4, false), [1, 4]);
        assert_eq!(warps(&[64, 64], [16, 8], 4, true), [4, 1]);
        assert_eq!(warps(&[4, 32, 32], [16, 8], 8, false), [4, 2, 1]);
        assert_eq!(warps_of_few_rows(&[16, 64], 16, 4), Some(vec![1, 4]));
        assert_eq!(warps_of_few_rows(&[32, 64], 16, 8), Some(vec![2, 4]));
        assert_eq!(warps_of_few_rows(&[8, 64], 16, 4), Some(vec![1, 4]));
        assert_eq!(warps_of_few_rows(&[64, 64], 16, 4), None);
        assert_eq!(warps(&[1, 64], [16, 8], 4, false), [1, 4]);
    }

    #[test]
    fn groups_take_rows_first() {
        assert_eq!(group_warps(&[128, 256], 8, false), [8, 1]);
        assert_eq!(group_warps(&[64, 256], 8, false), [4, 2]);
        assert_eq!(group_columns(&[128, 256], 8), 256);
        assert_eq!(group_columns(&[64, 256], 8), 128);
        assert_eq!(group_columns(&[64, 8], 4), 8);
        assert_eq!(group_columns(&[128, 512], 8), 256);
    }
}
