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
mod hint;
mod libdevice;
mod memory;
mod program;
mod python;
mod reduce;
mod shape;
mod target_info;

pub(crate) use args::Args;
pub(crate) use libdevice::{call as call_libdevice, types as libdevice_types};
pub(crate) use target_info::fp8e4b15_deprecation;

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
    /// What it does.
    pub(crate) run: fn(&mut Ctx<'_>, Args) -> Res<Val>,
}

/// A row of a table.
const fn op(name: &'static str, params: &'static str, run: fn(&mut Ctx<'_>, Args) -> Res<Val>) -> Builtin {
    Builtin { name, params, run }
}

const TABLES: [&[Builtin]; 17] = [
    program::TABLE,
    create::TABLE,
    shape::TABLE,
    memory::TABLE,
    block_pointer::TABLE,
    atomic::TABLE,
    elementwise::TABLE,
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

/// Operations that are methods of tensors too.
const METHODS: [&str; 50] = [
    "advance",
    "cast",
    "broadcast_to",
    "trans",
    "permute",
    "split",
    "view",
    "reshape",
    "expand_dims",
    "store",
    "atomic_load",
    "atomic_store",
    "atomic_cas",
    "atomic_xchg",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_and",
    "atomic_or",
    "atomic_poll",
    "atomic_xor",
    "exp",
    "exp2",
    "log",
    "log2",
    "cos",
    "sin",
    "sqrt",
    "sqrt_rn",
    "rsqrt",
    "abs",
    "erf",
    "floor",
    "ceil",
    "reduce",
    "associative_scan",
    "gather",
    "histogram",
    "item",
    "load",
    "logical_and",
    "logical_or",
    "minimum",
    "maximum",
    "clamp",
    "where",
    "join",
    "ravel",
    "tanh",
    "to",
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
pub(crate) fn method(name: &str) -> Option<PyValue> {
    if crate::stdlib::METHODS.contains(&name) {
        return crate::stdlib::function(name);
    }
    let known = METHODS.contains(&name) && registry().contains_key(format!("tl.{name}").as_str());
    known.then(|| PyValue::Builtin(format!("tl.{name}").into()))
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
    use super::{METHODS, method, registry};

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

    #[test]
    fn every_method_exists() {
        for name in METHODS {
            assert!(method(name).is_some(), "{name}");
        }
    }
}
