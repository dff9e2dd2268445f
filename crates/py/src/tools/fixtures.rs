//! Tests of a device, for machines that have no Rust: fixtures, random programs, the bounds of functions.

use crate::devices::active::Active;
use crate::errors::OrRaise;
use pyo3::prelude::{PyResult, Python, pyfunction};
use runtime::agreement;
use runtime::fixtures::OnDevice;
use std::path::PathBuf;

fn on_device(py: Python<'_>, num_warps: u32, num_ctas: u32) -> PyResult<OnDevice> {
    OnDevice::new(Active::get(py)?.context.target.clone(), num_warps, num_ctas).or_raise(py)
}

/// Runs the calls of a fixture; how many there were, and what went wrong. `output` is the file that takes what the
/// process prints: without it, calls that must print fail, and calls that must fail are left out.
#[pyfunction]
#[pyo3(signature = (text, num_warps=4, num_ctas=1, output=None))]
pub(crate) fn check_fixture(
    py: Python<'_>,
    text: &str,
    num_warps: u32,
    num_ctas: u32,
    output: Option<PathBuf>,
) -> PyResult<(usize, Vec<String>)> {
    let mut engine = on_device(py, num_warps, num_ctas)?.printing_to(output);
    let outcome = py.detach(|| ttir::testing::check_file(text, &mut engine));
    Ok((outcome.calls, outcome.failures))
}

/// Compares a random program with the interpreter; what differs.
#[pyfunction]
#[pyo3(signature = (seed, num_warps=4))]
pub(crate) fn check_random_program(py: Python<'_>, seed: u64, num_warps: u32) -> PyResult<Option<String>> {
    let mut engine = on_device(py, num_warps, 1)?;
    Ok(py.detach(|| agreement::check_program(&mut engine, seed)).err())
}

/// Compares elementary functions with the interpreter on random numbers; what is beyond its bound.
#[pyfunction]
pub(crate) fn check_functions(py: Python<'_>, seed: u64) -> PyResult<Vec<String>> {
    let mut engine = on_device(py, 4, 1)?;
    Ok(py.detach(|| agreement::check_functions(&mut engine, seed)))
}
