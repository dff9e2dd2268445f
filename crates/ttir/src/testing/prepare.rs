//! What engines that compile do to a module first.

use crate::ops::func::FuncOp;
use crate::ops::{descriptor, memory};
use ir::{Attr, Module, OpInit};

/// Leaves one kernel public, so that the others are inlined or dropped.
pub fn isolate(module: &mut Module, kernel: &str) {
    for op in module.ops(module.body()).collect::<Vec<_>>() {
        let Some(func) = FuncOp::of(module, op) else { continue };
        let word = if func.name() == kernel { "public" } else { "private" };
        FuncOp::set_visibility(module, op, Some(word));
    }
}

/// Puts barriers around each operation that writes memory. Programs may read and write an element twice, from different
/// lanes: without barriers nothing says which access is the last.
pub fn order_writes(module: &mut Module) {
    let all = Attr::Enum { row: &memory::BARRIER_SCOPE, value: 7 };
    for op in module.walk(module.top()) {
        let writes = [&memory::STORE, &descriptor::STORE, &descriptor::SCATTER, &descriptor::REDUCE];
        if !writes.iter().any(|row| module.is(op, row)) {
            continue;
        }
        let loc = module.loc(op);
        let mut barrier = || {
            let attrs = [Some(all.clone())].into_iter().collect();
            module.create(&memory::BARRIER, OpInit { attrs, ..OpInit::default() }, loc)
        };
        let (before, after) = (barrier(), barrier());
        module.insert_before(op, before);
        module.insert_after(op, after);
    }
}
