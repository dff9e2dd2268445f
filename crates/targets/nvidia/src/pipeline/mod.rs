//! What is done to a program between block-level code and code of a lane: one flat list of passes for each family of
//! architectures.

mod sm80;
mod sm90;

use ir::pass::{Observer, PassRow, Verify};
use ir::{Diagnostic, Module};
use ttgir::Machine;

/// How a program is to run, as its launch says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// Warps of a program.
    pub num_warps: u32,
    /// Blocks of a cluster.
    pub num_ctas: u32,
    /// Iterations of a loop with dots that are in flight, where the loop does not say.
    pub num_stages: u32,
}

/// The passes for an architecture, behind the step that gives every block a layout.
pub fn passes(arch: u32) -> &'static [&'static PassRow] {
    // Later architectures lack the products of groups of warps that 90 has.
    if (90..100).contains(&arch) { sm90::PASSES } else { sm80::PASSES }
}

/// From verified block-level code, on which the passes of `ttir` have run, to code with layouts that is ready for lanes.
///
/// # Errors
/// What does not fit the machine, or an error of ours that the verifier found behind a pass.
pub fn to_ttgir(
    module: &mut Module,
    arch: u32,
    machine: &'static Machine,
    options: &Options,
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Vec<Diagnostic>> {
    if options.num_ctas > machine.cluster {
        return Err(vec![too_many_blocks(options.num_ctas, machine)]);
    }
    ttgir::passes::set_default_stages(module, options.num_stages);
    ttgir::from_ttir(module, machine, options.num_warps, options.num_ctas).map_err(|error| vec![error])?;
    ir::pass::run(module, passes(arch), verify, observer)
}

/// Says why a program cannot have so many blocks.
fn too_many_blocks(num_ctas: u32, machine: &Machine) -> Diagnostic {
    let name = machine.name;
    let reason = match machine.cluster {
        1 => format!(
            "the blocks of a program form a cluster, and {name} has none: num_ctas needs sm_90 or newer"
        ),
        most => format!("clusters of {name} have at most {most} blocks"),
    };
    Diagnostic::new(format!("num_ctas is {num_ctas}: {reason}"))
}
