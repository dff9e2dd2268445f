//! How warps share the result of a product.

/// Warps along each dimension for products that all warps of a program make together, each with tiles of `tile` elements.
/// Chained products keep rows in one warp, so that a result is an operand of the next without leaving its warp.
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

/// Warps along each dimension for products of groups of four warps, each of which takes 16 of the 64 rows.
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
    use super::{group_columns, group_warps, warps};

    #[test]
    fn warps_split_rows_and_columns_evenly() {
        assert_eq!(warps(&[64, 64], [16, 8], 4, false), [2, 2]);
        assert_eq!(warps(&[128, 256], [16, 8], 8, false), [2, 4]);
        assert_eq!(warps(&[16, 64], [16, 8], 4, false), [1, 4]);
        assert_eq!(warps(&[64, 64], [16, 8], 4, true), [4, 1]);
        assert_eq!(warps(&[4, 32, 32], [16, 8], 8, false), [4, 2, 1]);
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
