//! Compiled code as an engine for fixtures and random programs.

use super::encode::{Spread, encode};
use lanes::{Lowered, Options};
use nvidia::lower::Lanes;

/// Leaves one kernel public, so that the others are inlined or dropped.
fn isolate(module: &mut ir::Module, kernel: &str) {
    use ttir::ops::func::func_attr::VISIBILITY;
    for op in module.ops(module.body()).collect::<Vec<_>>() {
        let is_kernel = module.attr_named(op, "sym_name").and_then(ir::Attr::as_str) == Some(kernel);
        module.set_attr(op, VISIBILITY, Some(ir::Attr::str(if is_kernel { "public" } else { "private" })));
    }
}

/// A kernel of a ttir module as llir, for a device of a compute capability.
pub(crate) fn lowered(
    module: &ir::Module,
    kernel: &str,
    capability: u32,
    spread: Spread,
) -> Result<Lowered, String> {
    let mut module = module.clone();
    isolate(&mut module, kernel);
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
        .map_err(|errors| format!("{errors:?}"))?;
    let encoded = encode(&module, spread)?;
    let machine = nvidia::machine::machine(capability).ok_or("no such machine")?;
    let target = Lanes { capability, machine };
    // The interpreter rounds every product.
    let options = Options { fuse_multiply_add: false, ..Options::default() };
    let lowered = lanes::lower(&encoded, &target, &options).map_err(|errors| errors[0].to_string())?;
    match llir::verify(&lowered.module) {
        Ok(()) => Ok(lowered),
        Err(errors) => Err(format!("{}\n{}", errors[0], lowered.module)),
    }
}
