//! Knobs for Python.

use crate::errors::OrRaise;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{
    PyAnyMethods, PyBool, PyBoolMethods, PyDict, PyDictMethods, PyInt, PyString, PyStringMethods,
};
use runtime::knobs::{self, KnobValue};
use std::sync::Arc;
use target::Target;
use target::knobs::{KnobKind, KnobRow, KnobStanding};

fn object<'py>(py: Python<'py>, value: KnobValue) -> Bound<'py, PyAny> {
    match value {
        KnobValue::None => py.None().into_bound(py),
        KnobValue::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
        KnobValue::Int(number) => PyInt::new(py, number).into_any(),
        KnobValue::Text(text) => PyString::new(py, &text).into_any(),
    }
}

/// One row as Python gets it: group, name, kind, default, environment variables, documentation, and for a knob that is
/// not obeyed whether setting it is an error and why.
type Row<'py> = (
    &'static str,
    &'static str,
    &'static str,
    Bound<'py, PyAny>,
    &'static [&'static str],
    &'static str,
    Option<(bool, &'static str)>,
);

/// Every knob.
#[pyfunction]
pub(crate) fn knob_table(py: Python<'_>) -> Vec<Row<'_>> {
    let row = |row: &&'static KnobRow| {
        let kind = match row.kind {
            KnobKind::Flag => "bool",
            KnobKind::OptFlag => "opt_bool",
            KnobKind::Number => "int",
            KnobKind::Text => "str",
            KnobKind::Path => "path",
            KnobKind::OptText | KnobKind::FlagOrText => "opt_str",
            KnobKind::Tool => "tool",
            KnobKind::Object => "object",
        };
        let is_error = !matches!(row.standing, KnobStanding::Idle(_));
        let standing = row.standing.reason().map(|reason| (is_error, reason));
        (row.group, row.name, kind, object(py, knobs::default_of(row)), row.env, row.doc, standing)
    };
    knobs::rows().iter().map(row).collect()
}

/// The value of a knob; where `unset`, as if code had set none.
#[pyfunction]
#[pyo3(signature = (group, name, unset=false))]
pub(crate) fn knob_get<'py>(
    py: Python<'py>,
    group: &str,
    name: &str,
    unset: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let row = knobs::find(group, name).or_raise(py)?;
    let value = if unset { knobs::unset_value(row) } else { knobs::get(row) };
    Ok(object(py, value.or_raise(py)?))
}

/// Sets a knob.
#[pyfunction]
pub(crate) fn knob_set(py: Python<'_>, group: &str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let row = knobs::find(group, name).or_raise(py)?;
    let value = if value.is_none() {
        KnobValue::None
    } else if let Ok(flag) = value.cast::<PyBool>() {
        KnobValue::Bool(flag.is_true())
    } else if value.is_instance_of::<PyInt>() {
        KnobValue::Int(value.extract()?)
    } else {
        // A path may be an object of `pathlib`.
        let text = py.import("os")?.getattr("fspath")?.call1((value,))?;
        KnobValue::Text(
            text.cast::<PyString>()
                .map_err(|_| PyTypeError::new_err("a knob is a number or a text"))?
                .to_cow()?
                .into_owned(),
        )
    };
    knobs::set(row, value).or_raise(py)
}

/// Gives a knob back to the environment and the default.
#[pyfunction]
pub(crate) fn knob_reset(py: Python<'_>, group: &str, name: &str) -> PyResult<()> {
    knobs::reset(knobs::find(group, name).or_raise(py)?);
    Ok(())
}

/// The knobs of a group that were set, with their values.
#[pyfunction]
pub(crate) fn knob_overrides<'py>(py: Python<'py>, group: &str) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for row in knobs::rows().iter().filter(|row| row.group == group) {
        if let Some(value) = knobs::overridden(row) {
            all.set_item(row.name, object(py, value))?;
        }
    }
    Ok(all)
}

/// The program that a knob names, or that is found in its place: path and release.
#[pyfunction]
pub(crate) fn knob_tool(py: Python<'_>, group: &str, name: &str) -> PyResult<(String, String)> {
    let row = knobs::find(group, name).or_raise(py)?;
    let has_row = |target: &&Arc<dyn Target>| target.knobs().iter().any(|own| std::ptr::eq(own, row));
    let found = match runtime::all_targets().iter().find(has_row) {
        Some(target) => target.find_tool(name).map_err(|error| error.to_string()),
        None => Err(format!("no target knows the program `{name}`")),
    };
    let found = found.map_err(PyRuntimeError::new_err)?;
    Ok((found.path, found.version))
}

/// Reads again what is kept from the environment.
#[pyfunction]
pub(crate) fn refresh_knobs() {
    knobs::refresh();
}
