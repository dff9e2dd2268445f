//! Random programs on an engine and on the interpreter.
//!
//! `PROGRAMS=… FIRST=…` choose how many and which; `SHRINK=folder` writes the first program of each kind of failure,
//! whole and as small as it gets.

use super::{Engine, Interpreter, Profile, Program, Ran, Tolerance, difference, generate, shrink, values_of};
use ir::text::{PrintOptions, print};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Where the last panic was: one of the compiler is a failure like others here.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(PANIC.lock().map(|text| text.clone()).unwrap_or_default()))
}

/// Runs a program in a way; nothing where it is refused because it does not fit.
type Run<'a, W> = &'a dyn Fn(W, &Program) -> Result<Option<Ran>, String>;

/// How an engine is compared with the interpreter. A way is a machine, a layout, or whatever else it can be asked for.
pub struct Differential<'a, W> {
    /// How many programs, where nobody says.
    pub programs: u64,
    /// The ways in which the program of a seed is run.
    pub ways: &'a dyn Fn(u64, &Program) -> Vec<W>,
    /// Runs a program.
    pub run: Run<'a, W>,
    /// How far from the interpreter results may be, by what they may be as the language has it.
    pub tolerance: fn(Tolerance) -> Tolerance,
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// An error without what differs from program to program: wrong results of one type are of one kind.
fn kind(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = if line.starts_with("wrong result") { line.split(':').next().unwrap_or(line) } else { line };
    line.chars().filter(|character| !character.is_ascii_digit()).collect()
}

impl<W: Copy + Debug> Differential<'_, W> {
    /// Runs the programs.
    ///
    /// # Errors
    /// The kinds of failures, each with its first program.
    pub fn check(&self) -> Result<(), String> {
        std::panic::set_hook(Box::new(|info| {
            if let Ok(mut text) = PANIC.lock() {
                *text = info.to_string().replace('\n', " ");
            }
        }));
        let first = number("FIRST", 0);
        let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for seed in first..first + number("PROGRAMS", self.programs) {
            let profile = if seed.is_multiple_of(4) { Profile::PLAIN } else { Profile::ALL };
            let program = generate(seed, profile);
            for way in (self.ways)(seed, &program) {
                let Err(error) = self.compare(&program, way) else { continue };
                let known = failures.entry(kind(&error)).or_default();
                if known.is_empty() {
                    self.write_smallest(&program, way, &error, seed);
                }
                known.push(format!("seed {seed}, {way:?}: {}", error.lines().next().unwrap_or_default()));
            }
        }
        let _ = std::panic::take_hook();
        let report: Vec<String> =
            failures.values().map(|all| format!("{} times, first: {}", all.len(), all[0])).collect();
        match report.is_empty() {
            true => Ok(()),
            false => Err(format!("{} kinds of failures\n{}", report.len(), report.join("\n"))),
        }
    }

    /// What both make of a program differs, or one fails.
    fn compare(&self, program: &Program, way: W) -> Result<(), String> {
        let interpret = || Interpreter.run(&program.module, program.kernel, program.grid, &program.args);
        let expected = caught(interpret).map_err(|error| format!("interpreter: {error}"))?;
        let Some(found) = caught(|| (self.run)(way, program))? else { return Ok(()) };
        for output in &program.outputs {
            let [want, got] =
                [&expected, &found].map(|ran| values_of(&ran.buffers[output.buffer], output.ty));
            if let Some(text) = difference(&want, &got, output.ty, (self.tolerance)(output.tolerance)) {
                return Err(format!("wrong result of {}: {text}", output.ty));
            }
        }
        Ok(())
    }

    fn write_smallest(&self, program: &Program, way: W, error: &str, seed: u64) {
        let Some(folder) = std::env::var_os("SHRINK") else { return };
        let write = |name: String, text: String| {
            let path = std::path::Path::new(&folder).join(name);
            let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text));
            // The hook that keeps panics of the compiler quiet is set here.
            written.unwrap_or_else(|error| eprintln!("{}: {error}", path.display()));
        };
        let whole = format!("// {way:?}: {error}\n{}", print(&program.module, PrintOptions::PLAIN));
        write(format!("seed{seed}.whole.ttir"), whole);
        let wanted = kind(error);
        let fails = |smaller: &Program| self.compare(smaller, way).is_err_and(|error| kind(&error) == wanted);
        let small = shrink(program, &mut |smaller| fails(smaller));
        let now = self.compare(&small, way).err().unwrap_or_default();
        let now = now.lines().next().unwrap_or_default();
        let text = format!("// {way:?}: {now}\n{}", print(&small.module, PrintOptions::PLAIN));
        write(format!("seed{seed}.ttir"), text);
    }
}
