//! Elementwise operations: one function per row that makes its instructions, for scalars and vectors alike.
//!
//! The tables are the whole list of elementwise operations that this target knows; [`find`] looks a row up.

mod cast;
mod compare;
mod float;
mod int;
mod math;
pub(crate) mod small_float;

use super::cx::Cx;
use super::error::Result;
use ir::{Attr, Op, OpRow, Type};
use llir::Value;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::OnceLock;

pub(crate) use compare::int_predicate;
pub(crate) use math::call as call_math;

/// The types of one elementwise operation.
pub(crate) struct Elems<'a> {
    /// Its attribute slots.
    pub(crate) attrs: &'a [Option<Attr>],
    /// Element types of the operands.
    pub(crate) operands: SmallVec<[Type; 4]>,
    /// Element type of the result.
    pub(crate) result: Type,
}

/// Makes the instructions of an operation on scalars or vectors.
pub(crate) type Emit = fn(&mut Cx<'_>, &Elems<'_>, &[Value]) -> Result<Value>;

/// A row and how it is made.
pub(crate) type Entry = (&'static OpRow, Emit);

/// How a row is made, if it is elementwise and known.
pub(crate) fn find(row: &'static OpRow) -> Option<Emit> {
    static TABLE: OnceLock<FxHashMap<&'static str, Emit>> = OnceLock::new();
    let tables = [int::TABLE, float::TABLE, compare::TABLE, cast::TABLE, math::TABLE];
    let table =
        TABLE.get_or_init(|| tables.into_iter().flatten().map(|(row, emit)| (row.name, *emit)).collect());
    table.get(row.name).copied()
}

/// Whether a row is an elementary function of many instructions.
pub(crate) fn is_long(row: &OpRow) -> bool {
    math::FUNCTIONS.iter().any(|function| row.is(function))
}

/// The types of an operation with one result.
pub(crate) fn elems(module: &ir::Module, op: Op) -> Elems<'_> {
    let elem = |value: &ir::Value| ttir::types::elem(module.ty(*value));
    Elems {
        attrs: module.attrs(op),
        operands: module.operands(op).iter().map(elem).collect(),
        result: module.results(op).first().map_or(Type::none(), elem),
    }
}

#[cfg(test)]
mod tests {
    use super::find;
    use ir::Traits;

    #[test]
    fn every_elementwise_row_is_known() {
        let missing: Vec<_> = ttir::registry()
            .ops()
            .into_iter()
            .filter(|row| row.traits.has(Traits::ELEMENTWISE) && find(row).is_none())
            .map(|row| row.name)
            .collect();
        assert!(missing.is_empty(), "no lowering for {missing:?}");
    }
}
