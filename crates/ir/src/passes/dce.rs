//! What may be removed when nobody uses it; and removal of functions that nobody calls.
//!
//! Input: a module with private functions that were inlined everywhere. Output: the module without them.

use crate::diagnostic::Diagnostic;
use crate::entity::Op;
use crate::module::Module;
use crate::module::traits::Traits;
use crate::pass::PassRow;

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
    traits.has(Traits::PURE) || (row.reads() && !row.writes() && !module.is_volatile(op))
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
            .filter_map(|op| module.callee(op).map(str::to_owned))
            .collect();
        let dead: Vec<Op> = module
            .ops(module.body())
            .filter(|&op| module.has(op, Traits::SYMBOL) && module.is_private(op))
            .filter(|&op| !called.iter().any(|called| Some(called.as_str()) == module.symbol_name(op)))
            .collect();
        if dead.is_empty() {
            return Ok(());
        }
        for op in dead {
            module.erase(op);
        }
    }
}
