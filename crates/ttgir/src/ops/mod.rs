//! The op rows that layouts add, one file per family.

use ir::{Dialect, OpRow};

/// Every row that layouts add.
pub static DIALECT: Dialect = Dialect {
    name: "ttg",
    ops: ROWS,
    attrs: crate::encoding::ATTR_ROWS,
    types: &[&crate::types::MEMDESC, &crate::types::TOKEN],
};

const ROWS: &[&OpRow] = &[];
