//! The operations of the language: one table per family, one row per operation.
//!
//! A row holds the name, the parameters as Python writes them, and what the operation does. Argument binding, method
//! calls, error texts and documentation read the rows; nothing else lists operations.

mod args;
mod asm;
mod atomic;
mod block_pointer;
mod constant;
mod create;
mod debug;
pub(crate) mod descriptor;
mod dot;
mod elementwise;
pub(crate) mod external;
mod hint;
mod libdevice;
pub(crate) mod memory;
mod program;
mod python;
mod reduce;
mod shape;
mod target_info;

pub(crate) use args::Args;
pub(crate) use libdevice::{call as call_libdevice, types as libdevice_types};

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::value::PyValue;
use args::Param;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// One operation.
pub(crate) struct Builtin {
    /// Its short path.
    pub(crate) name: &'static str,
    /// Its parameters, as Python writes them.
    pub(crate) params: &'static str,
    /// Whether it is a method of tensors too.
    is_method: bool,
    /// What it does.
    pub(crate) run: Run,
}

type Run = fn(&mut Ctx<'_>, Args) -> Res<Val>;

/// A row of a table.
const fn op(name: &'static str, params: &'static str, run: Run) -> Builtin {
    Builtin { name, params, is_method: false, run }
}

/// A row of an operation that is a method of tensors too.
const fn method(name: &'static str, params: &'static str, run: Run) -> Builtin {
    Builtin { name, params, is_method: true, run }
}

const TABLES: [&[Builtin]; 18] = [
    program::TABLE,
    create::TABLE,
    shape::TABLE,
    memory::TABLE,
    block_pointer::TABLE,
    atomic::TABLE,
    elementwise::TABLE,
    external::TABLE,
    reduce::TABLE,
    dot::TABLE,
    debug::TABLE,
    hint::TABLE,
    asm::TABLE,
    descriptor::TABLE,
    constant::TABLE,
    python::TABLE,
    target_info::TABLE,
    libdevice::TABLE,
];

/// A row with its parameters parsed.
pub(crate) struct Entry {
    pub(crate) builtin: &'static Builtin,
    pub(crate) params: Vec<Param>,
}

fn registry() -> &'static FxHashMap<&'static str, Entry> {
    static REGISTRY: OnceLock<FxHashMap<&'static str, Entry>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        rows()
            .map(|builtin| (builtin.name, Entry { builtin, params: args::parse_params(builtin.params) }))
            .collect()
    })
}

/// The operation of a short path.
pub(crate) fn find(path: &str) -> Option<&'static Entry> {
    registry().get(path).or_else(|| path.strip_prefix("libdevice.").and_then(libdevice::find))
}

/// The operation or library function that a method of tensors is.
pub(crate) fn find_method(name: &str) -> Option<PyValue> {
    if crate::stdlib::METHODS.contains(&name) {
        return crate::stdlib::function(name);
    }
    let entry = registry().get(format!("tl.{name}").as_str())?;
    entry.builtin.is_method.then(|| PyValue::Builtin(entry.builtin.name.into()))
}

/// Every row.
pub(crate) fn rows() -> impl Iterator<Item = &'static Builtin> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The names of the parameters of an operation.
pub(crate) fn parameters_of(path: &str) -> Vec<&'static str> {
    find(path).map_or_else(Vec::new, |entry| entry.params.iter().map(|param| param.name).collect())
}

/// The short paths of all operations.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied().chain(libdevice::names())
}

#[cfg(test)]
mod tests {
    use super::registry;

    #[test]
    fn rows_are_unique_and_their_parameters_parse() {
        let rows: usize = super::TABLES.iter().map(|table| table.len()).sum();
        assert_eq!(registry().len(), rows);
        for entry in registry().values() {
            let commas = entry.builtin.params.split(',').filter(|param| !param.trim().is_empty()).count();
            let markers = entry.builtin.params.split(',').filter(|param| param.trim() == "*").count();
            assert_eq!(entry.params.len() + markers, commas, "{}", entry.builtin.name);
        }
    }
}
