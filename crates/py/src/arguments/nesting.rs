//! How deep tuples, lists and constexprs may be nested: objects that contain themselves end here, not where the stack
//! does.

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::PyResult;
use std::cell::Cell;

/// Far more than kernels have, and little for the stack of any thread.
const MOST: u32 = 100;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// An object that is being read, as long as this lives.
pub(crate) struct Level(());

/// Says that the items of an object are read from now on.
///
/// # Errors
/// `RecursionError` where too many objects around it are being read.
pub(crate) fn enter() -> PyResult<Level> {
    let depth = DEPTH.get();
    if depth >= MOST {
        return Err(PyRecursionError::new_err(format!(
            "tuples, lists or constexprs are nested more than {MOST} deep, or contain themselves"
        )));
    }
    DEPTH.set(depth + 1);
    Ok(Level(()))
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
