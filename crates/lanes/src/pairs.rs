//! The operands of matrix instructions whose lanes hold pairs of elements ([`ttgir::FragmentKind::Pairs`]), as lane 0
//! sees them.
//!
//! Four lanes stand side by side and eight below each other; a lane holds four bytes of a row, and with 16 columns and
//! k of 16 the third register of `a` is row `g`, columns `8 + 2t`, …: these are the offsets, from the corner of a tile,
//! of the elements of lane 0 in the order of the instruction's registers.

/// (row, column) from the corner of a tile.
pub type Offsets = Vec<(u32, u32)>;

/// The offsets, from the corner of a tile of `rows` rows and `bytes` bytes of columns, of the elements that lane 0
/// holds of an operand whose rows are along the lanes (`a`): each group
/// of 8 rows, then each 16 bytes; `width` elements fill 4 bytes.
pub fn row_fragment(rows: u32, bytes: u32, width: u32) -> Offsets {
    let mut offsets = Vec::new();
    for chunk in 0..bytes / 16 {
        for group in 0..rows / 8 {
            offsets.extend((0..width).map(|element| (group * 8, chunk * 4 * width + element)));
        }
    }
    offsets
}

/// The same for an operand whose columns are along the lanes (`b`): 8 columns, `bytes` bytes of rows.
pub fn column_fragment(bytes: u32, width: u32) -> Offsets {
    (0..bytes / 16)
        .flat_map(|chunk| (0..width).map(move |element| (chunk * 4 * width + element, 0)))
        .collect()
}

/// The offsets of lane 0's elements of an accumulator tile of `columns` columns: pairs along the columns, then the two
/// groups of 8 rows, then every 8 columns.
pub fn accumulator_fragment(rows: u32, columns: u32) -> Offsets {
    let mut offsets = Vec::new();
    for column in (0..columns).step_by(8) {
        for group in 0..rows.div_ceil(8).min(2) {
            offsets.extend([(group * 8, column), (group * 8, column + 1)]);
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::{accumulator_fragment, column_fragment, row_fragment};

    #[test]
    fn fragments_of_16_rows_8_columns_and_k_of_16() {
        let a = row_fragment(16, 32, 2);
        assert_eq!(a.as_slice(), [(0, 0), (0, 1), (8, 0), (8, 1), (0, 8), (0, 9), (8, 8), (8, 9)]);
        assert_eq!(column_fragment(32, 2).as_slice(), [(0, 0), (1, 0), (8, 0), (9, 0)]);
        // Numbers of 32 bits: k is 8.
        assert_eq!(row_fragment(16, 32, 1).as_slice(), [(0, 0), (8, 0), (0, 4), (8, 4)]);
        assert_eq!(accumulator_fragment(16, 8).as_slice(), [(0, 0), (0, 1), (8, 0), (8, 1)]);
        assert_eq!(accumulator_fragment(16, 16).len(), 8);
    }
}
