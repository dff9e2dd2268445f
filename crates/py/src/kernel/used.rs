//! Globals that a kernel was compiled with, and the check that they are what they were.

use crate::arguments::nesting;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::{Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::types::{
    PyAnyMethods, PyBool, PyDict, PyDictMethods, PyFloat, PyInt, PyString, PyStringMethods, PyTuple,
    PyTupleMethods,
};

/// A global that a kernel was compiled with; its value must not change.
pub(crate) struct UsedGlobal {
    /// Where it is kept.
    holder: Holder,
    /// Its name.
    name: Py<PyString>,
    /// Whether it was a `tl.constexpr`.
    is_constexpr: bool,
    /// Its value then, without the constexpr.
    value: Py<PyAny>,
    /// A copy of the value, where that might change by itself.
    copy: Option<Py<PyAny>>,
}

/// Where a name is kept.
pub(crate) enum Holder {
    /// The dictionary of a module.
    Module(Py<PyDict>),
    /// A cell of a closure.
    Cell(Py<PyAny>),
}

impl Holder {
    /// The value of a name now; `None` where there is none any more.
    #[inline]
    fn get<'py>(&self, py: Python<'py>, name: &Py<PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Holder::Module(module) => module.bind(py).get_item(name.bind(py)),
            Holder::Cell(cell) => Ok(cell.bind(py).getattr(intern!(py, "cell_contents")).ok()),
        }
    }
}

impl UsedGlobal {
    /// A global with its value now.
    pub(crate) fn new(
        holder: Holder,
        name: &str,
        value: &Bound<'_, PyAny>,
        is_constexpr: bool,
    ) -> PyResult<UsedGlobal> {
        let py = value.py();
        let value = if is_constexpr { inner(value)? } else { value.clone() };
        let copy = if is_frozen(&value) { None } else { Some(deep_copy(&value)?) };
        let name = PyString::intern(py, name).unbind();
        Ok(UsedGlobal { holder, name, is_constexpr, value: value.unbind(), copy })
    }

    /// Whether two are the same name of the same module or closure.
    pub(crate) fn is_of_same_name(&self, other: &UsedGlobal) -> bool {
        let is_same_holder = match (&self.holder, &other.holder) {
            (Holder::Module(a), Holder::Module(b)) => a.is(b),
            (Holder::Cell(a), Holder::Cell(b)) => a.is(b),
            _ => false,
        };
        is_same_holder && self.name.is(&other.name)
    }

    /// Whether the value is what it was.
    #[inline]
    fn is_unchanged(&self, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !self.is_constexpr {
            return self.is_same(now);
        }
        match now.getattr_opt(intern!(now.py(), "value"))? {
            Some(now) => self.is_same(&now),
            None => Ok(false),
        }
    }

    #[inline]
    fn is_same(&self, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        if self.copy.is_none() && now.is(&self.value) {
            return Ok(true);
        }
        let then = self.copy.as_ref().unwrap_or(&self.value).bind(now.py());
        // Equality alone would take 1 for `True` and 0.0 for -0.0.
        Ok(now.get_type().is(then.get_type())
            && now.eq(then)?
            && now.repr()?.to_cow()? == then.repr()?.to_cow()?)
    }

    #[cold]
    fn changed(&self, now: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyErr {
        let then = self.copy.as_ref().unwrap_or(&self.value).bind(py);
        let then = if self.is_constexpr { format!("constexpr[{then}]") } else { then.to_string() };
        let now = now.map_or_else(|| "nothing".to_owned(), ToString::to_string);
        let name = self.name.bind(py);
        PyRuntimeError::new_err(format!(
            "Global variable {name} has changed since we compiled this kernel, from {then} to {now}"
        ))
    }
}

/// The value of a `tl.constexpr`.
fn inner<'py>(constexpr: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    constexpr.getattr(intern!(constexpr.py(), "value"))
}

/// A copy that later changes of the value do not reach. Objects that cannot be copied stand for themselves.
fn deep_copy(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let copied = value.py().import("copy")?.call_method1("deepcopy", (value,));
    Ok(copied.unwrap_or_else(|_| value.clone()).unbind())
}

/// Whether a value cannot change by itself: a number, a text, `None`, an element type, a tuple of these.
fn is_frozen(value: &Bound<'_, PyAny>) -> bool {
    if let Ok(items) = value.cast_exact::<PyTuple>() {
        let Ok(_level) = nesting::enter() else { return false };
        return items.iter().all(|item| is_frozen(&item));
    }
    value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.hasattr(intern!(value.py(), "__deuteron_dtype__")).unwrap_or(false)
}

/// Checks that the globals a kernel was compiled with are what they were.
///
/// # Errors
/// As the reference: `RuntimeError` with the name, the old and the new value.
#[inline]
pub(crate) fn check_used(py: Python<'_>, used: &[UsedGlobal]) -> PyResult<()> {
    for global in used {
        let now = global.holder.get(py, &global.name)?;
        let same = match &now {
            Some(now) => global.is_unchanged(now)?,
            None => false,
        };
        if !same {
            return Err(global.changed(now.as_ref(), py));
        }
    }
    Ok(())
}
