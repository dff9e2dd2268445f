//! Options of a compile and architectures: from Python objects and back.

use crate::errors::OrRaise;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult, Python};
use pyo3::types::{
    PyAnyMethods, PyBool, PyBoolMethods, PyDict, PyDictMethods, PyInt, PyString, PyStringMethods,
};
use std::collections::BTreeMap;
use target::{CompileOptions, OptionValue, Target};

/// The value of an option. What is no number and no text stands as it prints.
pub(crate) fn option_value(value: Borrowed<'_, '_, PyAny>) -> PyResult<OptionValue> {
    if value.is_none() {
        return Ok(OptionValue::None);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(OptionValue::Bool(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(OptionValue::Int(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(OptionValue::Str(text.to_cow()?.into_owned()));
    }
    // The only option that is a dictionary is `extern_libs`.
    if let Ok(libraries) = value.cast::<PyDict>() {
        for name in libraries.iter().filter_map(|(name, _)| name.extract::<String>().ok()) {
            runtime::knobs::library_not_linked(&name);
        }
    }
    // `tl.constexpr` values come here through parameters that are options as well.
    if let Some(inner) = value.getattr_opt("value")? {
        return option_value(inner.as_borrowed());
    }
    Ok(OptionValue::Str(value.repr()?.to_string()))
}

/// Options from a dictionary.
pub(crate) fn options_of(given: Option<&Bound<'_, PyDict>>) -> PyResult<BTreeMap<String, OptionValue>> {
    let mut all = BTreeMap::new();
    for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
        all.insert(name.extract()?, option_value(value.as_borrowed())?);
    }
    Ok(all)
}

/// Options of a compile ahead of time from a dictionary. Names that are no options of the target are left out, and so
/// is the architecture that the target has anyway, as callers hand over all that `parse_options` gave, or options of
/// another target.
pub(crate) fn compile_options(
    py: Python<'_>,
    target: &dyn Target,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<CompileOptions> {
    let known = runtime::options::names(target);
    let mut given = options_of(given)?;
    let arch = target.facts().arch;
    let says_nothing = |name: &str, value: &OptionValue| match value {
        OptionValue::Str(text) => name == "arch" && *text == arch,
        OptionValue::Int(number) => name == "arch" && number.to_string() == arch,
        _ => false,
    };
    given.retain(|name, value| known.contains(&name.as_str()) && !says_nothing(name, value));
    runtime::options::parse(target, &given).or_raise(py)
}

/// The Python object of an option's value.
pub(crate) fn option_object<'py>(py: Python<'py>, value: &OptionValue) -> Bound<'py, PyAny> {
    match value {
        OptionValue::None => py.None().into_bound(py),
        OptionValue::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        OptionValue::Int(number) => PyInt::new(py, *number).into_any(),
        OptionValue::Str(text) => PyString::new(py, text).into_any(),
    }
}

/// An architecture as Python has it: a number where it is one.
pub(crate) fn arch_object<'py>(py: Python<'py>, arch: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(match arch.parse::<u32>() {
        Ok(number) => PyInt::new(py, number).into_any(),
        Err(_) => PyString::new(py, arch).into_any(),
    })
}
