//! Loads by descriptors leave out dimensions of size 1 that a reshape drops: the operand of a dot that is a slice of a
//! stack of matrices is then copied to where the dot reads it.
//!
//! ```text
//! %x = tt.descriptor_load %d[…] : … -> tensor<1x64x64xf16>   =>   %y = tt.descriptor_load %d[…] : …
//! %y = tt.reshape %x : … -> tensor<64x64xf16>                                                -> tensor<64x64xf16>
//! ```
//!
//! Assumed: what is left of loads by descriptors becomes bulk copies. Left alone: blocks that are used otherwise as
//! well, and rows, which lie in shared memory as they come.

use ir::pass::PassRow;
use ir::{Diagnostic, Module, Op};
use ttir::ops::descriptor::{DescriptorAccessOp, leaves_out_units};
use ttir::ops::shape::ReshapeOp;
use ttir::types::shape;

/// Leaves out dimensions of size 1 where blocks are loaded.
pub(crate) static SQUEEZE_BOXES: PassRow = PassRow {
    name: "squeeze-boxes",
    doc: "Loads by descriptors leave out the dimensions of size 1 that a reshape drops.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        if let Some(reshape) = only_reshape(module, op) {
            squeeze(module, op, reshape);
        }
    }
    Ok(())
}

/// The reshape that drops dimensions of a block, if nobody else uses that.
fn only_reshape(module: &Module, op: Op) -> Option<Op> {
    let block = DescriptorAccessOp::load(module, op)?.block();
    let &[(user, _)] = module.uses(block) else { return None };
    let result = ReshapeOp::of(module, user)?.result();
    let [from, to] = [block, result].map(|value| shape(module.ty(value)));
    (to.len() > 1 && leaves_out_units(from, to)).then_some(user)
}

fn squeeze(module: &mut Module, load: Op, reshape: Op) {
    let (block, result) = (module.result(load, 0), module.result(reshape, 0));
    let ty = module.ty(result);
    module.set_ty(block, ty);
    module.replace_uses(result, block);
    module.erase(reshape);
}
