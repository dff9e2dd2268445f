//! The target in use, as the launch path needs it.

use super::place::Place;
use crate::errors::OrRaise;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyString};
use runtime::RuntimeError;
use runtime::launch::Context;
use std::sync::{Arc, Mutex, PoisonError};
use target::Target;

/// A target with what launches ask of it.
pub(crate) struct Active {
    /// The target, and what every interface asks of it.
    pub(crate) context: Context,
    /// Where its launches run.
    pub(crate) place: Place,
    /// The names of the options, interned.
    names: Vec<Py<PyString>>,
}

/// The target in use, and the interpreter in its place.
static ACTIVE: [Mutex<Option<Arc<Active>>>; 2] = [Mutex::new(None), Mutex::new(None)];

impl Active {
    /// The target in use. It is looked up again when a knob was set.
    #[inline]
    pub(crate) fn get(py: Python<'_>) -> PyResult<Arc<Active>> {
        Active::kept(py, &ACTIVE[0], runtime::active_target)
    }

    /// The interpreter in place of the target in use.
    pub(crate) fn interpreting(py: Python<'_>) -> PyResult<Arc<Active>> {
        Active::kept(py, &ACTIVE[1], runtime::interpreted_target)
    }

    #[inline]
    fn kept(
        py: Python<'_>,
        kept: &Mutex<Option<Arc<Active>>>,
        find: fn() -> Result<Arc<dyn Target>, RuntimeError>,
    ) -> PyResult<Arc<Active>> {
        {
            let active = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(active) = active.as_ref().filter(|active| active.context.is_current()) {
                return Ok(Arc::clone(active));
            }
        }
        let target = find().or_raise(py)?;
        let place = Place::of(&target);
        let context = Context::new(target);
        let names = context.options.iter().map(|name| PyString::intern(py, name).unbind()).collect();
        let new = Arc::new(Active { context, place, names });
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&new));
        Ok(new)
    }

    /// Whether an interned string is the name of an option. There is one interned string of each text.
    #[inline]
    pub(crate) fn is_option(&self, interned: *mut ffi::PyObject) -> bool {
        self.names.iter().any(|known| known.as_ptr() == interned)
    }

    /// The number of an option; `None` for a name that is none.
    #[inline]
    pub(crate) fn option(&self, py: Python<'_>, name: *mut ffi::PyObject) -> Option<u16> {
        let by_address = self.names.iter().position(|known| known.as_ptr() == name);
        let by_text = || {
            // SAFETY: the caller hands over a live object.
            let name = unsafe { Borrowed::<PyAny>::from_ptr(py, name) };
            self.names.iter().position(|known| name.eq(known.bind(py)).unwrap_or(false))
        };
        by_address.or_else(by_text).and_then(|at| u16::try_from(at).ok())
    }
}
