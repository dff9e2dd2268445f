//! From block-level code to code with layouts that is ready for lanes: the step that gives every block a layout, then
//! the passes of an architecture.

use ir::pass::{Observer, PassRow, Verify};
use ir::{Diagnostic, Module};
use ttgir::Machine;

/// How a program is to run, as its launch says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Launch {
    /// Warps of a program; it gets more where its sums need them.
    pub num_warps: u32,
    /// Blocks of a cluster.
    pub num_ctas: u32,
    /// Iterations of a loop with dots that are in flight, where the loop does not say.
    pub num_stages: u32,
}

/// Runs the passes. `module` is verified block-level code, on which the passes of `ttir` have run.
///
/// # Errors
/// What does not fit the machine, or an error of ours that the verifier found behind a pass.
pub fn to_ttgir(
    module: &mut Module,
    passes: &[&'static PassRow],
    machine: &'static Machine,
    launch: &Launch,
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Vec<Diagnostic>> {
    if launch.num_ctas > machine.cluster {
        return Err(vec![too_many_blocks(launch.num_ctas, machine)]);
    }
    if !machine.has_calls {
        ttir::passes::replace_calls(module, verify, &mut ())?;
    }
    ttgir::passes::set_default_stages(module, launch.num_stages);
    let num_warps = ttgir::passes::enough_warps(module, machine, launch.num_warps);
    ttgir::from_ttir(module, machine, num_warps, launch.num_ctas).map_err(|error| vec![error])?;
    ir::pass::run(module, passes, verify, observer)
}

/// Says why a program cannot have so many blocks.
fn too_many_blocks(num_ctas: u32, machine: &Machine) -> Diagnostic {
    let name = machine.name;
    let reason = match machine.cluster {
        1 => format!("the blocks of a program form a cluster, and {name} has none"),
        most => format!("clusters of {name} have at most {most} blocks"),
    };
    Diagnostic::new(format!("num_ctas is {num_ctas}: {reason}"))
}
