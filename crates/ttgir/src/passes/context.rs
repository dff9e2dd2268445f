//! What passes must know of the program as a whole and of the machine.

use crate::module::target;
use crate::{Config, Machine};
use ir::{Diagnostic, Module};

/// The machine, and how many warps run a program.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub(crate) machine: &'static Machine,
    pub(crate) config: Config,
}

impl Context {
    /// What a module says.
    pub(crate) fn of(module: &Module) -> Result<Context, Diagnostic> {
        let config = Config::of(module).map_err(Diagnostic::new)?;
        let machine = match (module.environment::<Machine>(), target(module)) {
            (Some(machine), _) => machine,
            (None, Some(name)) if name != Machine::BASE.name => {
                return Err(Diagnostic::new(format!("nothing is known here of the machine `{name}`"))
                    .note("passes that ask for it run when a program is compiled for a target"));
            }
            (None, _) => &Machine::BASE,
        };
        Ok(Context { machine, config })
    }
}
