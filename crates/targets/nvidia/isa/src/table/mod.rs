//! The rows of all families, and the way from a mnemonic to its row.

#[macro_use]
mod modifiers;

mod arithmetic;
mod asynchronous;
mod atomics;
mod control;
mod convert;
mod matrix;
mod memory;

use crate::pattern::{Need, Pattern, Row};
use rustc_hash::FxHashMap;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

const FAMILIES: &[&[Row]] = &[
    arithmetic::ROWS,
    convert::ROWS,
    memory::ROWS,
    atomics::ROWS,
    control::ROWS,
    asynchronous::ROWS,
    matrix::ROWS,
];

/// A row with its pattern, which is taken apart when a mnemonic with its first word is first looked for: most kernels
/// use few of the rows.
struct Entry {
    row: &'static Row,
    pattern: OnceLock<Pattern>,
}

impl Entry {
    fn pattern(&self) -> &Pattern {
        self.pattern.get_or_init(|| Pattern::parse(self.row).expect("a test reads every row"))
    }
}

/// The rows by the first word of their mnemonics.
static INDEX: LazyLock<FxHashMap<&'static str, Vec<Entry>>> = LazyLock::new(|| {
    let mut index: FxHashMap<&'static str, Vec<Entry>> = FxHashMap::default();
    for row in rows() {
        index.entry(row.first_word()).or_default().push(Entry { row, pattern: OnceLock::new() });
    }
    index
});

fn entries(mnemonic: &str) -> &'static [Entry] {
    let first = mnemonic.split_once('.').map_or(mnemonic, |(first, _)| first);
    INDEX.get(first).map_or(&[], Vec::as_slice)
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().copied().flatten()
}

/// What a mnemonic stands for.
type Found = Option<(&'static Row, Need)>;
/// Answers by mnemonic: a kernel has a few dozen, and the next one has the same.
type Answers = LazyLock<RwLock<FxHashMap<Box<str>, Found>>>;

/// Answers that are kept; assembly that people write has mnemonics of its own.
const MOST_ANSWERS: usize = 4096;

/// The row of a mnemonic and what it needs; `None` where it is not known.
pub fn find(mnemonic: &str) -> Found {
    static KNOWN: Answers = LazyLock::new(RwLock::default);
    let need = |entry: &Entry| Some((entry.row, entry.pattern().need(mnemonic)?));
    known(&KNOWN, mnemonic, || entries(mnemonic).iter().find_map(need))
}

/// The same for text that somebody else wrote, whose modifiers may stand in another order.
pub fn find_in_any_order(mnemonic: &str) -> Found {
    static KNOWN: Answers = LazyLock::new(RwLock::default);
    let need = |entry: &Entry| Some((entry.row, entry.pattern().need_in_any_order(mnemonic)?));
    known(&KNOWN, mnemonic, || find(mnemonic).or_else(|| entries(mnemonic).iter().find_map(need)))
}

/// Whether a row is of those that compute registers from registers.
pub(crate) fn is_of_registers(row: &'static Row) -> bool {
    [arithmetic::ROWS, convert::ROWS]
        .iter()
        .any(|rows| rows.as_ptr_range().contains(&std::ptr::from_ref(row)))
}

/// The answer about a mnemonic, which is looked for once.
fn known(answers: &Answers, mnemonic: &str, look: impl FnOnce() -> Found) -> Found {
    let read = answers.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = read.get(mnemonic) {
        return *found;
    }
    drop(read);
    let found = look();
    let mut answers = answers.write().unwrap_or_else(PoisonError::into_inner);
    if answers.len() >= MOST_ANSWERS {
        answers.clear();
    }
    answers.insert(mnemonic.into(), found);
    found
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
