//! Knobs, targets and devices for Python.

use crate::active::Active;
use crate::compiled::arch_object;
use crate::errors::OrRaise;
use crate::variant::option_value;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{
    PyAnyMethods, PyBool, PyBoolMethods, PyDict, PyDictMethods, PyInt, PyString, PyStringMethods,
};
use runtime::knobs::{self, KnobValue};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::knobs::{KnobKind, KnobRow, KnobStanding};
use target::{OptionValue, Target};

fn object<'py>(py: Python<'py>, value: KnobValue) -> Bound<'py, PyAny> {
    match value {
        KnobValue::None => py.None().into_bound(py),
        KnobValue::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
        KnobValue::Int(number) => PyInt::new(py, number).into_any(),
        KnobValue::Text(text) => PyString::new(py, &text).into_any(),
    }
}

/// One row as Python gets it: group, name, kind, default, environment variables, documentation, and for a knob that is not
/// obeyed whether setting it is an error and why.
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

/// Backend, architecture and lanes per warp of the target in use.
#[pyfunction]
pub(crate) fn current_target(py: Python<'_>) -> PyResult<(String, Bound<'_, PyAny>, u32)> {
    let facts = Active::get(py)?.target.facts();
    Ok((facts.backend, arch_object(py, &facts.arch)?, facts.warp_size))
}

/// The names of the targets of this build.
#[pyfunction]
pub(crate) fn backends() -> Vec<String> {
    runtime::all_targets().iter().map(|target| target.facts().backend).collect()
}

/// A target by the tuple that Python has for it; the one in use for `None`.
pub(crate) fn target_of(py: Python<'_>, tuple: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<dyn Target>> {
    match tuple.filter(|tuple| !tuple.is_none()) {
        None => Ok(Arc::clone(&Active::get(py)?.target)),
        Some(tuple) => {
            let backend: String = tuple.get_item(0)?.extract()?;
            let arch = tuple.get_item(1)?;
            let arch = if arch.is_none() { None } else { Some(arch.str()?.to_string()) };
            runtime::target_of(&backend, arch.as_deref()).or_raise(py)
        }
    }
}

/// Options from a dictionary.
pub(crate) fn options_of(given: Option<&Bound<'_, PyDict>>) -> PyResult<BTreeMap<String, OptionValue>> {
    let mut all = BTreeMap::new();
    for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
        all.insert(name.extract()?, option_value(value.as_borrowed())?);
    }
    Ok(all)
}

/// The names that a launch on the target in use may give beside the parameters of the kernel.
#[pyfunction]
pub(crate) fn option_names(py: Python<'_>) -> PyResult<Vec<&'static str>> {
    let own = ["grid", "stream", "warmup"];
    Ok(runtime::options::names(Active::get(py)?.target.as_ref()).into_iter().chain(own).collect())
}

/// All options of a compile, those that were given and the defaults of the rest.
#[pyfunction]
#[pyo3(signature = (target=None, given=None))]
pub(crate) fn default_options<'py>(
    py: Python<'py>,
    target: Option<&Bound<'py, PyAny>>,
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let target = target_of(py, target)?;
    let options = runtime::options::parse(target.as_ref(), &options_of(given)?).or_raise(py)?;
    let all = PyDict::new(py);
    for (name, value) in &options.extra {
        match value {
            OptionValue::None => all.set_item(name, py.None())?,
            OptionValue::Bool(flag) => all.set_item(name, flag)?,
            OptionValue::Int(number) => all.set_item(name, number)?,
            OptionValue::Str(text) => all.set_item(name, text)?,
        }
    }
    all.set_item("num_warps", options.num_warps)?;
    all.set_item("num_stages", options.num_stages)?;
    all.set_item("num_ctas", options.num_ctas)?;
    all.set_item("enable_fp_fusion", options.enable_fp_fusion)?;
    all.set_item("debug", options.debug)?;
    all.set_item("sanitize_overflow", options.sanitize_overflow)?;
    let facts = target.facts();
    all.set_item("default_dot_input_precision", facts.default_dot_precision)?;
    all.set_item("allowed_dot_input_precisions", facts.allowed_dot_precisions)?;
    all.set_item("supported_fp8_dtypes", facts.fp8_dtypes)?;
    all.set_item("backend_name", facts.backend)?;
    all.set_item("arch", arch_object(py, &facts.arch)?)?;
    all.set_item("warp_size", facts.warp_size)?;
    Ok(all)
}
