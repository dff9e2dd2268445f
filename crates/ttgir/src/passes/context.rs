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
        let is_known = module.environment::<Machine>().is_some();
        if let Some(name) = target(module).filter(|&name| !is_known && name != Machine::BASE.name) {
            return Err(Diagnostic::new(format!("nothing is known here of the machine `{name}`"))
                .note("passes that ask for it run when a program is compiled for a target"));
        }
        Ok(Context { machine: machine_of(module), config })
    }

    /// Lanes that run a program.
    pub(crate) fn lanes(&self) -> u64 {
        u64::from(self.config.num_warps * self.config.threads_per_warp)
    }
}

/// The machine that a module is compiled for; [`Machine::BASE`] for one that is compiled for none.
pub(crate) fn machine_of(module: &Module) -> &'static Machine {
    module.environment::<Machine>().unwrap_or(&Machine::BASE)
}
