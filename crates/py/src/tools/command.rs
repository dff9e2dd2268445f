//! The `deuteron` command for those who have the Python package alone.

use pyo3::prelude::{Python, pyfunction};
use std::ffi::OsString;

/// Runs a command line, of which the first entry is the name of the program; answers the exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| cli::run(args))
}

/// The verbs of the command.
#[pyfunction]
pub(crate) fn command_verbs() -> Vec<String> {
    cli::verbs()
}
