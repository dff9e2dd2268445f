//! What a kernel was compiled from, as Python sees it.

use frontend::ArgSpec;
use pyo3::prelude::{Py, PyAny, Python, pyclass};
use pyo3::types::PyDict;
use runtime::compile::Kernel;

/// What a kernel was compiled from: its function and the types or values of its parameters.
#[pyclass(module = "deuteron.compiler", name = "KernelSource", frozen)]
pub(crate) struct KernelSource {
    #[pyo3(get)]
    pub(crate) r#fn: Option<Py<PyAny>>,
    /// From parameter to type, `constexpr` or a tuple of these.
    #[pyo3(get)]
    pub(crate) signature: Py<PyDict>,
    /// From position to value.
    #[pyo3(get)]
    pub(crate) constants: Py<PyDict>,
    /// From position to attributes.
    #[pyo3(get)]
    pub(crate) attrs: Py<PyDict>,
    #[pyo3(get)]
    pub(crate) name: String,
    pub(crate) args: Vec<ArgSpec>,
}

impl KernelSource {
    /// The source of a kernel that was read as ttir.
    pub(crate) fn of_ir(py: Python<'_>, kernel: &Kernel) -> KernelSource {
        let kinds = kernel.artifact.params.iter().map(|param| runtime::specialize::spec_of_kind(param.kind));
        KernelSource {
            r#fn: None,
            signature: PyDict::new(py).unbind(),
            constants: PyDict::new(py).unbind(),
            attrs: PyDict::new(py).unbind(),
            name: kernel.artifact.name.clone(),
            args: kinds.collect(),
        }
    }
}
