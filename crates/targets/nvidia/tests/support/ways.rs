//! Kernels of ttir on their way to llir, in several ways.

use super::encode::{Spread, encode};
use lanes::{Lowered, Options};
use nvidia::lower::Lanes;
use nvidia::pipeline;
use ttir::testing::{isolate, order_writes};

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
    let target = Lanes::new(capability, machine);
    // The interpreter rounds every product.
    let options = Options { fuse_multiply_add: false, ..Options::default() };
    let lowered = lanes::lower(&module, &target, &options).map_err(|errors| errors[0].to_string())?;
    match llir::verify(&lowered.module) {
        Ok(()) => Ok(lowered),
        Err(errors) => Err(format!("{}\n{}", errors[0], lowered.module)),
    }
}
