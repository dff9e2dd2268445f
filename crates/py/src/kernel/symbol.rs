//! What the symbol of a kernel is called, where `@jit(repr=…)` says so.
//!
//! The function of `repr` is called for each compile, with what the kernel is specialised for. Of a dotted name the
//! last part counts, and only letters, digits and underscores are allowed, as tools for GPUs take no others.

use super::describe;
use super::function::JitFunction;
use super::value::Registry;
use crate::errors::of_class;
use frontend::ArgSpec;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::{Bound, PyErr, PyResult};
use pyo3::types::{PyAnyMethods, PyString, PyStringMethods, PyTypeMethods};
use std::sync::Arc;

/// The name that `repr` gives to a function for such arguments; `None` where the function has no `repr`.
pub(crate) fn symbol(
    function: &Bound<'_, JitFunction>,
    args: &[ArgSpec],
    registry: &Registry,
) -> PyResult<Option<Arc<str>>> {
    let (py, me) = (function.py(), function.get());
    let Some(repr) = me.repr.get(py) else { return Ok(None) };
    let source = describe::source_of(function.as_any(), (&me.params, me.name()), args, registry)?;
    let name = repr.call1((source.specialization(py, &me.params)?,))?;
    let Ok(text) = name.cast::<PyString>() else {
        let (kernel, class) = (me.name(), name.get_type().name()?);
        return Err(PyTypeError::new_err(format!(
            "`repr` of kernel {kernel} gives its name as a str, not as {class}"
        )));
    };
    let text = text.to_cow()?;
    let last = text.rsplit('.').next().unwrap_or_default();
    if is_identifier(last) { Ok(Some(last.into())) } else { Err(invalid(function, last)) }
}

fn is_identifier(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

fn invalid(function: &Bound<'_, JitFunction>, name: &str) -> PyErr {
    let text = format!("invalid function identifier: {name}");
    let kernel = function.get().name();
    let help = format!("`repr` of kernel {kernel} gives names of ASCII letters, digits and underscores");
    of_class(function.py(), "CompilationError", |class| class.call1((format!("{text}\n{help}"),)))
}
