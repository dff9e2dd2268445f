//! The `deuteron` command: compile, run and look at kernels without Python.
//!
//! Exit codes: 0 for success, 1 for an error of the kernel or the machine, 2 for a wrong command line. Results go to the
//! standard output, everything else to the standard error stream.

mod about;
mod compile;
mod inspect;
mod layout;
mod opt;
mod output;
mod run;
mod source;
mod tune;
mod values;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Compiles, runs and inspects kernels of the Triton language.
#[derive(Parser)]
#[command(name = "deuteron", version, about, max_term_width = 110)]
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
    /// Show where a layout puts each element of a tensor.
    Layout(layout::Layout),
    /// Say what each access, layout change and product of a kernel costs, and what bounds it.
    Inspect(inspect::Inspect),
    /// Run a kernel on made-up arguments and print what it wrote.
    Run(run::Run),
    /// Say what this build is and what it runs on.
    Info,
    /// List every setting with its value and where that comes from.
    Env,
    /// Say how much the cache holds, or empty it.
    Cache(about::Cache),
    /// List, export and import results of tuning.
    Tune(tune::Tune),
}

fn main() -> ExitCode {
    let command = Command::parse();
    let result = match command.what {
        What::Compile(compile) => compile.run(),
        What::Opt(opt) => opt.run(),
        What::Layout(layout) => layout.run(),
        What::Inspect(inspect) => inspect.run(),
        What::Run(run) => run.run(),
        What::Info => about::info(),
        What::Env => about::env(),
        What::Cache(cache) => cache.run(),
        What::Tune(tune) => tune.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
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
