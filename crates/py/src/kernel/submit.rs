//! Launching a compiled kernel with slots: scratch memory, the device, and engines that check every access.

use crate::arguments::extents::extents;
use crate::devices::place::Spot;
use crate::errors::{interpreter_error, to_py};
use crate::kernel::interrupt;
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult, Python};
use pyo3::types::PyAnyMethods;
use runtime::compile::{Kernel, Scratch};
use target::Launch;

/// Launches with these slots; Python's lock is free meanwhile.
#[inline]
pub(crate) fn launch(
    py: Python<'_>,
    kernel: &Kernel,
    grid: target::Grid,
    slots: &[u64],
    spot: Spot,
) -> PyResult<()> {
    if slots.len() != kernel.artifact.params.len() {
        let text = format!(
            "{} takes {} arguments at run time and got {}",
            kernel.artifact.name,
            kernel.artifact.params.len(),
            slots.len()
        );
        return Err(to_py(py, runtime::RuntimeError::Internal(text)));
    }
    let scratch = kernel.scratch().map(|scratch| allocate(py, scratch, kernel, grid, spot)).transpose()?;
    let result = py.detach(|| {
        let loaded = kernel.load_on(spot.ordinal)?;
        let scratch = scratch.as_ref().map_or(0, |(address, _)| *address);
        let launch = Launch {
            stream: spot.stream,
            scratch,
            observed: spot.observed,
            interrupt: Some(interrupt::is_pending),
            ..Launch::new(grid, slots)
        };
        // SAFETY: the slots were made for this kernel's parameters. The caller of a kernel vouches for the memory behind
        // its pointers, as in the reference; the arrays themselves are alive as long as the call holds its arguments.
        unsafe { loaded.launch(&launch) }.map_err(runtime::RuntimeError::from)
    });
    result.map_err(|error| interrupt::take().unwrap_or_else(|| to_py(py, error)))
}

/// Memory of the allocator that the program has set, with the address of its first byte.
#[cold]
fn allocate(
    py: Python<'_>,
    scratch: Scratch,
    kernel: &Kernel,
    grid: target::Grid,
    spot: Spot,
) -> PyResult<(u64, Py<PyAny>)> {
    let programs: u64 = grid.iter().map(|&size| u64::from(size)).product();
    let bytes = programs * u64::from(kernel.options.num_ctas) * scratch.bytes;
    let module = py.import("deuteron.runtime._allocation")?;
    let buffer = module.call_method1("allocate", (bytes, scratch.align, spot.stream))?;
    let address = buffer.call_method0("data_ptr")?.extract()?;
    Ok((address, buffer.unbind()))
}

/// Launches on something that checks every access, which learns how far the memory of these values goes.
#[cold]
pub(crate) fn checked<'a, 'py: 'a>(
    py: Python<'py>,
    kernel: &Kernel,
    grid: target::Grid,
    slots: &[u64],
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<()> {
    let extents = extents(values)?;
    let result = target::with_extents(extents, || launch(py, kernel, grid, slots, Spot::default()));
    result.map_err(|error| if kernel.interpreted() { interpreter_error(py, error) } else { error })
}
