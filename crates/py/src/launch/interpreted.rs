//! Launches in the interpreter: Python runs the body of the kernel, so nothing is compiled for it.

use super::bind::BoundArgs;
use super::miss::{self, Wanted};
use super::prepare::Prepared;
use crate::compile::build;
use crate::devices::active::Active;
use crate::eager;
use crate::kernel::compiled::CompiledKernel;
use crate::kernel::describe;
use crate::kernel::function::JitFunction;
use crate::kernel::value::Registry;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use pyo3::sync::PyOnceLock;
use pyo3::types::PyAnyMethods;
use runtime::specialize::LaunchKey;
use std::sync::Arc;
use target::{CompileOptions, Grid, Target};

/// What a launch in the interpreter gives: the kernel that would have been compiled, which is compiled when something
/// of it is asked for.
#[pyclass(module = "deuteron.runtime.interpreter", frozen)]
pub(crate) struct InterpretedLaunch {
    function: Py<JitFunction>,
    key: LaunchKey,
    options: CompileOptions,
    target: Arc<dyn Target>,
    compiled: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl InterpretedLaunch {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let compiled = self.compiled.get_or_try_init(py, || self.compile(py))?;
        compiled.bind(py).getattr(name)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, grid: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let compiled = self.compiled.get_or_try_init(py, || self.compile(py))?;
        compiled.bind(py).get_item(grid)
    }
}

impl InterpretedLaunch {
    fn compile(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let function = self.function.bind(py);
        let me = function.get();
        let registry = Registry::default();
        let args = miss::specs(py, me, &self.key, &registry)?;
        let source = describe::source_of(function.as_any(), (&me.params, me.name()), &args, &registry)?;
        let source = Bound::new(py, source)?;
        let (kernel, _) =
            build::compile(function, args, self.options.clone(), Arc::clone(&self.target), registry)?;
        let compiled = Bound::new(py, CompiledKernel::new(kernel, source.unbind()))?;
        Ok(compiled.into_any().unbind())
    }
}

/// Runs every program of a grid.
pub(crate) fn launch<'py>(
    function: &Bound<'py, JitFunction>,
    active: &Active,
    bound: &BoundArgs<'_>,
    prepared: &Prepared,
    grid: Grid,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, me) = (function.py(), function.get());
    let key = &prepared.call.key;
    let options = miss::parse_options(py, &Wanted { function, active, bound, key })?;
    let registry = Registry::default();
    let specs = miss::specs(py, me, key, &registry)?;
    eager::launch(eager::Launched {
        function,
        target: active.context.target.as_ref(),
        options: &options,
        grid,
        specs: &specs,
        slots: &prepared.call.slots,
        values: (0..me.params.len()).map(|index| bound.value(py, index).to_owned()).collect(),
        registry,
    })?;
    let launched = InterpretedLaunch {
        function: function.clone().unbind(),
        key: key.clone(),
        options,
        target: Arc::clone(&active.context.target),
        compiled: PyOnceLock::new(),
    };
    Ok(Bound::new(py, launched)?.into_any())
}
