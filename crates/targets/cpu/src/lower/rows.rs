//! What rows tell this lowering.

use ir::{Module, Op, Traits};
use ttir::ops::extern_call;

/// Whether an operation is an elementary function.
pub(crate) fn is_long(module: &Module, op: Op) -> bool {
    let row = module.row(op);
    row.traits.has(Traits::SERIES) || row.is(&extern_call::EXTERN_ELEMENTWISE)
}
