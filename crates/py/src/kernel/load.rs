//! Loading a compiled kernel on a device, with the hooks around it.

use super::hooks;
use crate::errors::OrRaise;
use pyo3::prelude::{PyResult, Python};
use pyo3::types::PyDict;
use runtime::compile::Kernel;
use std::sync::Arc;
use target::LoadedKernel;

/// The kernel on a device, loaded where that has not been done.
pub(crate) fn load<'k>(
    py: Python<'_>,
    kernel: &'k Kernel,
    ordinal: u32,
) -> PyResult<&'k Arc<dyn LoadedKernel>> {
    if !hooks::any_load() || kernel.is_loaded_on(ordinal) {
        return py.detach(|| kernel.load_on(ordinal)).or_raise(py);
    }
    call(py, "kernel_load_start", kernel, None)?;
    let loaded = py.detach(|| kernel.load_on(ordinal)).or_raise(py)?;
    call(py, "kernel_load_end", kernel, Some(loaded.handle()))?;
    Ok(loaded)
}

/// Calls a hook with module, function, name, files of the stages (none are kept) and hash.
#[cold]
fn call(py: Python<'_>, name: &str, kernel: &Kernel, handle: Option<u64>) -> PyResult<()> {
    let Some(hook) = hooks::hook(py, name) else { return Ok(()) };
    let files = PyDict::new(py);
    hook.call1(py, (handle, handle, &kernel.artifact.name, files, kernel.hash.to_string())).map(drop)
}
