//! The rows of all families, and the way from a name to its row.

mod convert;
mod exchange;
mod matrix;
mod memory;
mod system;

use crate::arch::Archs;
use crate::row::{Call, Effect, Row};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const FAMILIES: &[&[Row]] =
    &[system::ROWS, exchange::ROWS, memory::ROWS, convert::ROWS, matrix::MFMA, matrix::WMMA];

static INDEX: LazyLock<FxHashMap<String, Call>> =
    LazyLock::new(|| rows().flat_map(Row::calls).map(|call| (call.name(), call)).collect());

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().copied().flatten()
}

/// What is called by a name as LLVM has it, types included; `None` where it is not known.
pub fn find(name: &str) -> Option<Call> {
    INDEX.get(name).copied()
}

/// A row with one signature that only computes its result.
const fn pure(name: &'static str, signature: &'static str, archs: Archs, doc: &'static str) -> Row {
    Row { name, types: &[], signature, archs, effect: Effect::None, convergent: false, matrix: None, doc }
}

impl Row {
    /// The same for these types.
    const fn over(self, types: &'static [&'static str]) -> Row {
        Row { types, ..self }
    }

    /// The same, done by lanes together.
    const fn together(self) -> Row {
        Row { convergent: true, ..self }
    }

    /// The same, reading memory.
    const fn reads(self) -> Row {
        Row { effect: Effect::Reads, ..self }
    }

    /// The same, writing memory or with an effect that must stay in place.
    const fn writes(self) -> Row {
        Row { effect: Effect::Writes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{FAMILIES, INDEX, find, rows};
    use crate::row::Row;

    #[test]
    fn every_row_is_written_right() {
        for call in rows().flat_map(Row::calls) {
            let (name, signature) = (call.name(), call.signature());
            assert_eq!(find(&name).map(|found| found.name()), Some(name.clone()));
            assert!(call.row.signature.contains('T') != call.row.types.is_empty(), "{name}");
            assert!(!call.row.doc.is_empty() && call.row.doc.ends_with('.'), "{name}");
            assert!(!signature.result.is_empty() && signature.operands.iter().all(|(ty, _)| !ty.is_empty()));
        }
        assert_eq!(INDEX.len(), rows().flat_map(Row::calls).count(), "a name stands in two rows");
        assert!(FAMILIES.iter().all(|family| !family.is_empty()));
    }

    #[test]
    fn types_are_in_names() {
        let call = find("llvm.amdgcn.raw.ptr.buffer.load.v4i32").expect("it is there");
        assert_eq!(call.signature().result, "<4 x i32>");
        assert_eq!(call.signature().operands[3], ("i32".to_owned(), true));
        assert!(find("llvm.amdgcn.raw.ptr.buffer.load").is_none());
    }
}
