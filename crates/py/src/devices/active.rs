//! The target in use, as the launch path needs it.

use super::place::Place;
use crate::errors::OrRaise;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyString};
use runtime::{RuntimeError, knobs};
use std::sync::{Arc, Mutex, PoisonError};
use target::Target;

/// A target with what launches ask of it.
pub(crate) struct Active {
    /// The target itself.
    pub(crate) target: Arc<dyn Target>,
    /// Where its launches run.
    pub(crate) place: Place,
    /// Whether launches must say how far the memory of their arguments goes.
    pub(crate) checks_memory: bool,
    /// A number that tells targets apart in the keys of kernels: by what they compile for, and whether the interpreter runs in
    /// their place.
    pub(crate) number: u32,
    options: Vec<(Py<PyString>, &'static str)>,
    generation: u64,
}

/// The target in use, and the interpreter in its place.
static ACTIVE: [Mutex<Option<Arc<Active>>>; 2] = [Mutex::new(None), Mutex::new(None)];

/// The number of what a target compiles for.
fn number_of(target: &dyn Target) -> u32 {
    static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let name = format!("{:?} {}", target.facts(), target.machine());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let at = known.iter().position(|other| *other == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    });
    at as u32
}

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
        let generation = knobs::generation();
        {
            let active = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(active) = active.as_ref().filter(|active| active.generation == generation) {
                return Ok(Arc::clone(active));
            }
        }
        let target = find().or_raise(py)?;
        let options = runtime::options::names(target.as_ref());
        let options = options.into_iter().map(|name| (PyString::intern(py, name).unbind(), name)).collect();
        let (place, checks_memory) = (Place::of(&target), target.checks_memory());
        let number = number_of(target.as_ref());
        let new = Arc::new(Active { target, place, checks_memory, number, options, generation });
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&new));
        Ok(new)
    }

    /// Whether no knob was set since.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.generation == knobs::generation()
    }

    /// Whether an interned string is the name of an option. There is one interned string of each text.
    #[inline]
    pub(crate) fn is_option(&self, interned: *mut ffi::PyObject) -> bool {
        self.options.iter().any(|(known, _)| known.as_ptr() == interned)
    }

    /// The number of an option; `None` for a name that is none.
    #[inline]
    pub(crate) fn option(&self, py: Python<'_>, name: *mut ffi::PyObject) -> Option<u16> {
        let by_address = self.options.iter().position(|(known, _)| known.as_ptr() == name);
        let by_text = || {
            // SAFETY: the caller hands over a live object.
            let name = unsafe { Borrowed::<PyAny>::from_ptr(py, name) };
            self.options.iter().position(|(known, _)| name.eq(known.bind(py)).unwrap_or(false))
        };
        by_address.or_else(by_text).and_then(|at| u16::try_from(at).ok())
    }

    /// The name of an option.
    pub(crate) fn option_name(&self, number: u16) -> &'static str {
        self.options.get(usize::from(number)).map_or("", |(_, name)| name)
    }
}
