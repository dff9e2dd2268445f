//! The rows of all families, and the way from a mnemonic to its row.

mod arithmetic;
mod asynchronous;
mod control;
mod convert;
mod matrix;
mod memory;

use super::pattern::{Need, Pattern, Row};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const FAMILIES: &[&[Row]] =
    &[arithmetic::ROWS, convert::ROWS, memory::ROWS, control::ROWS, asynchronous::ROWS, matrix::ROWS];

/// The patterns by the first word of their mnemonics.
static INDEX: LazyLock<FxHashMap<&'static str, Vec<(&'static Row, Pattern)>>> = LazyLock::new(|| {
    let mut index: FxHashMap<&'static str, Vec<(&'static Row, Pattern)>> = FxHashMap::default();
    for row in rows() {
        if let Some(pattern) = Pattern::parse(row) {
            index.entry(pattern.first_word()).or_default().push((row, pattern));
        }
    }
    index
});

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().copied().flatten()
}

/// The row of a mnemonic and what it needs; `None` where it is not known.
pub fn find(mnemonic: &str) -> Option<(&'static Row, Need)> {
    let first = mnemonic.split('.').next().unwrap_or(mnemonic);
    let patterns = INDEX.get(first)?;
    patterns.iter().find_map(|(row, pattern)| Some((*row, pattern.need(mnemonic)?)))
}

#[cfg(test)]
mod tests {
    use super::{FAMILIES, Pattern, find, rows};

    #[test]
    fn every_row_is_written_right() {
        for row in rows() {
            let pattern = Pattern::parse(row).unwrap_or_else(|| panic!("`{}` cannot be read", row.pattern));
            for sample in pattern.samples() {
                assert!(find(&sample).is_some(), "`{sample}` of `{}` is not found", row.pattern);
            }
            assert!(row.operands.chars().all(|kind| "DVAWMINdvawmin".contains(kind)), "{}", row.operands);
        }
        assert!(FAMILIES.iter().all(|family| !family.is_empty()));
    }
}
