//! The rows of all families, and the way from a mnemonic to its row.

#[macro_use]
mod words;

mod arithmetic;
mod asynchronous;
mod atomics;
mod control;
mod convert;
mod matrix;
mod memory;

use crate::pattern::{Need, Pattern, Row};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const FAMILIES: &[&[Row]] = &[
    arithmetic::ROWS,
    convert::ROWS,
    memory::ROWS,
    atomics::ROWS,
    control::ROWS,
    asynchronous::ROWS,
    matrix::ROWS,
];

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

/// The same for text that somebody else wrote, whose modifiers may stand in another order.
pub fn find_in_any_order(mnemonic: &str) -> Option<(&'static Row, Need)> {
    let others = || {
        let patterns = INDEX.get(mnemonic.split('.').next()?)?;
        patterns.iter().find_map(|(row, pattern)| Some((*row, pattern.need_in_any_order(mnemonic)?)))
    };
    find(mnemonic).or_else(others)
}

#[cfg(test)]
mod tests {
    use super::{FAMILIES, find, find_in_any_order, rows};
    use crate::{expansions, operands};

    #[test]
    fn every_row_is_written_right() {
        for row in rows() {
            let all = expansions(row, 100).unwrap_or_else(|| panic!("`{}` cannot be read", row.pattern));
            for (mnemonic, _) in all {
                assert!(find(&mnemonic).is_some(), "`{mnemonic}` of `{}` is not found", row.pattern);
            }
            assert!(operands(row.operands).is_some(), "{}", row.operands);
        }
        assert!(FAMILIES.iter().all(|family| !family.is_empty()));
    }

    #[test]
    fn modifiers_may_stand_in_another_order() {
        for mnemonic in ["atom.global.acquire.gpu.cas.b32", "ld.global.relaxed.gpu.v2.b64", "add.s32.sat"] {
            assert!(find(mnemonic).is_none() && find_in_any_order(mnemonic).is_some(), "{mnemonic}");
        }
    }

    #[test]
    fn what_is_no_instruction_is_not_found() {
        let wrong = [
            "atom.relaxed.gpu.global.cas.b8",
            "atom.global.add.s64",
            "atom.global.and.f32",
            "atom.global.add.f16",
            "ld.shared.v4.b64",
            "setp.lt.b32",
            "cvt.rn.bf16.s8",
        ];
        for mnemonic in wrong {
            assert!(find_in_any_order(mnemonic).is_none(), "{mnemonic}");
        }
    }
}
