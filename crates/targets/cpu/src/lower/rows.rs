//! What rows tell this lowering.

use ir::{Module, Op, OpRow, Traits};
use ttir::ops::{extern_call, shape};

/// Rows whose result is read from the operand at another position.
const VIEWS: [&OpRow; 5] =
    [&shape::EXPAND_DIMS, &shape::BROADCAST, &shape::TRANS, &shape::RESHAPE, &shape::SPLIT];

/// Whether an operation only moves elements.
pub(crate) fn is_view(row: &OpRow) -> bool {
    VIEWS.iter().any(|view| row.is(view))
}

/// Whether an operation is an elementary function.
pub(crate) fn is_long(module: &Module, op: Op) -> bool {
    let row = module.row(op);
    row.traits.has(Traits::SERIES) || row.is(&extern_call::EXTERN_ELEMENTWISE)
}
