//! An engine that gives programs layouts, runs the passes, takes the layouts off again and interprets what is left.

use super::erase::erase;
use ir::pass::{PassRow, Verify};
use ir::passes::{CANONICALIZE, CSE, LICM};
use ir::text::{PrintOptions, print};
use ir::{Attr, Module};
use ttgir::Machine;
use ttgir::passes::{
    ACCELERATE_DOTS, ASSIGN_LAYOUTS, DEFER_REDUCTIONS, DROP_CARRIED, HOIST_MEMORY, INSERT_FENCES,
    PIPELINE_LOOPS, PREFETCH_LOADS, UNROLL_LOADS, set_default_stages,
};
use ttir::testing::{Argument, Engine, Ran, interpret};

/// Every pass, in the order in which targets run them.
pub(crate) static PASSES: &[&PassRow] = &[
    &ACCELERATE_DOTS,
    &ASSIGN_LAYOUTS,
    &LICM,
    &CSE,
    &DEFER_REDUCTIONS,
    &HOIST_MEMORY,
    &UNROLL_LOADS,
    &PIPELINE_LOOPS,
    &PREFETCH_LOADS,
    &DROP_CARRIED,
    &CANONICALIZE,
    &LICM,
    &CSE,
    &INSERT_FENCES,
];

/// The engine, for a machine.
pub(crate) struct WithLayouts {
    pub(crate) machine: &'static Machine,
    pub(crate) warps: u32,
    pub(crate) stages: u32,
}

/// A program with layouts.
pub(crate) fn lower(module: &mut Module, engine: &WithLayouts) -> Result<(), String> {
    let show =
        |errors: Vec<ir::Diagnostic>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    ir::pass::run(module, ttir::passes::pipeline(), Verify::Never, &mut ()).map_err(show)?;
    set_default_stages(module, engine.stages);
    ttgir::from_ttir(module, engine.machine, engine.warps, 1).map_err(|error| error.to_string())?;
    ir::verify(module).map_err(show)?;
    ir::pass::run(module, PASSES, Verify::Each, &mut ()).map_err(show)
}

impl Engine for WithLayouts {
    fn name(&self) -> &str {
        self.machine.name
    }

    fn run(
        &mut self,
        module: &Module,
        kernel: &str,
        grid: [u32; 3],
        args: &[Argument],
    ) -> Result<Ran, String> {
        let mut module = module.clone();
        keep_only(&mut module, kernel)?;
        lower(&mut module, self)?;
        let text = print(&module, PrintOptions::PLAIN);
        let sizes = erase(&mut module, kernel);
        ir::verify(&module).map_err(|errors| format!("erased: {}\n{text}", errors[0]))?;
        let mut args = args.to_vec();
        args.extend(sizes.iter().map(|&size| Argument::Buffer(vec![0xa5; size])));
        // All programs have one buffer for their shared memory here, as they run one after the other: that is no race.
        let ran = interpret(&module, kernel, grid, &args, |_, _| ());
        let mut ran = ran.map_err(|error| format!("{error}\n{text}"))?;
        let own = ran.buffers.len() - sizes.len();
        ran.buffers.truncate(own);
        Ok(ran)
    }
}

/// Removes what the kernel does not call.
fn keep_only(module: &mut Module, kernel: &str) -> Result<(), String> {
    ir::pass::run(module, &[&ir::passes::INLINE], Verify::Never, &mut ())
        .map_err(|errors| errors[0].to_string())?;
    let others: Vec<_> = module
        .ops(module.body())
        .filter(|&op| module.attr_named(op, "sym_name").and_then(Attr::as_str) != Some(kernel))
        .collect();
    for op in others {
        module.erase(op);
    }
    Ok(())
}
