//! The pass runner: the only place that dumps, times and verifies between passes.

use crate::diagnostic::Diagnostic;
use crate::module::Module;
use crate::text::{PrintOptions, print};
use std::fmt;
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

/// Follows what the runner does.
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
    /// Once, after the last pass.
    End,
    /// Once, after the last pass, and the structure alone: what releases do, at a small part of the time of a compile.
    Structure,
    /// Not at all; the caller verifies at the end.
    Never,
}

/// The passes that a list of names, `inline,canonicalize,cse`, stands for.
///
/// # Errors
/// When there is no pass of a name.
pub fn by_names(names: &str, known: &[&'static PassRow]) -> Result<Vec<&'static PassRow>, Diagnostic> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| {
            known.iter().copied().find(|pass| pass.name == name).ok_or_else(|| {
                let all: Vec<&str> = known.iter().map(|pass| pass.name).collect();
                Diagnostic::new(format!("there is no pass `{name}`"))
                    .note(format!("there are {}", all.join(", ")))
            })
        })
        .collect()
}

/// When a [`Dump`] writes the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DumpWhen {
    /// In front of each pass.
    Before,
    /// Behind each pass.
    After,
    /// Behind each pass that changed the text of the program.
    Changed,
}

/// Writes the program between passes, to wherever the caller says.
pub struct Dump<'s> {
    when: DumpWhen,
    options: PrintOptions,
    sink: &'s mut dyn FnMut(&str),
    last: String,
}

impl<'s> Dump<'s> {
    /// Gives each text, under a line that names the pass, to `sink`.
    pub fn new(when: DumpWhen, options: PrintOptions, sink: &'s mut dyn FnMut(&str)) -> Dump<'s> {
        Dump { when, options, sink, last: String::new() }
    }

    fn write(&mut self, place: &str, pass: &PassRow, text: &str) {
        (self.sink)(&format!("// -----// IR Dump {place} {} //----- //\n{text}\n", pass.name));
    }
}

impl Observer for Dump<'_> {
    fn before(&mut self, pass: &PassRow, module: &Module) {
        match self.when {
            DumpWhen::Before => self.write("Before", pass, &print(module, self.options)),
            DumpWhen::Changed if self.last.is_empty() => self.last = print(module, self.options),
            DumpWhen::Changed | DumpWhen::After => {}
        }
    }

    fn after(&mut self, pass: &PassRow, module: &Module, _elapsed: Duration) {
        if self.when == DumpWhen::Before {
            return;
        }
        let text = print(module, self.options);
        if self.when == DumpWhen::After || text != self.last {
            self.write("After", pass, &text);
        }
        self.last = text;
    }
}

/// How long each pass took, in the order in which they ran.
#[derive(Clone, Default, Debug)]
pub struct Times(pub Vec<(&'static str, Duration)>);

impl Observer for Times {
    fn after(&mut self, pass: &PassRow, _module: &Module, elapsed: Duration) {
        self.0.push((pass.name, elapsed));
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: Duration = self.0.iter().map(|(_, elapsed)| *elapsed).sum();
        let rows = self.0.iter().copied().chain([("total", total)]);
        for (name, elapsed) in rows {
            let share = 100.0 * elapsed.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
            writeln!(f, "{:>10.1} us {share:>5.1} %  {name}", elapsed.as_secs_f64() * 1e6)?;
        }
        Ok(())
    }
}

/// Two observers at once.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn before(&mut self, pass: &PassRow, module: &Module) {
        self.0.before(pass, module);
        self.1.before(pass, module);
    }

    fn after(&mut self, pass: &PassRow, module: &Module, elapsed: Duration) {
        self.0.after(pass, module, elapsed);
        self.1.after(pass, module, elapsed);
    }
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
            noted(
                crate::verify::verify(module),
                &format!("the program was valid before pass `{}`", pass.name),
            )?;
        }
    }
    match verify {
        Verify::End => noted(crate::verify::verify(module), "the program was valid before the passes"),
        Verify::Structure => noted(crate::verify::verify_structure(module), BUG),
        Verify::Each | Verify::Never => Ok(()),
    }
}

/// What a broken program means to somebody who only wrote a kernel.
const BUG: &str = "the program was valid before the passes: this is a bug of the compiler, not of the kernel; please report it";

fn noted(checked: Result<(), Vec<Diagnostic>>, note: &str) -> Result<(), Vec<Diagnostic>> {
    checked.map_err(|errors| errors.into_iter().map(|error| error.note(note)).collect())
}
