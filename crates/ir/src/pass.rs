//! The pass runner: the only place that dumps, times and verifies between passes.

use crate::diagnostic::Diagnostic;
use crate::module::Module;
use std::time::{Duration, Instant};

/// A pass: a verb, applied to a whole program.
pub struct PassRow {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, for people.
    pub doc: &'static str,
    /// Does it. The error says what is wrong with the program; the program is then not to be used.
    pub run: fn(&mut Module) -> Result<(), Diagnostic>,
}

/// Is told what the runner does.
pub trait Observer {
    /// A pass is about to run.
    fn before(&mut self, pass: &PassRow, module: &Module) {
        let _ = (pass, module);
    }
    /// A pass has run.
    fn after(&mut self, pass: &PassRow, module: &Module, elapsed: Duration) {
        let _ = (pass, module, elapsed);
    }
}

impl Observer for () {}

/// Whether the program is verified after each pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verify {
    /// After each pass, and a failure names the pass.
    Each,
    /// Not at all; the caller verifies at the end.
    Never,
}

/// Runs passes in order.
///
/// # Errors
/// What a pass found wrong, or what the verifier found wrong after it (an error of ours, named as such).
pub fn run(
    module: &mut Module,
    passes: &[&'static PassRow],
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Vec<Diagnostic>> {
    for pass in passes {
        observer.before(pass, module);
        let start = Instant::now();
        (pass.run)(module).map_err(|error| vec![error])?;
        observer.after(pass, module, start.elapsed());
        if verify == Verify::Each {
            crate::verify::verify(module).map_err(|errors| {
                let note = format!("the program was valid before pass `{}`", pass.name);
                errors.into_iter().map(|error| error.note(note.clone())).collect::<Vec<_>>()
            })?;
        }
    }
    Ok(())
}
