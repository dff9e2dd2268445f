//! `deuteron bench`: the `perf_report` marks of a Python script.
//!
//! The script needs Python, so the work is done by the package's own runner in a process of its own; this command finds
//! the interpreter and hands the command line on.

use crate::Failure;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The module of the package that runs benchmarks.
const RUNNER: &str = "deuteron._bench";
/// The option for scripts that name a device which is not here, as the runner has it.
const CPU_FOR_ALL: &str = "cuda-as-cpu";
/// The variable by which the package tells which Python it runs in.
const PYTHON: &str = "DEUTERON_PYTHON";
/// The exit code for a runner that was ended by a signal.
const ENDED: u8 = 128;

/// Run the benchmarks (`perf_report`) of a script: tables in the terminal, CSV files and plots in a folder.
#[derive(Args)]
pub(crate) struct Bench {
    /// The script.
    file: PathBuf,
    /// Run these alone, by the name of the function or of the plot, `*` for any letters; may be repeated.
    #[arg(long, short = 'k', value_name = "NAME")]
    only: Vec<String>,
    /// List the benchmarks and run none.
    #[arg(long)]
    list: bool,
    /// The folder for CSV files and plots; without it there are tables alone.
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Put what the script puts on a GPU on the CPU, for scripts that name the device, where there is none.
    #[arg(long = CPU_FOR_ALL)]
    cpu_for_all: bool,
    /// The Python to run the script with; by default that of the active environment, else `python3` of the path.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Arguments of the script, behind `--`.
    #[arg(last = true)]
    script_args: Vec<OsString>,
}

impl Bench {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        if !self.file.is_file() {
            return Err(Failure(format!("there is no script {}", self.file.display())));
        }
        let python = self.python();
        self.check(&python)?;
        let mut command = Command::new(&python);
        command.args(["-m", RUNNER]);
        for name in &self.only {
            command.args(["--only", name]);
        }
        if self.list {
            command.arg("--list");
        }
        if self.cpu_for_all {
            command.arg(format!("--{CPU_FOR_ALL}"));
        }
        if let Some(folder) = &self.out {
            command.arg("--out").arg(folder);
        }
        command.arg(&self.file).arg("--").args(&self.script_args);
        let status = command.status().map_err(|error| cannot_start(&python, &error))?;
        // The runner has said what is wrong.
        Ok(status.code().map_or(ENDED, |code| u8::try_from(code).unwrap_or(ENDED)))
    }

    fn python(&self) -> PathBuf {
        let in_environment = |variable: &str| {
            let folder = PathBuf::from(std::env::var_os(variable)?);
            ["bin/python", "Scripts/python.exe"]
                .map(|name| folder.join(name))
                .into_iter()
                .find(|path| path.is_file())
        };
        self.python
            .clone()
            .or_else(|| std::env::var_os(PYTHON).map(PathBuf::from))
            .or_else(|| in_environment("VIRTUAL_ENV"))
            .or_else(|| in_environment("CONDA_PREFIX"))
            .unwrap_or_else(|| "python3".into())
    }

    /// Says what is missing before a traceback of Python does.
    fn check(&self, python: &Path) -> Result<(), Failure> {
        let output = Command::new(python)
            .args(["-c", &format!("import {RUNNER}")])
            .output()
            .map_err(|error| cannot_start(python, &error))?;
        if output.status.success() {
            return Ok(());
        }
        let report = String::from_utf8_lossy(&output.stderr);
        let last = report.lines().last().unwrap_or("it ended without a word").trim();
        Err(Failure(format!(
            "{} cannot import the Python package of this command: {last}\n  install it there (pip install deuteron), or name \
             another Python with --python",
            python.display()
        )))
    }
}

fn cannot_start(python: &Path, error: &std::io::Error) -> Failure {
    Failure(format!(
        "cannot start {}: {error}\n  benchmarks are Python scripts: name a Python that has this package with --python",
        python.display()
    ))
}
