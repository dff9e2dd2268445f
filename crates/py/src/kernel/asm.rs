//! The stages of a compiled kernel: a mapping from name to text or bytes.

use super::library;
use super::source::KernelSource;
use crate::errors::OrRaise;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use pyo3::types::{PyAnyMethods, PyBytes, PyList, PyString};
use runtime::compile::Kernel;
use std::sync::Arc;

/// The stages of a kernel: a mapping from name to text or bytes.
#[pyclass(module = "deuteron.compiler", name = "Asm", frozen, mapping)]
pub(crate) struct Asm {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) source: Py<KernelSource>,
}

/// A stage of every target of Triton's. Programs that read it and run on any device find it empty where there is none.
const LAYOUTS: &str = "ttgir";

impl Asm {
    fn object<'py>(py: Python<'py>, stage: &target::Stage) -> Bound<'py, PyAny> {
        match std::str::from_utf8(&stage.bytes) {
            Ok(text) if stage.text => PyString::new(py, text).into_any(),
            _ => PyBytes::new(py, &stage.bytes).into_any(),
        }
    }

    /// A stage that there is; the assembly is made here, without the lock of Python.
    fn stage<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if library::is_one(&self.kernel, name) {
            return library::library(py, &self.kernel, self.source.get(), name);
        }
        let stage = py.detach(|| self.kernel.stage(name)).or_raise(py)?;
        Ok(Asm::object(py, stage))
    }
}

#[pymethods]
impl Asm {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if !self.__contains__(name) {
            if name == LAYOUTS {
                return Ok(PyString::new(py, "").into_any());
            }
            let names = self.kernel.stage_names().join(", ");
            return Err(PyKeyError::new_err(format!("there is no stage `{name}`; there are {names}")));
        }
        self.stage(py, name)
    }

    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.__contains__(name) { self.stage(py, name).map(Some) } else { Ok(default) }
    }

    fn __contains__(&self, name: &str) -> bool {
        self.kernel.stage_names().contains(&name) || library::is_one(&self.kernel, name)
    }

    fn __len__(&self) -> usize {
        self.kernel.stage_names().len()
    }

    fn keys(&self) -> Vec<&str> {
        self.kernel.stage_names()
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.keys().into_iter().map(|name| self.stage(py, name)).collect()
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyAny>)>> {
        self.keys().into_iter().map(|name| Ok((name, self.stage(py, name)?))).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys())?.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("Asm({})", self.keys().join(", "))
    }
}
