//! Targets for Python: the one in use, those of this build, and the options that they take.

use super::active::Active;
use super::options::{arch_object, option_object, options_of};
use crate::errors::OrRaise;
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use std::sync::Arc;
use target::Target;

/// Backend, architecture and lanes per warp of the target in use.
#[pyfunction]
pub(crate) fn current_target(py: Python<'_>) -> PyResult<(String, Bound<'_, PyAny>, u32)> {
    let facts = Active::get(py)?.context.target.facts();
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
        None => Ok(Arc::clone(&Active::get(py)?.context.target)),
        Some(tuple) => {
            let backend: String = tuple.get_item(0)?.extract()?;
            let arch = tuple.get_item(1)?;
            let arch = if arch.is_none() { None } else { Some(arch.str()?.to_string()) };
            runtime::target_of(&backend, arch.as_deref()).or_raise(py)
        }
    }
}

/// The names that a launch on the target in use may give beside the parameters of the kernel.
#[pyfunction]
pub(crate) fn option_names(py: Python<'_>) -> PyResult<Vec<&'static str>> {
    let own = ["grid", "stream", "warmup"];
    Ok(runtime::options::names(Active::get(py)?.context.target.as_ref()).into_iter().chain(own).collect())
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
    let given = options_of(given)?;
    let options = runtime::options::parse(target.as_ref(), &given).or_raise(py)?;
    let all = PyDict::new(py);
    for (name, value) in runtime::options::without_effect(target.as_ref(), &given) {
        all.set_item(name, option_object(py, value))?;
    }
    for (name, value) in &options.extra {
        all.set_item(name, option_object(py, value))?;
    }
    all.set_item("num_warps", options.num_warps)?;
    all.set_item("num_stages", options.num_stages)?;
    all.set_item("num_ctas", options.num_ctas)?;
    all.set_item("enable_fp_fusion", options.enable_fp_fusion)?;
    all.set_item("debug", options.debug)?;
    all.set_item("sanitize_overflow", options.sanitize_overflow)?;
    let facts = target.facts();
    let usual = runtime::options::usual_dot_precision(&facts, &runtime::knobs::Settings::current());
    if !all.contains(runtime::options::DOT_PRECISION)? {
        all.set_item(runtime::options::DOT_PRECISION, usual)?;
    }
    all.set_item("allowed_dot_input_precisions", facts.allowed_dot_precisions)?;
    all.set_item("supported_fp8_dtypes", facts.fp8_dtypes)?;
    all.set_item("backend_name", facts.backend)?;
    all.set_item("arch", arch_object(py, &facts.arch)?)?;
    all.set_item("warp_size", facts.warp_size)?;
    Ok(all)
}
