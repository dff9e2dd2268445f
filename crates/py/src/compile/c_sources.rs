//! Kernels as sources in C: `triton.tools.compile` and `triton.tools.link`.

use super::build;
use crate::devices::options::options_of;
use crate::devices::targets::target_of;
use crate::errors::{OrRaise, guard};
use crate::kernel::function::JitFunction;
use crate::kernel::value::Registry;
use frontend::ArgSpec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{PyDict, PyDictMethods};
use runtime::c_sources::{Request, link, sources};
use target::{HostCode, Target};

/// Compiles a function for a signature as text. The function in C, what stands in the names of its files, the code and
/// the header.
#[pyfunction]
#[pyo3(signature = (function, signature, grid, name, num_warps, num_stages, target=None))]
pub(crate) fn c_sources(
    function: &Bound<'_, JitFunction>,
    signature: &str,
    grid: [String; 3],
    name: &str,
    num_warps: u32,
    num_stages: u32,
    target: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String, String, String)> {
    let py = function.py();
    let target = target_of(py, target)?;
    let host = host_code(target.as_ref())?;
    let given = PyDict::new(py);
    given.set_item("num_warps", num_warps)?;
    given.set_item("num_stages", num_stages)?;
    let options = runtime::options::parse(target.as_ref(), &options_of(Some(&given))?).or_raise(py)?;
    let args: Vec<ArgSpec> = frontend::signature::parse(signature).map_err(PyValueError::new_err)?;
    let params =
        function.get().params.iter().map(|param| param.name.bind(py).to_string()).collect::<Vec<_>>();
    if args.len() != params.len() {
        let (given, has) = (args.len(), params.len());
        return Err(PyValueError::new_err(format!("the signature has {given} entries for {has} parameters")));
    }
    let backend = target.facts().backend;
    let (kernel, _) = guard(|| build::compile(function, args, options, target, Registry::default()))?;
    let [x, y, z] = &grid;
    let request = Request {
        name,
        signature: signature.split(',').map(str::trim).collect(),
        params: params.iter().map(String::as_str).collect(),
        grid: [x.trim(), y.trim(), z.trim()],
        options: &format!("warps{num_warps}xstages{num_stages}"),
    };
    let made = sources(&kernel.artifact, host, &backend, &request).or_raise(py)?;
    Ok((made.function, made.suffix, made.source, made.header))
}

/// A kernel of a header: its name, what it was compiled with, its hash and hints, types and names of its parameters,
/// and what it assumes of each.
type Described = (String, String, String, String, Vec<(String, String)>, Vec<Option<u32>>);

/// What a header describes: the target, if it says so, and the kernels.
#[pyfunction]
pub(crate) fn c_header(py: Python<'_>, header: &str) -> PyResult<(Option<String>, Vec<Described>)> {
    let (backend, kernels) = link::read_one(header).or_raise(py)?;
    let described = kernels.into_iter().map(|kernel| {
        let sizes = kernel.sizes();
        (kernel.base, kernel.algorithm, kernel.hash, kernel.hints, kernel.params, sizes)
    });
    Ok((backend, described.collect()))
}

/// The header and the source that choose among kernels whose headers are given.
#[pyfunction]
pub(crate) fn c_link(py: Python<'_>, headers: Vec<String>) -> PyResult<(String, String)> {
    let (backend, kernels) = link::read(&headers).or_raise(py)?;
    let target = runtime::all_targets().iter().find(|target| target.facts().backend == backend);
    let target = target.ok_or_else(|| {
        PyValueError::new_err(format!("the headers are for `{backend}`, which is not in this build"))
    })?;
    link::link(&kernels, host_code(target.as_ref())?).or_raise(py)
}

fn host_code(target: &dyn Target) -> PyResult<HostCode> {
    let backend = target.facts().backend;
    target.host_code().ok_or_else(|| {
        PyValueError::new_err(format!("kernels for `{backend}` are not launched from C; name a GPU's target"))
    })
}
