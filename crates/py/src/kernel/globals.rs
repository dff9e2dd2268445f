//! The front end's questions, answered by live Python objects.
//!
//! A compile runs without Python's lock and takes it for each question alone.

use super::function::JitFunction;
use super::params::rules_of;
use super::used::{Holder, UsedGlobal};
use super::value::Registry;
use frontend::{Cause, Fault, FunctionRef, Globals, ObjectRef, PyValue};
use pyo3::intern;
use pyo3::prelude::{Bound, PyAny, PyErr, PyResult, Python};
use pyo3::types::{
    PyAnyMethods, PyDict, PyDictMethods, PyModule, PyTuple, PyTupleMethods, PyType, PyTypeMethods,
};
use std::sync::{Mutex, PoisonError};

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
        if is_data(&value) || is_dict(&value, &found.value)? {
            let is_constexpr = matches!(value, PyValue::Constexpr(_));
            let is_annotated = !is_constexpr && is_annotated_constexpr(py, &found.holder, name)?;
            self.note_use(UsedGlobal::new(found.holder, name, &found.value, is_constexpr)?);
            return Ok(Some(if is_annotated { PyValue::Constexpr(Box::new(value)) } else { value }));
        }
        Ok(Some(value))
    }

    fn note_use(&self, global: UsedGlobal) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.iter().any(|known| known.is_of_same_name(&global)) {
            used.push(global);
        }
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
        let wrap = wrapper(&callee)?;
        let target = callee.getattr_opt(intern!(py, "fn"))?.unwrap_or(callee);
        let python = |value: &PyValue| {
            let object = self.registry.to_python(py, value)?;
            match &wrap {
                Some(wrap) => wrap.call1((object,)),
                None if is_tuple(value) => run_time(py)?.getattr(intern!(py, "seen"))?.call1((object,)),
                None => Ok(object),
            }
        };
        let args = args.iter().map(python).collect::<PyResult<Vec<_>>>()?;
        let named = PyDict::new(py);
        for (name, value) in kwargs {
            if name != "_semantic" {
                named.set_item(name, python(value)?)?;
            } else if wrap.is_some() {
                let options = self.registry.to_python(py, value)?;
                let semantic = run_time(py)?.getattr(intern!(py, "Semantic"))?.call1((options,))?;
                named.set_item(name, semantic)?;
            }
        }
        let result = target.call(PyTuple::new(py, args)?, Some(&named))?;
        self.registry.value(result.as_borrowed())
    }
}

/// The value of a free name, and where it is kept.
pub(crate) struct Found<'py> {
    holder: Holder,
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
                return Ok(Some(Found { holder: Holder::Cell(cell.unbind()), value }));
            }
        }
    }
    let globals = function.getattr(intern!(py, "__globals__"))?;
    let globals = globals.cast_into::<PyDict>()?;
    let value = globals.get_item(name)?;
    Ok(value.map(|value| Found { holder: Holder::Module(globals.unbind()), value }))
}

/// What the class of blocks has by a name, where that is a function of kernels: other packages add such methods.
pub(crate) fn class_method<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let class = py.import(intern!(py, "deuteron.language.core"))?.getattr(intern!(py, "tensor"))?;
    let method = class.getattr_opt(name)?;
    Ok(method.filter(|method| method.is_instance_of::<JitFunction>()))
}

/// Whether a module says of a name of its own that it is a `tl.constexpr`.
fn is_annotated_constexpr(py: Python<'_>, holder: &Holder, name: &str) -> PyResult<bool> {
    let Holder::Module(module) = holder else { return Ok(false) };
    let Some(annotations) = module.bind(py).get_item(intern!(py, "__annotations__"))? else {
        return Ok(false);
    };
    let Ok(annotations) = annotations.cast_into::<PyDict>() else { return Ok(false) };
    annotations.get_item(name)?.map_or(Ok(false), |annotation| Ok(rules_of(&annotation)?.constexpr))
}

/// The module of what functions see that kernels call.
fn run_time(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "deuteron.language._run_time"))
}

/// What wraps the arguments of a Python function of another package that is marked as an operation of the language: it
/// takes constants as `tl.constexpr`, and by a keyword what a kernel calls it with (`Semantic`).
fn wrapper<'py>(callee: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = callee.py();
    let is_marked = callee.getattr_opt(intern!(py, "__triton_builtin__"))?.is_some();
    if !is_marked || callee.getattr_opt(intern!(py, "__deuteron_constexpr_function__"))?.is_some() {
        return Ok(None);
    }
    run_time(py)?.getattr(intern!(py, "wrapped")).map(Some)
}

/// Whether a value is data, which a program might change, rather than code.
fn is_data(value: &PyValue) -> bool {
    match value {
        PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_) | PyValue::Str(_) | PyValue::DType(_) => true,
        PyValue::Constexpr(inner) => is_data(inner) || matches!(**inner, PyValue::None | PyValue::Tuple(_)),
        PyValue::Tuple(tuple) => tuple.items.iter().any(is_data),
        _ => false,
    }
}

fn is_tuple(value: &PyValue) -> bool {
    match value {
        PyValue::Constexpr(inner) => is_tuple(inner),
        _ => matches!(value, PyValue::Tuple(_)),
    }
}

/// Whether a value is a `tl.constexpr` with a dictionary in it.
fn is_dict(value: &PyValue, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let wrapped = matches!(value, PyValue::Constexpr(inner) if matches!(**inner, PyValue::Object(_)));
    Ok(wrapped && object.getattr(intern!(object.py(), "value"))?.is_instance_of::<PyDict>())
}

/// An exception as a fault: its cause is the first class of its that is one.
fn fault_of(py: Python<'_>, error: &PyErr) -> Fault {
    let class_name = |class: &Bound<'_, PyType>| class.name().map(|name| name.to_string());
    let own = error.get_type(py);
    let name = class_name(&own).unwrap_or_else(|_| "error".to_owned());
    let causes = own.mro().iter().filter_map(|class| {
        let class = class.cast_into::<PyType>().ok()?;
        Cause::of_class(&class_name(&class).ok()?)
    });
    let cause = causes.into_iter().next().unwrap_or(Cause::Runtime);
    cause.says(format!("{name}: {}", error.value(py)))
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
    ) -> Result<PyValue, Fault> {
        Python::attach(|py| self.call_object(py, callee, args, kwargs).map_err(|error| fault_of(py, &error)))
    }

    fn block_method(&self, name: &str) -> Option<PyValue> {
        Python::attach(|py| {
            let method = class_method(py, name).and_then(|method| {
                method.map(|method| self.registry.value(method.as_borrowed())).transpose()
            });
            self.answer(method)
        })
    }

    fn must_use(&self, function: &FunctionRef) -> Option<String> {
        Python::attach(|py| {
            let function = self.registry.function(py, function)?;
            let mark = function.bind(py).getattr_opt(intern!(py, "_must_use_result")).ok().flatten()?;
            match mark.extract::<String>() {
                Ok(text) => Some(text),
                Err(_) => mark.is_truthy().unwrap_or(false).then(String::new),
            }
        })
    }

    fn is_builtin(&self, function: &FunctionRef) -> bool {
        Python::attach(|py| {
            let function = self.registry.function(py, function);
            let mark = function
                .and_then(|it| it.bind(py).getattr_opt(intern!(py, "__triton_builtin__")).ok().flatten());
            mark.is_some_and(|mark| mark.is_truthy().unwrap_or(false))
        })
    }

    fn allows_non_constexpr_globals(&self) -> bool {
        self.allow_any
    }
}
