//! Hooks that Python sets: functions that are called around compiles and launches.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The hooks that there are.
const NAMES: [&str; 6] =
    ["launch_enter", "launch_exit", "kernel_load_start", "kernel_load_end", "jit_cache", "jit_post_compile"];

static HOOKS: Mutex<[Option<Py<PyAny>>; 6]> = Mutex::new([const { None }; 6]);
static ANY_LAUNCH: AtomicBool = AtomicBool::new(false);
static ANY_LOAD: AtomicBool = AtomicBool::new(false);

/// The hook of a name.
pub(crate) fn hook(py: Python<'_>, name: &str) -> Option<Py<PyAny>> {
    let at = NAMES.iter().position(|known| *known == name)?;
    let hooks = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    hooks[at].as_ref().map(|hook| hook.clone_ref(py))
}

/// Whether a launch must call anybody.
#[inline]
pub(crate) fn any_launch() -> bool {
    ANY_LAUNCH.load(Ordering::Relaxed)
}

/// Whether loading a kernel must call anybody.
#[inline]
pub(crate) fn any_load() -> bool {
    ANY_LOAD.load(Ordering::Relaxed)
}

/// Sets hooks by name; `None` takes one away.
#[pyfunction]
pub(crate) fn set_hooks(py: Python<'_>, hooks: &Bound<'_, PyDict>) -> PyResult<()> {
    for (name, hook) in hooks.iter() {
        let name: String = name.extract()?;
        let Some(at) = NAMES.iter().position(|known| *known == name) else {
            return Err(PyKeyError::new_err(format!(
                "there is no hook `{name}`; there are {}",
                NAMES.join(", ")
            )));
        };
        let new = (!hook.is_none()).then(|| hook.unbind());
        let mut all = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut all[at], new);
        ANY_LAUNCH.store(all[0].is_some() || all[1].is_some(), Ordering::Relaxed);
        ANY_LOAD.store(all[2].is_some() || all[3].is_some(), Ordering::Relaxed);
        drop(all);
        // Dropping it may run Python code.
        drop(old);
    }
    let _ = py;
    Ok(())
}
