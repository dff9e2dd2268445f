//! The front end's questions, answered by live Python objects.
//!
//! A compile runs without Python's lock and takes it for each question alone.

use crate::function::JitFunction;
use crate::value::Registry;
use frontend::{FunctionRef, Globals, ObjectRef, PyValue};
use pyo3::intern;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods, PyTuple, PyTypeMethods};
use std::sync::{Mutex, PoisonError};

/// A global that a kernel was compiled with; its value must not change.
pub(crate) struct UsedGlobal {
    /// The module's dictionary, or the cell of a closure.
    pub(crate) holder: Py<PyAny>,
    /// Whether `holder` is a cell.
    pub(crate) is_cell: bool,
    /// Its name.
    pub(crate) name: Py<PyAny>,
    /// Its value then.
    pub(crate) value: Py<PyAny>,
}

/// Globals of live functions.
pub(crate) struct PyGlobals {
    /// The objects of this compile.
    pub(crate) registry: Registry,
    used: Mutex<Vec<UsedGlobal>>,
    /// An exception that was raised while a question was answered.
    raised: Mutex<Option<pyo3::PyErr>>,
    allow_any: bool,
}

impl PyGlobals {
    pub(crate) fn new(registry: Registry, allow_any: bool) -> PyGlobals {
        PyGlobals { registry, used: Mutex::default(), raised: Mutex::default(), allow_any }
    }

    /// The plain globals that were read.
    pub(crate) fn into_used(self) -> Vec<UsedGlobal> {
        self.used.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// An exception that was raised while a question was answered.
    pub(crate) fn take_raised(&self) -> Option<pyo3::PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The answer; an exception counts as "there is none" for the front end and is kept for the caller of the compile.
    fn answer(&self, result: PyResult<Option<PyValue>>) -> Option<PyValue> {
        result.unwrap_or_else(|error| {
            let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
            raised.get_or_insert(error);
            None
        })
    }

    fn find(&self, py: Python<'_>, function: &FunctionRef, name: &str) -> PyResult<Option<PyValue>> {
        let Some(function) = self.registry.function(py, function) else { return Ok(None) };
        let Some(found) = find_name(function.bind(py), name)? else { return Ok(None) };
        let value = self.registry.value(found.value.as_borrowed())?;
        if is_plain(&value) {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.push(UsedGlobal {
                holder: found.holder.unbind(),
                is_cell: found.is_cell,
                name: pyo3::types::PyString::intern(py, name).into_any().unbind(),
                value: found.value.unbind(),
            });
        }
        Ok(Some(value))
    }

    fn call_object(
        &self,
        py: Python<'_>,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> PyResult<PyValue> {
        let Some(callee) = self.registry.object(py, callee) else {
            return Err(pyo3::exceptions::PyTypeError::new_err("the function is not known here"));
        };
        let callee = callee.into_bound(py);
        // A constexpr function holds the plain function, which takes plain values.
        let target = callee.getattr_opt(intern!(py, "fn"))?.unwrap_or(callee);
        let args = args.iter().map(|arg| self.registry.to_python(py, arg)).collect::<PyResult<Vec<_>>>()?;
        let named = PyDict::new(py);
        for (name, value) in kwargs {
            named.set_item(name, self.registry.to_python(py, value)?)?;
        }
        let result = target.call(PyTuple::new(py, args)?, Some(&named))?;
        self.registry.value(result.as_borrowed())
    }
}

/// The value of a free name, and where it is kept.
pub(crate) struct Found<'py> {
    holder: Bound<'py, PyAny>,
    is_cell: bool,
    pub(crate) value: Bound<'py, PyAny>,
}

/// A free name of a function: its closure first, then its module.
pub(crate) fn find_name<'py>(function: &Bound<'py, JitFunction>, name: &str) -> PyResult<Option<Found<'py>>> {
    let py = function.py();
    let function = function.get().function(py);
    let closure = function.getattr(intern!(py, "__closure__"))?;
    if !closure.is_none() {
        let names = function.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_freevars"))?;
        for (index, free) in names.try_iter()?.enumerate() {
            if free?.eq(name)? {
                let cell = closure.get_item(index)?;
                // An empty cell raises ValueError: the name is not bound yet.
                let Ok(value) = cell.getattr(intern!(py, "cell_contents")) else { return Ok(None) };
                return Ok(Some(Found { holder: cell, is_cell: true, value }));
            }
        }
    }
    let globals = function.getattr(intern!(py, "__globals__"))?;
    let value = globals.cast::<PyDict>()?.get_item(name)?;
    Ok(value.map(|value| Found { holder: globals, is_cell: false, value }))
}

/// Whether a value is data, which a program might change, rather than code.
fn is_plain(value: &PyValue) -> bool {
    match value {
        PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_) | PyValue::Str(_) => true,
        PyValue::Constexpr(inner) => is_plain(inner) || matches!(**inner, PyValue::DType(_) | PyValue::None),
        PyValue::Tuple(tuple) => tuple.items.iter().any(is_plain),
        _ => false,
    }
}

impl Globals for PyGlobals {
    fn lookup(&self, function: &FunctionRef, name: &str) -> Option<PyValue> {
        Python::attach(|py| self.answer(self.find(py, function, name)))
    }

    fn attribute(&self, object: &ObjectRef, name: &str) -> Option<PyValue> {
        Python::attach(|py| {
            let object = self.registry.object(py, object)?;
            let attribute = object.bind(py).getattr_opt(name);
            self.answer(
                attribute.and_then(|value| {
                    value.map(|value| self.registry.value(value.as_borrowed())).transpose()
                }),
            )
        })
    }

    fn call(
        &self,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, String> {
        Python::attach(|py| {
            self.call_object(py, callee, args, kwargs).map_err(|error| {
                let name =
                    error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
                format!("{name}: {}", error.value(py))
            })
        })
    }

    fn allows_non_constexpr_globals(&self) -> bool {
        self.allow_any
    }
}

/// Checks that the globals a kernel was compiled with are what they were.
///
/// # Errors
/// As the reference: `RuntimeError` with the name, the old and the new value.
pub(crate) fn check_used(py: Python<'_>, used: &[UsedGlobal]) -> PyResult<()> {
    for global in used {
        let holder = global.holder.bind(py);
        let now = if global.is_cell {
            holder.getattr(intern!(py, "cell_contents")).ok()
        } else {
            holder.cast::<PyDict>()?.get_item(global.name.bind(py))?
        };
        let then = global.value.bind(py);
        let same = match &now {
            Some(now) => now.is(then) || now.eq(then)?,
            None => false,
        };
        if !same {
            let now = now.map_or_else(|| "nothing".to_owned(), |now| now.to_string());
            return Err(pyo3::exceptions::PyRuntimeError::new_err(format!(
                "Global variable {} has changed since we compiled this kernel, from {then} to {now}",
                global.name.bind(py)
            )));
        }
    }
    Ok(())
}
