//! Which loops read the same memory.

use crate::roots::is_pointer;
use ir::{Def, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::control::FOR;

/// The loops behind an operation in its block, in order.
pub(super) fn loops_behind(module: &Module, op: Op) -> impl Iterator<Item = Op> + '_ {
    std::iter::successors(module.next(op), |&after| module.next(after))
        .filter(|&after| module.is(after, &FOR))
}

/// The pointers that the addresses of an operation's loads are computed from.
pub(super) fn origins(module: &Module, op: Op) -> FxHashSet<Value> {
    loads(module, op).map(|load| origin(module, load.ptr())).collect()
}

/// The loads in an operation.
pub(super) fn loads(module: &Module, op: Op) -> impl Iterator<Item = AccessOp<'_>> {
    module.walk(op).into_iter().filter_map(|inner| AccessOp::load(module, inner))
}

/// The pointer that an address is computed from.
pub(super) fn origin(module: &Module, address: Value) -> Value {
    let mut address = address;
    while let Def::Result(op, _) = module.def(address) {
        let mut pointers = module.operands(op).iter().filter(|&&value| is_pointer(module.ty(value)));
        match (pointers.next(), pointers.next()) {
            (Some(&only), None) if module.has(op, Traits::PURE) => address = only,
            _ => break,
        }
    }
    address
}
