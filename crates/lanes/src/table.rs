//! Which handler lowers which operation.

use crate::cx::Cx;
use crate::error::Result;
use crate::ops;
use ir::{Op, OpRow};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Lowers one operation.
pub type Handler = fn(&mut Cx<'_>, Op) -> Result<()>;

/// A row and its handler.
pub(crate) type Entry = (&'static OpRow, Handler);

/// The handler of an operation that is no terminator.
pub(crate) fn handler(row: &'static OpRow) -> Option<Handler> {
    static TABLE: OnceLock<FxHashMap<&'static str, Handler>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let families = ops::FAMILIES.iter().flat_map(|family| family.iter());
        let mut table: FxHashMap<&'static str, Handler> =
            families.map(|(row, handler)| (row.name, *handler)).collect();
        for row in elementwise::rows() {
            table.insert(row.name, ops::lower_elements);
        }
        table
    });
    table.get(row.name).copied()
}
