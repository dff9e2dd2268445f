//! The rows of all families, and the way from a name to its row.

/// Rows by their names, and all of them.
macro_rules! rows {
    ($($name:ident: $row:expr,)*) => {
        $(#[doc = concat!("`", stringify!($name), "`.")] pub static $name: crate::row::Row = $row;)*

        pub(super) static ROWS: &[&crate::row::Row] = &[$(&$name),*];
    };
}

pub mod convert;
pub mod exchange;
mod matrix;
pub mod memory;
pub mod system;

pub use matrix::SCALED;

use crate::arch::Archs;
use crate::row::{Call, Effect, Role, Row};
use llir::intrinsics::Part;
use llir::{Callee, Intrinsic, Purity};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

static FAMILIES: &[&[&Row]] = &[system::ROWS, exchange::ROWS, memory::ROWS, convert::ROWS];

static INDEX: LazyLock<FxHashMap<String, Call>> =
    LazyLock::new(|| rows().flat_map(Row::calls).map(|call| (call.name(), call)).collect());

/// The rows by where those of llir stand in memory.
static PLACES: LazyLock<FxHashMap<usize, &'static Row>> =
    LazyLock::new(|| rows().chain(&SCALED).map(|row| (place(&row.intrinsic), row)).collect());

fn place(intrinsic: &Intrinsic) -> usize {
    std::ptr::from_ref(intrinsic).addr()
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().copied().flatten().copied().chain(matrices())
}

/// Those of matrix instructions.
pub fn matrices() -> impl Iterator<Item = &'static Row> {
    matrix::MFMA.iter().chain(matrix::WMMA)
}

/// The row of something that is called.
pub fn of(callee: &Callee) -> Option<&'static Row> {
    match callee.intrinsic {
        Some(intrinsic) => PLACES.get(&place(intrinsic)).copied(),
        None => find(&callee.name)
            .map(|call| call.row)
            .or_else(|| matrix::SCALED.iter().find(|row| callee.name.starts_with(row.name))),
    }
}

/// What is called by a name as LLVM has it, types included; `None` where it is not known.
pub fn find(name: &str) -> Option<Call> {
    INDEX.get(name).copied()
}

/// A row with one signature that only computes its result.
const fn pure(name: &'static str, signature: &'static str, archs: Archs, doc: &'static str) -> Row {
    Row {
        intrinsic: Intrinsic::new(name, &[], Purity::Pure),
        types: &[],
        signature,
        archs,
        effect: Effect::None,
        convergent: false,
        matrix: None,
        role: None,
        doc,
    }
}

impl Row {
    /// Whether it is a matrix instruction whose factors have scales.
    pub fn is_scaled(&self) -> bool {
        SCALED.contains(self)
    }

    /// The same for these types.
    const fn over(self, types: &'static [&'static str]) -> Row {
        let part: &[Part] =
            if self.signature.as_bytes()[0] == b'T' { &[Part::Result] } else { &[Part::Arg(0)] };
        Row { types, intrinsic: Intrinsic::new(self.intrinsic.name, part, self.intrinsic.purity), ..self }
    }

    /// The same, staying where it is.
    const fn fixed(self) -> Row {
        Row { intrinsic: self.intrinsic.impure(), ..self }
    }

    /// The same, done by lanes together that get the same whichever of them take part.
    const fn alike(self) -> Row {
        Row { convergent: true, ..self }
    }

    /// The same, counted.
    const fn counted(self, role: Role) -> Row {
        Row { role: Some(role), ..self }
    }

    /// The same, done by lanes together.
    const fn together(self) -> Row {
        self.fixed().alike()
    }

    /// The same, reading memory.
    const fn reads(self) -> Row {
        Row { effect: Effect::Reads, ..self.fixed() }
    }

    /// The same, writing memory or with an effect that must stay in place.
    const fn writes(self) -> Row {
        Row { effect: Effect::Writes, ..self.fixed() }
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
            assert!(signature.operands.iter().all(|(ty, _)| !ty.is_void()), "{name}");
        }
        assert_eq!(INDEX.len(), rows().flat_map(Row::calls).count(), "a name stands in two rows");
        assert!(FAMILIES.iter().all(|family| !family.is_empty()));
    }

    #[test]
    fn types_are_in_names() {
        let call = find("llvm.amdgcn.raw.ptr.buffer.load.v4i32").expect("it is there");
        assert_eq!(call.signature().result, llir::Type::I32.vector(4));
        assert_eq!(call.signature().operands[3], (llir::Type::I32, true));
        assert!(find("llvm.amdgcn.raw.ptr.buffer.load").is_none());
    }
}
