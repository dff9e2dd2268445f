//! Launching a compiled kernel with slots: scratch memory, the device, and engines that check every access.

use crate::arguments::extents::{extents, quick_extents};
use crate::errors::{interpreter_error, to_py};
use crate::kernel::{hooks, interrupt, load};
use pyo3::exceptions::PyException;
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult, Python};
use pyo3::types::PyAnyMethods;
use runtime::compile::Kernel;
use runtime::launch::{Site, scratch_bytes};
use target::{AlignedCopies, Extent, Launch};

/// Launches with these slots, made of these values; Python's lock is free meanwhile.
#[inline]
pub(crate) fn launch<'a, 'py: 'a>(
    py: Python<'py>,
    kernel: &Kernel,
    grid: target::Grid,
    slots: &[u64],
    site: Site,
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<()> {
    let extents = asked_extents(kernel, slots, values)?;
    submit(py, kernel, grid, (slots, &extents), site)
}

/// How far the memory of arguments goes, if the kernel asks for it.
#[inline]
fn asked_extents<'a, 'py: 'a>(
    kernel: &Kernel,
    slots: &[u64],
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<Vec<Extent>> {
    if kernel.asks_extents(slots) { quick_extents(values) } else { Ok(Vec::new()) }
}

/// Compiles and loads what a launch with these slots takes.
pub(crate) fn prepare<'a, 'py: 'a>(
    py: Python<'py>,
    kernel: &Kernel,
    grid: target::Grid,
    slots: &[u64],
    site: Site,
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<()> {
    let extents = asked_extents(kernel, slots, values)?;
    let launch = Launch { stream: site.stream, extents: &extents, ..Launch::new(grid, slots) };
    py.detach(|| runtime::launch::prepare(kernel, site.ordinal, &launch)).map_err(|error| to_py(py, error))
}

/// Launches with these slots, and with how far the memory of arguments goes.
#[inline]
fn submit(
    py: Python<'_>,
    kernel: &Kernel,
    grid: target::Grid,
    (slots, extents): (&[u64], &[Extent]),
    site: Site,
) -> PyResult<()> {
    if hooks::any_load() {
        load::load(py, kernel, site.ordinal)?;
    }
    let align = || kernel.scratch().expect("a kernel that needs bytes says how they are aligned").align;
    let scratch =
        scratch_bytes(kernel, grid).map(|bytes| allocate(py, kernel, (bytes, align()), site)).transpose()?;
    let mut launch = Launch {
        stream: site.stream,
        scratch: scratch.as_ref().map_or(0, |(address, _)| *address),
        observed: site.observed,
        interrupt: Some(interrupt::is_pending),
        extents,
        ..Launch::new(grid, slots)
    };
    let copies = memory_for_copies(py, kernel, &launch, site)?;
    launch.copies = copies.as_ref().map(|(copies, _)| *copies);
    // SAFETY: the slots were made for this kernel's parameters. The caller of a kernel vouches for the memory behind
    // its pointers, as in the reference; the arrays themselves are alive as long as the call holds its arguments.
    let result = py.detach(|| unsafe { runtime::launch::submit(kernel, site.ordinal, &launch) });
    result.map_err(|error| interrupt::take().unwrap_or_else(|| to_py(py, error)))
}

/// Memory for the copies by which a launch gains, if there is some: it does without otherwise.
#[inline]
fn memory_for_copies(
    py: Python<'_>,
    kernel: &Kernel,
    launch: &Launch<'_>,
    site: Site,
) -> PyResult<Option<(AlignedCopies, Py<PyAny>)>> {
    if !kernel.may_copy() {
        return Ok(None);
    }
    let Some(bytes) = py.detach(|| kernel.copy_bytes(launch)) else { return Ok(None) };
    match allocate(py, kernel, (bytes, AlignedCopies::ALIGNMENT), site) {
        Ok((address, buffer)) if address.is_multiple_of(AlignedCopies::ALIGNMENT) => {
            Ok(Some((AlignedCopies { address, bytes }, buffer)))
        }
        Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
        _ => Ok(None),
    }
}

/// Memory of the allocator that the program has set, with the address of its first byte.
#[cold]
fn allocate(
    py: Python<'_>,
    kernel: &Kernel,
    (bytes, align): (u64, u64),
    site: Site,
) -> PyResult<(u64, Py<PyAny>)> {
    let module = py.import("deuteron.runtime._allocation")?;
    let buffer = module.call_method1("allocate_on", (kernel.target().arrays(), bytes, align, site.stream))?;
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
    let mut extents = extents(values)?;
    extents.extend(addressed(py)?);
    // Whether tensors are whole is asked where copies may be made of them.
    let asked = if kernel.may_copy() { extents.clone() } else { Vec::new() };
    let result = target::with_extents(extents, || submit(py, kernel, grid, (slots, &asked), Site::default()));
    result.map_err(|error| if kernel.interpreted() { interpreter_error(py, error) } else { error })
}

/// Memory whose address the program has asked for: kernels may find such addresses in memory.
pub(crate) fn addressed(py: Python<'_>) -> PyResult<Vec<Extent>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let Ok(module) = modules.get_item("deuteron._addresses") else { return Ok(Vec::new()) };
    let all: Vec<(u64, u64)> = module.call_method0("addressed")?.extract()?;
    Ok(all.into_iter().map(|(base, len)| Extent { base, len, writable: true }).collect())
}
