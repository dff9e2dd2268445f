//! Errors as Python exceptions, and panics that stop at the border.

use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::{Bound, PyAny, PyErr, PyResult, Python};
use pyo3::types::{IntoPyDict, PyAnyMethods};
use runtime::{CompilationFailure, CompilationKind, RuntimeError};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The exception that an error is.
pub(crate) fn to_py(py: Python<'_>, error: RuntimeError) -> PyErr {
    match error {
        RuntimeError::Type(text) => PyTypeError::new_err(text),
        RuntimeError::Value(text) => PyValueError::new_err(text),
        RuntimeError::Option(text) => of_class(py, "OptionError", |class| class.call1((text,))),
        RuntimeError::Key(text) => PyKeyError::new_err(text),
        RuntimeError::Runtime(text) => PyRuntimeError::new_err(text),
        RuntimeError::Internal(_) => PyRuntimeError::new_err(error.to_string()),
        RuntimeError::Missing(text) => of_class(py, "MissingTool", |class| class.call1((text,))),
        RuntimeError::OutOfResources { name, required, limit } => {
            of_class(py, "OutOfResources", |class| class.call1((required, limit, name)))
        }
        RuntimeError::Compilation(failure) => {
            let class = match failure.kind {
                CompilationKind::Error => "CompilationError",
                CompilationKind::StaticAssert => "CompileTimeAssertionFailure",
                CompilationKind::Unsupported => "UnsupportedLanguageConstruct",
            };
            compilation(py, class, &failure)
        }
    }
}

/// The exception that an error is in a kernel whose body Python runs.
#[cold]
pub(crate) fn eager_to_py(py: Python<'_>, error: RuntimeError) -> PyErr {
    match error {
        RuntimeError::Compilation(failure) if failure.kind == CompilationKind::Error => {
            compilation(py, "InterpretedCompilationError", &failure)
        }
        error => to_py(py, error),
    }
}

fn compilation(py: Python<'_>, name: &str, failure: &CompilationFailure) -> PyErr {
    of_class(py, name, |class| {
        let kwargs = [("message", failure.message.as_str()), ("cause", failure.cause.class_name())]
            .into_py_dict(py)?;
        if let Some(place) = &failure.place {
            kwargs.set_item("filename", &place.file)?;
            kwargs.set_item("lineno", place.line)?;
            kwargs.set_item("col", place.column)?;
            kwargs.set_item("source_line", &place.text)?;
            kwargs.set_item("at", place.in_function)?;
        }
        let calls: Vec<((u32, u32), &str)> =
            failure.calls.iter().map(|call| (call.place.in_function, call.place.text.as_str())).collect();
        kwargs.set_item("calls", calls)?;
        class.call((failure.report.as_str(),), Some(&kwargs))
    })
}

/// An exception of a class of `deuteron.errors`; what goes wrong on the way is raised instead.
pub(crate) fn of_class<'py>(
    py: Python<'py>,
    name: &str,
    make: impl FnOnce(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyErr {
    match py.import("deuteron.errors").and_then(|module| module.getattr(name)).and_then(make) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// What went wrong in the interpreter, apart from what goes wrong elsewhere.
#[cold]
pub(crate) fn interpreter_error(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.get_type(py).is(py.get_type::<PyRuntimeError>()) {
        return error;
    }
    of_class(py, "InterpreterError", |class| class.call1((error.value(py).str()?,)))
}

/// A shorter way to convert.
pub(crate) trait OrRaise<T> {
    /// Turns an error of the runtime into an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, RuntimeError> {
    #[inline]
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_py(py, error))
    }
}

/// Runs `work`; a panic in it becomes a `RuntimeError`.
#[inline]
pub(crate) fn guard<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without a text");
        Err(PyRuntimeError::new_err(format!("internal error (please report it): {text}")))
    })
}
