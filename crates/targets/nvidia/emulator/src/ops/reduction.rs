//! The operation of copies that reduce.

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::numeric::reduce::{OPERATIONS, Reduce};
use crate::syntax::types::Type;

/// The operation and type of a reduction.
pub(crate) fn reduction(site: &mut Site<'_>) -> Result<Reduce, Diagnostic> {
    let operation = site.choice(OPERATIONS);
    site.flag("noftz");
    let Some(operation) = operation else { return site.error("an operation is missing") };
    Ok(Reduce {
        operation,
        ty: site
            .ty()
            .or_else(|error| if operation_has_map_type(site) { Ok(Type::B32) } else { Err(error) })?,
    })
}

/// Of tensors the map gives the type.
fn operation_has_map_type(site: &Site<'_>) -> bool {
    site.instruction.opcode.contains(".tensor")
}
