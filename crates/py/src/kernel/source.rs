//! What a kernel was compiled from, as Python sees it.

use super::params::Param;
use frontend::ArgSpec;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyclass};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
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
    /// Whether each parameter is annotated as a constexpr.
    pub(crate) annotated: Vec<bool>,
}

impl KernelSource {
    /// What a kernel's `repr` is called with: types by name, and by name the constants that are parameters.
    pub(crate) fn specialization<'py>(
        &self,
        py: Python<'py>,
        params: &[Param],
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = PyDict::new(py);
        for (index, param) in params.iter().enumerate() {
            if let Some(value) = self.constants.bind(py).get_item((index,))? {
                named.set_item(param.name.bind(py), value)?;
            }
        }
        let parts = PyDict::new(py);
        parts.set_item("constants", named)?;
        parts.set_item("signature", &self.signature)?;
        parts.set_item("fn", &self.r#fn)?;
        py.import("types")?.getattr("SimpleNamespace")?.call((), Some(&parts))
    }

    /// The source of a kernel that was read as ttir.
    pub(crate) fn of_ir(py: Python<'_>, kernel: &Kernel) -> KernelSource {
        let kinds = kernel.artifact.params.iter().map(|param| runtime::specialize::spec_of_kind(param.kind));
        let args: Vec<ArgSpec> = kinds.collect();
        KernelSource {
            r#fn: None,
            signature: PyDict::new(py).unbind(),
            constants: PyDict::new(py).unbind(),
            attrs: PyDict::new(py).unbind(),
            name: kernel.artifact.name.clone(),
            annotated: vec![false; args.len()],
            args,
        }
    }
}
