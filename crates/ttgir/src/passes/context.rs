//! What passes must know of the program as a whole and of the machine.

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
        Ok(Context { machine: module.environment::<Machine>().unwrap_or(&Machine::BASE), config })
    }
}
