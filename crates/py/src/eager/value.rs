//! A value of a running kernel as a Python object. What it can do stands in [`super::methods`].

use super::state::State;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::{Py, PyAny, PyResult, pyclass};
use runtime::eager::Value;

/// A block, a run-time number, a descriptor, …: whatever operations of the language give that is known when a kernel
/// runs.
#[pyclass(module = "deuteron.language", name = "KernelValue", frozen, weakref)]
pub(crate) struct KernelValue {
    /// The thread whose session knows its form.
    pub(super) owner: u64,
    pub(super) value: Value,
}

/// A method of a value that was not called yet.
#[pyclass(module = "deuteron.language", frozen)]
pub(crate) struct BoundOperation {
    pub(super) receiver: Py<PyAny>,
    pub(super) name: String,
}

impl KernelValue {
    pub(super) fn check_thread(&self, state: &State) -> PyResult<()> {
        if self.owner == state.id {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(
            "a value of a kernel is used by another thread than the one that runs the kernel",
        ))
    }
}
