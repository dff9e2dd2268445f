//! Programs that wait: others run in the middle of them, as `ttir::interp` does with whole kernels.

use super::state;
use pyo3::prelude::{PyResult, Python};
use pyo3::types::PyAnyMethods;
use ttir::interp::RunError;

/// Lets another program run in the middle of the one that runs; whether one did.
#[cold]
pub(super) fn run_another(py: Python<'_>) -> PyResult<bool> {
    state::with(|state| {
        if let Some(running) = state.session.running() {
            running.memory.suspend();
        }
        Ok(())
    })?;
    py.import("deuteron.runtime.interpreter")?.call_method0("run_another")?.extract()
}

/// Lets others run; the error of a program that waits for ever.
#[cold]
pub(super) fn give_way(py: Python<'_>) -> PyResult<Option<RunError>> {
    if run_another(py)? {
        return Ok(None);
    }
    state::with(|state| {
        let running = state.session.running();
        Ok(running.and_then(|running| running.memory.waits_for_ever(running.standing.program)))
    })
}
