//! A compiled kernel as bytes: a process compiles, another loads and launches.

use super::compiled::CompiledKernel;
use super::function::JitFunction;
use super::source::KernelSource;
use crate::arguments::nesting;
use crate::errors::OrRaise;
use frontend::{ArgSpec, PyValue};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use pyo3::types::{
    PyAnyMethods, PyBytes, PyDict, PyDictMethods, PyListMethods, PyString, PyStringMethods, PyTuple,
    PyTupleMethods,
};
use runtime::cache::Key;
use runtime::compile::Kernel;
use std::sync::Arc;

/// What a `CompiledKernel` is made from. It can be pickled, and the kernel that it gives is not loaded on any device
/// yet.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct KernelState {
    kernel: Arc<Kernel>,
    source: Py<KernelSource>,
}

impl KernelState {
    /// The state of a kernel.
    pub(crate) fn new(kernel: Arc<Kernel>, source: Py<KernelSource>) -> KernelState {
        KernelState { kernel, source }
    }
}

#[pymethods]
impl KernelState {
    /// Reads what [`KernelState::__reduce__`] wrote.
    #[new]
    #[pyo3(signature = (payload, hash, function, signature, constants, attrs, name))]
    #[allow(clippy::too_many_arguments)] // One for each part of the state.
    fn read(
        py: Python<'_>,
        payload: &[u8],
        hash: &str,
        function: Option<Py<PyAny>>,
        signature: Bound<'_, PyDict>,
        constants: Py<PyDict>,
        attrs: Py<PyDict>,
        name: String,
    ) -> PyResult<KernelState> {
        let damaged = || PyValueError::new_err("the kernel was compiled by another version of Deuteron");
        let hash = Key::parse(hash).ok_or_else(damaged)?;
        let kernel = runtime::compile::cached(payload, hash).ok_or_else(damaged)?.or_raise(py)?;
        let args = signature.values().iter().map(|ty| spec(&ty)).collect::<PyResult<Vec<_>>>()?;
        let annotated = annotated(function.as_ref().map(|function| function.bind(py)), &args);
        let source = KernelSource {
            r#fn: function,
            signature: signature.unbind(),
            constants,
            attrs,
            name,
            args,
            annotated,
        };
        Ok(KernelState { kernel: Arc::new(kernel), source: Py::new(py, source)? })
    }

    /// The kernel.
    fn kernel(&self, py: Python<'_>) -> PyResult<Py<CompiledKernel>> {
        let source = self.source.clone_ref(py);
        Py::new(py, CompiledKernel::new(Arc::clone(&self.kernel), source))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, me) = (slf.py(), slf.get());
        let source = me.source.get();
        let payload = PyBytes::new(py, &runtime::compile::payload(&me.kernel));
        let function = source.r#fn.as_ref().map(|function| function.clone_ref(py));
        let parts = (
            payload,
            me.kernel.hash.to_string(),
            function,
            source.signature.bind(py),
            source.constants.bind(py),
            source.attrs.bind(py),
            &source.name,
        );
        Ok((slf.get_type().into_any(), pyo3::IntoPyObject::into_pyobject(parts, py)?))
    }
}

/// Whether each parameter is annotated as a constexpr; without the function, whether it was compiled as one.
fn annotated(function: Option<&Bound<'_, PyAny>>, args: &[ArgSpec]) -> Vec<bool> {
    match function.and_then(|function| function.cast::<JitFunction>().ok()) {
        Some(function) => function.get().params.iter().map(|param| param.rules.constexpr).collect(),
        None => args.iter().map(|arg| matches!(arg, ArgSpec::Constexpr(_))).collect(),
    }
}

/// What a launch takes for a type of the signature; the values of constexprs are in the code already.
fn spec(ty: &Bound<'_, PyAny>) -> PyResult<ArgSpec> {
    if let Ok(items) = ty.cast::<PyTuple>() {
        let _level = nesting::enter()?;
        let items = items.iter().map(|item| spec(&item)).collect::<PyResult<_>>()?;
        return Ok(ArgSpec::Tuple { items, fields: None });
    }
    let text = ty.cast::<PyString>()?.to_cow()?;
    if text == "constexpr" {
        return Ok(ArgSpec::Constexpr(PyValue::None));
    }
    if frontend::signature::is_descriptor(&text) {
        let spec = frontend::signature::parse_descriptor(&text).map_err(PyValueError::new_err)?;
        return Ok(ArgSpec::Descriptor(spec));
    }
    let ty = frontend::signature::parse_type(&text)
        .ok_or_else(|| PyValueError::new_err(format!("`{text}` is no type of an argument")))?;
    Ok(ArgSpec::runtime(ty))
}
