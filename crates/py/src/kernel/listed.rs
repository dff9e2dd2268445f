//! Which functions have kernels, so that all can be forgotten.

use super::function::JitFunction;
use super::variant::Variant;
use pyo3::prelude::{Bound, Py, PyResult, Python, pyfunction};
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use runtime::specialize::LaunchKey;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// The functions that have kernels. Those that are gone stay until all are forgotten.
static LISTED: Mutex<Vec<Py<PyWeakrefReference>>> = Mutex::new(Vec::new());

/// Adds a kernel to those of a function; where another thread was first, gives that one.
pub(crate) fn add(
    function: &Bound<'_, JitFunction>,
    key: LaunchKey,
    variant: Arc<Variant>,
) -> PyResult<Arc<Variant>> {
    let variants = &function.get().variants;
    let reference = PyWeakrefReference::new(function)?;
    let variant = variants.kernels.add(key, variant);
    // Listed behind the kernel: who takes the list then forgets the kernel as well, or finds the function again.
    if !variants.is_listed.swap(true, Ordering::AcqRel) {
        LISTED.lock().unwrap_or_else(PoisonError::into_inner).push(reference.unbind());
    }
    Ok(variant)
}

/// Forgets what all functions were compiled to in this process.
#[pyfunction]
pub(crate) fn forget_kernels(py: Python<'_>) -> PyResult<()> {
    let listed = std::mem::take(&mut *LISTED.lock().unwrap_or_else(PoisonError::into_inner));
    for reference in listed {
        let Some(function) = reference.bind(py).upgrade() else { continue };
        let function = function.cast_into::<JitFunction>()?;
        let variants = &function.get().variants;
        variants.is_listed.store(false, Ordering::Release);
        variants.kernels.clear();
    }
    Ok(())
}
