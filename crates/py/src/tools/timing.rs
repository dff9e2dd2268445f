//! Timing on the host, for Python.

use pyo3::prelude::{Python, pyclass, pyfunction, pymethods};
use std::sync::{Mutex, PoisonError};

/// Memory that empties the caches when it is written.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct Flush(Mutex<runtime::timing::Flush>);

#[pymethods]
impl Flush {
    #[new]
    fn new(bytes: usize) -> Flush {
        Flush(Mutex::new(runtime::timing::Flush::new(bytes)))
    }

    /// Writes all of it.
    fn zero_(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).run());
    }

    fn __len__(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

/// Bytes a second that the cores read from memory, measured once.
#[pyfunction]
pub(crate) fn host_bandwidth(py: Python<'_>) -> f64 {
    py.detach(runtime::timing::host_bandwidth)
}
