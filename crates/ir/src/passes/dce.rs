//! What may be removed when nobody uses it; and removal of functions that nobody calls.
//!
//! Input: a module with private functions that were inlined everywhere. Output: the module without them.

use crate::diagnostic::Diagnostic;
use crate::entity::Op;
use crate::module::Module;
use crate::module::row::Traits;
use crate::pass::PassRow;
use crate::types::attr::Attr;

/// Removes private functions that nobody calls.
pub static SYMBOL_DCE: PassRow =
    PassRow { name: "symbol-dce", doc: "Removes private functions that nobody calls.", run: symbol_dce };

/// Whether an operation has no effect but its results.
pub fn is_removable(module: &Module, op: Op) -> bool {
    let row = module.row(op);
    let traits = row.traits;
    if traits.has(Traits::TERMINATOR) || traits.has(Traits::SYMBOL) {
        return false;
    }
    if traits.has(Traits::REGION_EFFECTS) {
        // A loop that might not end is kept only for the effects it has.
        return regions_are_removable(module, op);
    }
    // A volatile read has an effect: that it happens.
    let volatile = || module.attr_named(op, "isVolatile").and_then(Attr::as_bool) == Some(true);
    traits.has(Traits::PURE) || (row.reads() && !row.writes() && !volatile())
}

fn regions_are_removable(module: &Module, op: Op) -> bool {
    module.regions(op).iter().flat_map(|&region| module.blocks(region)).all(|&block| {
        module.ops(block).all(|inner| module.has(inner, Traits::TERMINATOR) || is_removable(module, inner))
    })
}

fn symbol_dce(module: &mut Module) -> Result<(), Diagnostic> {
    loop {
        let called: Vec<String> = module
            .walk(module.top())
            .into_iter()
            .filter(|&op| module.has(op, Traits::CALL))
            .filter_map(|op| module.attr_named(op, "callee").and_then(Attr::as_str).map(str::to_owned))
            .collect();
        let dead: Vec<Op> = module
            .ops(module.body())
            .filter(|&op| module.has(op, Traits::SYMBOL))
            .filter(|&op| module.attr_named(op, "sym_visibility").and_then(Attr::as_str) == Some("private"))
            .filter(|&op| {
                let name = module.attr_named(op, "sym_name").and_then(Attr::as_str);
                !called.iter().any(|called| Some(called.as_str()) == name)
            })
            .collect();
        if dead.is_empty() {
            return Ok(());
        }
        for op in dead {
            module.erase(op);
        }
    }
}
