//! The hooks around a launch.

use super::bind::BoundArgs;
use crate::kernel::function::JitFunction;
use crate::kernel::hooks::hook;
use crate::kernel::variant::Variant;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods, PyTuple};
use runtime::launch::Site;

/// One launch as its hooks see it.
pub(crate) struct LaunchCall {
    metadata: Py<PyAny>,
}

impl LaunchCall {
    pub(crate) fn new(
        function: &Bound<'_, JitFunction>,
        variant: &Variant,
        bound: &BoundArgs<'_>,
        grid: target::Grid,
        site: Site,
    ) -> PyResult<LaunchCall> {
        let py = function.py();
        let facts = PyDict::new(py);
        facts.set_item("name", variant.compiled.get().name())?;
        facts.set_item("function", variant.compiled.get().handle(py)?)?;
        facts.set_item("stream", site.stream)?;
        let lazy = py.import("deuteron.compiler.compiler")?.getattr("LazyDict")?.call1((facts,))?;
        if let Some(extra) = function.get().launch_metadata.get(py) {
            let args = bound.to_dict(py, function.get())?;
            let metadata = variant.compiled.bind(py).getattr("metadata")?;
            let args = PyTuple::new(py, [PyTuple::new(py, grid)?.into_any(), metadata, args.into_any()])?;
            lazy.call_method1("add", (extra, args))?;
        }
        Ok(LaunchCall { metadata: lazy.unbind() })
    }

    pub(crate) fn enter(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, "launch_enter")
    }

    pub(crate) fn exit(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, "launch_exit")
    }

    fn call(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        match hook(py, name) {
            Some(hook) => hook.call1(py, (self.metadata.bind(py),)).map(drop),
            None => Ok(()),
        }
    }
}
