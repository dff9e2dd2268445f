//! The `deuteron` command: compile, run and look at kernels.
//!
//! It is a library, so that those who have the Python package alone have the command, too.
//!
//! Exit codes: 0 for success, 1 for an error of the kernel or the machine, 2 for a wrong command line. Results go to
//! the standard output, everything else to the standard error stream.

mod about;
mod bench;
mod cache;
mod cached;
mod compile;
mod inspect;
mod layout;
mod ops;
mod opt;
mod output;
mod run;
mod source;
mod tune;
mod values;

use clap::{Parser, Subcommand};
use std::ffi::OsString;

/// Compiles, runs and inspects kernels of the Triton language.
#[derive(Parser)]
#[command(name = "deuteron", version = runtime::version(), about, max_term_width = 110)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Compile a kernel and write its stages.
    Compile(compile::Compile),
    /// Run passes over a .ttir or .ttgir file.
    Opt(opt::Opt),
    /// Show what the operations of ttir and ttgir are: operands, attributes, results, rules.
    Ops(ops::Ops),
    /// Show where a layout puts each element of a tensor.
    Layout(layout::Layout),
    /// Say what each access, layout conversion and dot of a kernel costs, and what bounds it.
    Inspect(inspect::Inspect),
    /// Run a kernel on made-up arguments and print what it wrote.
    Run(run::Run),
    /// Say what this build is and what it runs on.
    Info,
    /// List every setting with its value and where that comes from.
    Env,
    /// Look at the cache of compiled kernels, check it, or empty it.
    Cache(cache::Cache),
    /// Run the benchmarks (`perf_report`) of a script.
    Bench(bench::Bench),
    /// List, export and import results of tuning.
    Tune(tune::Tune),
}

/// The exit code of an error of the kernel or the machine.
const FAILED: u8 = 1;
/// The exit code of a wrong command line.
const USAGE: u8 = 2;

/// The verbs, for those who tell them from other first arguments.
pub fn verbs() -> Vec<String> {
    let command = <Command as clap::CommandFactory>::command();
    command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
}

/// Runs a command line, of which the first entry is the name of the program, and answers the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let command = match Command::try_parse_from(args) {
        Ok(command) => command,
        Err(report) => {
            // Whoever closed the stream does not want to read it.
            let _ = report.print();
            return u8::try_from(report.exit_code()).unwrap_or(USAGE);
        }
    };
    match command.what.run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            FAILED
        }
    }
}

impl What {
    /// Does it; the exit code is not 0 where another program has said what is wrong.
    fn run(self) -> Result<u8, Failure> {
        match self {
            What::Bench(bench) => return bench.run(),
            What::Compile(compile) => compile.run(),
            What::Opt(opt) => opt.run(),
            What::Ops(ops) => ops.run(),
            What::Layout(layout) => layout.run(),
            What::Run(run) => run.run(),
            What::Inspect(inspect) => inspect.run(),
            What::Info => about::info(),
            What::Env => about::env(),
            What::Cache(cache) => cache.run(),
            What::Tune(tune) => tune.run(),
        }
        .map(|()| 0)
    }
}

/// An error as it is shown.
pub(crate) struct Failure(String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Reports of the compiler open with their own word.
        if self.0.contains("error: ") { f.write_str(&self.0) } else { write!(f, "error: {}", self.0) }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure(text)
    }
}

impl From<runtime::RuntimeError> for Failure {
    fn from(error: runtime::RuntimeError) -> Failure {
        Failure(error.to_string())
    }
}

impl From<ir::Diagnostic> for Failure {
    fn from(error: ir::Diagnostic) -> Failure {
        Failure(error.to_string())
    }
}

/// Several errors of one program, one below the other.
pub(crate) fn all(errors: &[ir::Diagnostic]) -> Failure {
    Failure(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
