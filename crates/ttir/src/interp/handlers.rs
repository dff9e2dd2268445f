//! Which function runs which operation. Elementwise operations are not here: their row says what they mean.

use super::interpreter::{Entry, Handler};
use super::{access, atomic, combine, control, debug, descriptor, dot, external, shape};
use ir::OpRow;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The tables, one for each family of operations.
const FAMILIES: &[&[Entry]] = &[
    access::TABLE,
    atomic::TABLE,
    combine::TABLE,
    control::TABLE,
    debug::TABLE,
    descriptor::TABLE,
    dot::TABLE,
    external::TABLE,
    shape::TABLE,
];

/// The function that runs operations of this row, unless its meaning is the row's own.
pub(crate) fn handler(row: &'static OpRow) -> Option<Handler> {
    static TABLE: OnceLock<FxHashMap<usize, Handler>> = OnceLock::new();
    let key = |row: &'static OpRow| std::ptr::from_ref(row) as usize;
    let table = TABLE.get_or_init(|| {
        let entries = FAMILIES.iter().flat_map(|family| family.iter());
        entries.map(|&(row, handler)| (key(row), handler)).collect()
    });
    table.get(&key(row)).copied()
}

#[cfg(test)]
mod tests {
    use ir::Traits;

    #[test]
    fn every_row_can_be_run() {
        // Terminators are read by the operation around them; functions and files are not run but called; instructions
        // of a target cannot be run.
        let exempt = ["tt.func", "builtin.module", "tt.elementwise_inline_asm"];
        for row in crate::registry().ops() {
            let elementwise = row.traits.has(Traits::ELEMENTWISE) && row.eval.is_some();
            let fine = super::handler(row).is_some() || elementwise || row.traits.has(Traits::TERMINATOR);
            assert!(fine || exempt.contains(&row.name), "{} cannot be run", row.name);
        }
    }
}
