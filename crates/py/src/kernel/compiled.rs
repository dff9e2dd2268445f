//! `CompiledKernel` as Python sees it.

use super::asm::Asm;
use super::grid::Grid;
use super::metadata::metadata;
use super::pack::Pack;
use super::report::{Report, report};
use super::source::KernelSource;
use super::{hooks, load, submit};
use crate::devices::place::Place;
use crate::errors::guard;
use frontend::ArgSpec;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAnyMethods, PyBytes, PyTuple, PyTupleMethods};
use runtime::compile::Kernel;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A compiled kernel.
#[pyclass(module = "deuteron.compiler", name = "CompiledKernel", frozen, weakref, dict)]
pub(crate) struct CompiledKernel {
    kernel: Arc<Kernel>,
    source: Py<KernelSource>,
    metadata: PyOnceLock<Py<PyAny>>,
    place: Place,
}

impl CompiledKernel {
    /// A kernel.
    pub(crate) fn new(kernel: Arc<Kernel>, source: Py<KernelSource>) -> CompiledKernel {
        let place = Place::of(kernel.target());
        CompiledKernel { kernel, source, metadata: PyOnceLock::new(), place }
    }

    /// The driver's handle of the loaded code, or a number for it where there is none.
    pub(crate) fn handle(&self, py: Python<'_>) -> PyResult<u64> {
        let handle = self.loaded(py)?.handle();
        Ok(if handle == 0 { Arc::as_ptr(&self.kernel) as u64 } else { handle })
    }

    /// The kernel on the current device.
    fn loaded(&self, py: Python<'_>) -> PyResult<&Arc<dyn target::LoadedKernel>> {
        let ordinal = self.place.site(py, None)?.ordinal;
        load::load(py, &self.kernel, ordinal)
    }

    /// What so many values are for: all parameters, those that are not annotated as constexprs, or those that are
    /// passed at run time.
    fn taken(&self, count: usize) -> PyResult<Vec<&ArgSpec>> {
        let source = self.source.get();
        if count == source.args.len() {
            return Ok(source.args.iter().collect());
        }
        let annotated = source.args.iter().zip(&source.annotated);
        let plain: Vec<_> = annotated.filter(|(_, annotated)| !**annotated).map(|(arg, _)| arg).collect();
        if count == plain.len() {
            return Ok(plain);
        }
        let passed: Vec<_> = source.args.iter().filter(|arg| !matches!(arg, ArgSpec::Constexpr(_))).collect();
        if count == passed.len() {
            return Ok(passed);
        }
        Err(PyTypeError::new_err(format!(
            "kernel {} takes {} arguments ({} without those annotated as constexpr, {} without all constants), and {count} were given",
            self.name(),
            source.args.len(),
            plain.len(),
            passed.len()
        )))
    }

    fn launch(
        &self,
        py: Python<'_>,
        grid: target::Grid,
        stream: Option<u64>,
        values: &[Bound<'_, PyAny>],
    ) -> PyResult<()> {
        let mut pack = Pack { slots: Vec::new(), keep: Vec::new(), place: &self.place };
        for (arg, value) in self.taken(values.len())?.into_iter().zip(values) {
            pack.arg(arg, value.as_borrowed())?;
        }
        let values = values.iter().map(Bound::as_borrowed);
        if self.kernel.target().checks_memory() {
            return submit::checked(py, &self.kernel, grid, &pack.slots, values);
        }
        let site = self.place.site(py, stream)?;
        guard(|| submit::launch(py, &self.kernel, grid, &pack.slots, site, values))
    }
}

#[pymethods]
impl CompiledKernel {
    /// The stages of the compile by name.
    #[getter]
    fn asm(&self, py: Python<'_>) -> Asm {
        Asm { kernel: Arc::clone(&self.kernel), source: self.source.clone_ref(py) }
    }

    /// All facts about the kernel, as attributes.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.metadata.get_or_try_init(py, || metadata(py, &self.kernel).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    /// The paths of its stages and of its metadata by file name; they are written to a folder of the cache.
    #[getter]
    fn metadata_group<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("deuteron.compiler._files")?.call_method1("files_of", (slf,))
    }

    /// The name of its symbol.
    #[getter]
    pub(crate) fn name(&self) -> &str {
        &self.kernel.artifact.name
    }

    #[getter]
    fn hash(&self) -> String {
        self.kernel.hash.to_string()
    }

    #[getter]
    fn src(&self, py: Python<'_>) -> Py<KernelSource> {
        self.source.clone_ref(py)
    }

    /// The bytes that the device loads.
    #[getter]
    fn kernel<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let bytes = self.kernel.artifact.stages.last().map_or(&[][..], |stage| &stage.bytes);
        PyBytes::new(py, bytes).into_any()
    }

    /// Whether it came from the cache on disk.
    #[getter(from_cache)]
    fn is_from_cache(&self) -> bool {
        self.kernel.from_cache
    }

    /// How long each step of the compile took, in milliseconds and in order; empty if it came from the cache.
    #[getter]
    fn times(&self) -> Vec<(&str, f64)> {
        let times = self.kernel.times.iter();
        times.map(|(step, elapsed)| (step.as_str(), elapsed.as_secs_f64() * 1e3)).collect()
    }

    /// Loads the kernel on the device, if that has not been done.
    fn _init_handles(&self, py: Python<'_>) -> PyResult<()> {
        self.loaded(py).map(drop)
    }

    #[getter]
    fn n_regs(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.loaded(py)?.n_regs().max(1))
    }

    #[getter]
    fn n_spills(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.loaded(py)?.n_spills())
    }

    #[getter]
    fn n_max_threads(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.loaded(py)?.n_max_threads())
    }

    #[getter]
    fn function(&self, py: Python<'_>) -> PyResult<u64> {
        self.handle(py)
    }

    #[getter]
    fn module(&self, py: Python<'_>) -> PyResult<u64> {
        self.function(py)
    }

    #[getter]
    fn packed_metadata(&self) -> (u32, u32, u64) {
        let kernel = &self.kernel;
        let num_warps =
            kernel.artifact.launch.device().map_or(kernel.options.num_warps, |facts| facts.num_warps);
        (num_warps, kernel.options.num_ctas, kernel.artifact.shared)
    }

    /// Launches with the arguments of the signature: `run(gx, gy, gz, stream, function, packed_metadata,
    /// launch_metadata, enter_hook, exit_hook, *args)`.
    #[pyo3(signature = (*args))]
    fn run(&self, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        const BEFORE_ARGS: usize = 9;
        let py = args.py();
        let all: Vec<Bound<'_, PyAny>> = args.iter().collect();
        let Some((before, values)) = all.split_at_checked(BEFORE_ARGS) else {
            return Err(PyTypeError::new_err(format!("run() takes at least {BEFORE_ARGS} arguments")));
        };
        let grid = Grid::read(&PyTuple::new(py, &before[..3])?.into_any())?;
        // A chain of hooks is false where there is none.
        let hook = |hook: &Bound<'_, PyAny>| {
            if !hook.is_none() && hook.is_truthy()? { hook.call1((&before[6],)).map(drop) } else { Ok(()) }
        };
        hook(&before[7])?;
        if let Grid::Fixed(grid) = grid {
            self.launch(py, grid, before[3].extract()?, values)?;
        }
        hook(&before[8])
    }

    /// What the hooks around a launch are handed; `None` where there is no hook.
    #[pyo3(signature = (grid, stream, *args))]
    fn launch_metadata<'py>(
        slf: &Bound<'py, Self>,
        grid: &Bound<'py, PyAny>,
        stream: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !hooks::any_launch() {
            return Ok(None);
        }
        let module = slf.py().import("deuteron.compiler.compiler")?;
        module.call_method1("launch_facts", (slf, grid, stream, args)).map(Some)
    }

    fn __getitem__(slf: &Bound<'_, Self>, grid: &Bound<'_, PyAny>) -> PyResult<Runner> {
        match Grid::read(grid)? {
            Grid::Fixed(grid) => Ok(Runner { kernel: slf.clone().unbind(), grid }),
            _ => Err(PyTypeError::new_err("the grid of a compiled kernel is a tuple of integers")),
        }
    }

    /// What each access, layout conversion and dot costs, and what bounds the kernel. `args` gives integer
    /// parameters values, `device` is a part of the name of the device whose limits count.
    #[pyo3(signature = (grid=None, args=None, device=None))]
    fn inspect(
        &self,
        py: Python<'_>,
        grid: Option<Vec<u32>>,
        args: Option<BTreeMap<String, i64>>,
        device: Option<String>,
    ) -> PyResult<Report> {
        let kernel = Arc::clone(&self.kernel);
        py.detach(move || {
            report(&kernel, grid.as_deref().unwrap_or_default(), args.unwrap_or_default(), device)
        })
    }

    fn __repr__(&self) -> String {
        format!("CompiledKernel({} for {}, {})", self.name(), self.kernel.facts.backend, &self.hash()[..12])
    }
}

/// A compiled kernel with a grid.
#[pyclass(module = "deuteron.compiler", name = "Runner", frozen)]
pub(crate) struct Runner {
    kernel: Py<CompiledKernel>,
    grid: target::Grid,
}

#[pymethods]
impl Runner {
    #[pyo3(signature = (*args, stream=None))]
    fn __call__(&self, args: &Bound<'_, PyTuple>, stream: Option<u64>) -> PyResult<()> {
        let values: Vec<Bound<'_, PyAny>> = args.iter().collect();
        self.kernel.get().launch(args.py(), self.grid, stream, &values)
    }
}
