//! Kernels of ttir on their way to llir, in several ways.

use super::encode::{Spread, encode};
use lanes::{Lowered, Options};
use nvidia::lower::Lanes;
use nvidia::pipeline;
use ttir::ops::{descriptor, memory};

/// How blocks get their layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// One encoding for each shape, and conversions.
    Spread(Spread),
    /// The target's own passes, for so many warps in each of so many blocks of a cluster.
    Passes(u32, u32),
}

impl Way {
    /// Blocks of a cluster.
    pub(crate) fn num_ctas(self) -> u32 {
        match self {
            Way::Spread(spread) => spread.num_ctas,
            Way::Passes(_, num_ctas) => num_ctas,
        }
    }
}

/// Leaves one kernel public, so that the others are inlined or dropped.
pub(crate) fn isolate(module: &mut ir::Module, kernel: &str) {
    use ttir::ops::func::func_attr::VISIBILITY;
    for op in module.ops(module.body()).collect::<Vec<_>>() {
        let is_kernel = module.attr_named(op, "sym_name").and_then(ir::Attr::as_str) == Some(kernel);
        module.set_attr(op, VISIBILITY, Some(ir::Attr::str(if is_kernel { "public" } else { "private" })));
    }
}

/// Puts barriers around each operation that writes memory. Programs may read and write an element twice, from different
/// lanes: without barriers nothing says which access is the last.
pub(crate) fn order_writes(module: &mut ir::Module) {
    let all = ir::Attr::Enum { row: &memory::BARRIER_SCOPE, value: 7 };
    for op in module.walk(module.top()) {
        let writes = [&memory::STORE, &descriptor::STORE, &descriptor::SCATTER, &descriptor::REDUCE];
        if !writes.iter().any(|row| module.is(op, row)) {
            continue;
        }
        let loc = module.loc(op);
        let mut barrier = || {
            let attrs = [Some(all.clone())].into_iter().collect();
            module.create(&memory::BARRIER, ir::OpInit { attrs, ..ir::OpInit::default() }, loc)
        };
        let (before, after) = (barrier(), barrier());
        module.insert_before(op, before);
        module.insert_after(op, after);
    }
}

/// A ttir module with layouts.
fn with_layouts(module: ir::Module, capability: u32, way: Way) -> Result<ir::Module, String> {
    let num_warps = match way {
        Way::Spread(spread) => return encode(&module, spread),
        Way::Passes(num_warps, _) => num_warps,
    };
    let mut module = module;
    let machine = nvidia::machine::machine(capability).ok_or("no such machine")?;
    let options = pipeline::Options { num_warps, num_ctas: way.num_ctas(), num_stages: 3 };
    pipeline::to_ttgir(&mut module, capability, machine, &options, ir::pass::Verify::Each, &mut ())
        .map_err(|errors| errors[0].to_string())?;
    Ok(module)
}

/// A kernel of a ttir module as llir, for a device of a compute capability.
pub(crate) fn lowered(
    module: &ir::Module,
    kernel: &str,
    capability: u32,
    way: Way,
) -> Result<Lowered, String> {
    let mut module = module.clone();
    isolate(&mut module, kernel);
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ())
        .map_err(|errors| format!("{errors:?}"))?;
    order_writes(&mut module);
    let module = with_layouts(module, capability, way)?;
    if std::env::var_os("SHOW").is_some() {
        println!("{}", ir::text::print(&module, ir::text::PrintOptions::PLAIN));
    }
    let machine = nvidia::machine::machine(capability).ok_or("no such machine")?;
    let target = Lanes { capability, machine };
    // The interpreter rounds every product.
    let options = Options { fuse_multiply_add: false, ..Options::default() };
    let lowered = lanes::lower(&module, &target, &options).map_err(|errors| errors[0].to_string())?;
    match llir::verify(&lowered.module) {
        Ok(()) => Ok(lowered),
        Err(errors) => Err(format!("{}\n{}", errors[0], lowered.module)),
    }
}
