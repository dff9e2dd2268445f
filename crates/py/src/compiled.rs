//! `CompiledKernel` as Python sees it.

use crate::argument::{self, Kind};
use crate::descriptor;
use crate::errors::{OrRaise, guard};
use crate::function::JitFunction;
use crate::inspect::{Report, report};
use crate::launch::{self, Grid};
use crate::place::Place;
use crate::value::Registry;
use frontend::{ArgSpec, PyValue};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyAnyMethods, PyBytes, PyDict, PyDictMethods, PyInt, PyList, PyString, PyTuple, PyTupleMethods,
};
use runtime::compile::Kernel;
use runtime::specialize::{LaunchKey, ParamRules};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::OptionValue;

/// What a kernel was compiled from: its function and the types or values of its parameters.
#[pyclass(module = "deuteron.compiler", name = "KernelSource", frozen)]
pub(crate) struct KernelSource {
    #[pyo3(get)]
    r#fn: Option<Py<JitFunction>>,
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
    name: String,
    args: Vec<ArgSpec>,
}

impl KernelSource {
    /// The source of a compiled function.
    pub(crate) fn new(
        function: &Bound<'_, JitFunction>,
        args: &[ArgSpec],
        registry: &Registry,
    ) -> PyResult<KernelSource> {
        let py = function.py();
        let (signature, constants, attrs) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        let mut describe = Describe { constants: &constants, attrs: &attrs, registry };
        for (index, (param, arg)) in function.get().params.iter().zip(args).enumerate() {
            let text = describe.arg(arg, PyTuple::new(py, [index])?)?;
            signature.set_item(param.name.bind(py), text)?;
        }
        Ok(KernelSource {
            r#fn: Some(function.clone().unbind()),
            signature: signature.unbind(),
            constants: constants.unbind(),
            attrs: attrs.unbind(),
            name: function.get().name().to_owned(),
            args: args.to_vec(),
        })
    }

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

struct Describe<'a, 'py> {
    constants: &'a Bound<'py, PyDict>,
    attrs: &'a Bound<'py, PyDict>,
    registry: &'a Registry,
}

impl<'py> Describe<'_, 'py> {
    /// Notes of an argument whether it is divisible by 16.
    fn divisible(&self, path: Bound<'py, PyTuple>, is_divisible: bool) -> PyResult<()> {
        let py = path.py();
        if is_divisible {
            let attr = PyList::new(
                py,
                [PyString::new(py, "tt.divisibility").into_any(), PyInt::new(py, 16).into_any()],
            )?;
            self.attrs.set_item(path, PyList::new(py, [attr])?)?;
        }
        Ok(())
    }

    fn arg(&mut self, arg: &ArgSpec, path: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = path.py();
        match arg {
            ArgSpec::Constexpr(value) => {
                self.constants.set_item(path, self.registry.to_python(py, value)?)?;
                Ok(PyString::new(py, "constexpr").into_any())
            }
            ArgSpec::Descriptor(spec) => {
                self.divisible(path, spec.divisible_by_16)?;
                Ok(PyString::new(py, &frontend::signature::descriptor_text(spec)).into_any())
            }
            ArgSpec::Runtime { ty, divisible_by_16 } => {
                self.divisible(path, *divisible_by_16)?;
                Ok(PyString::new(py, &frontend::signature::type_text(*ty)).into_any())
            }
            ArgSpec::Tuple { items, .. } => {
                let mut texts = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let inner: Vec<_> = path.iter().chain([PyInt::new(py, index).into_any()]).collect();
                    let inner = PyTuple::new(py, inner)?;
                    texts.push(self.arg(item, inner)?);
                }
                Ok(PyTuple::new(py, texts)?.into_any())
            }
        }
    }
}

/// A compiled kernel.
#[pyclass(module = "deuteron.compiler", name = "CompiledKernel", frozen, weakref, dict)]
pub(crate) struct CompiledKernel {
    kernel: Arc<Kernel>,
    source: Py<KernelSource>,
    name: String,
    metadata: PyOnceLock<Py<PyAny>>,
    place: Place,
}

impl CompiledKernel {
    /// A kernel under the name that `@jit(repr=…)` gives it, else under that of its symbol.
    pub(crate) fn new(kernel: Arc<Kernel>, source: Py<KernelSource>, name: Option<String>) -> CompiledKernel {
        let name = name.unwrap_or_else(|| kernel.artifact.name.clone());
        let place = Place::of(kernel.target());
        CompiledKernel { kernel, source, name, metadata: PyOnceLock::new(), place }
    }

    /// The driver's handle of the loaded code, or a number for it where there is none.
    pub(crate) fn handle(&self, py: Python<'_>) -> PyResult<u64> {
        let handle = self.loaded(py)?.handle();
        Ok(if handle == 0 { Arc::as_ptr(&self.kernel) as u64 } else { handle })
    }

    /// The kernel on the current device.
    fn loaded(&self, py: Python<'_>) -> PyResult<&Arc<dyn target::LoadedKernel>> {
        let ordinal = self.place.spot(py, None)?.ordinal;
        py.detach(|| self.kernel.load_on(ordinal)).or_raise(py)
    }

    fn launch(
        &self,
        py: Python<'_>,
        grid: target::Grid,
        stream: Option<u64>,
        values: &[Bound<'_, PyAny>],
    ) -> PyResult<()> {
        let args = &self.source.get().args;
        let runtime_only = args.iter().filter(|arg| !matches!(arg, ArgSpec::Constexpr(_)));
        let mut pack = Pack { slots: Vec::new(), keep: Vec::new(), place: &self.place };
        if values.len() == args.len() {
            args.iter().zip(values).try_for_each(|(arg, value)| pack.arg(arg, value.as_borrowed()))?;
        } else if values.len() == runtime_only.clone().count() {
            runtime_only.zip(values).try_for_each(|(arg, value)| pack.arg(arg, value.as_borrowed()))?;
        } else {
            return Err(PyTypeError::new_err(format!(
                "kernel {} takes {} arguments ({} without the constexprs), and {} were given",
                self.name,
                args.len(),
                runtime_only.count(),
                values.len()
            )));
        }
        if self.kernel.target().checks_memory() {
            let values = values.iter().map(Bound::as_borrowed);
            return launch::checked(py, &self.kernel, grid, &pack.slots, values);
        }
        let spot = self.place.spot(py, stream)?;
        guard(|| launch::launch(py, &self.kernel, grid, &pack.slots, spot))
    }
}

/// Values as slots for a kernel whose types are fixed already.
struct Pack<'a> {
    slots: Vec<u64>,
    keep: Vec<Py<PyAny>>,
    place: &'a Place,
}

impl Pack<'_> {
    fn arg(&mut self, arg: &ArgSpec, value: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
        match arg {
            ArgSpec::Constexpr(_) => Ok(()),
            ArgSpec::Runtime { ty, .. } => {
                let kind = argument::kind_of(value)?;
                let argument = argument::read(value, kind, self.place, &mut self.keep)?.ok_or_else(|| {
                    PyTypeError::new_err(format!("a kernel cannot be given a {}", value.get_type()))
                })?;
                let rules = ParamRules { fixed: Some(*ty), ..ParamRules::default() };
                self.slots.extend(rules.apply(argument, &mut LaunchKey::new()).or_raise(value.py())?);
                Ok(())
            }
            ArgSpec::Descriptor(spec) => {
                if argument::kind_of(value)? != Kind::Descriptor {
                    let wanted = frontend::signature::descriptor_text(spec);
                    let text = format!("a {} is given where the kernel takes a {wanted}", value.get_type());
                    return Err(PyTypeError::new_err(text));
                }
                let tensor = descriptor::read(value, self.place, &mut self.keep)?;
                tensor.fits(spec).or_raise(value.py())?;
                self.slots.extend(tensor.slots());
                Ok(())
            }
            ArgSpec::Tuple { items, .. } => {
                let values = value.cast::<PyTuple>()?;
                if values.len() != items.len() {
                    return Err(PyTypeError::new_err(format!(
                        "a tuple of {} values is expected",
                        items.len()
                    )));
                }
                items.iter().zip(values.iter_borrowed()).try_for_each(|(item, value)| self.arg(item, value))
            }
        }
    }
}

#[pymethods]
impl CompiledKernel {
    /// The stages of the compile by name.
    #[getter]
    fn asm(&self) -> Asm {
        Asm { kernel: Arc::clone(&self.kernel) }
    }

    /// All facts about the kernel, as attributes.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self
            .metadata
            .get_or_try_init(py, || metadata(py, &self.kernel, &self.name).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    #[getter]
    pub(crate) fn name(&self) -> &str {
        &self.name
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
        (self.kernel.options.num_warps, self.kernel.options.num_ctas, self.kernel.artifact.shared)
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
        let hook = |hook: &Bound<'_, PyAny>| {
            if hook.is_callable() { hook.call1((&before[6],)).map(drop) } else { Ok(()) }
        };
        hook(&before[7])?;
        if let Grid::Fixed(grid) = grid {
            self.launch(py, grid, before[3].extract()?, values)?;
        }
        hook(&before[8])
    }

    fn __getitem__(slf: &Bound<'_, Self>, grid: &Bound<'_, PyAny>) -> PyResult<Runner> {
        match Grid::read(grid)? {
            Grid::Fixed(grid) => Ok(Runner { kernel: slf.clone().unbind(), grid }),
            _ => Err(PyTypeError::new_err("the grid of a compiled kernel is a tuple of integers")),
        }
    }

    /// What each access, change of layout and product costs, and what bounds the kernel. `args` gives integer parameters values,
    /// `device` is a part of the name of the device whose limits count.
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
        format!("CompiledKernel({} for {}, {})", self.name, self.kernel.facts.backend, &self.hash()[..12])
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

/// The stages of a kernel: a mapping from name to text or bytes.
#[pyclass(module = "deuteron.compiler", name = "Asm", frozen, mapping)]
pub(crate) struct Asm {
    kernel: Arc<Kernel>,
}

impl Asm {
    fn object<'py>(py: Python<'py>, stage: &target::Stage) -> Bound<'py, PyAny> {
        match std::str::from_utf8(&stage.bytes) {
            Ok(text) if stage.text => PyString::new(py, text).into_any(),
            _ => PyBytes::new(py, &stage.bytes).into_any(),
        }
    }

    /// A stage that there is; the assembly is made here, without the lock of Python.
    fn stage<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let stage = py.detach(|| self.kernel.stage(name)).or_raise(py)?;
        Ok(Asm::object(py, stage))
    }
}

#[pymethods]
impl Asm {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if !self.__contains__(name) {
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
        self.kernel.stage_names().contains(&name)
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

/// A named tuple of everything that is known about a kernel, options included.
fn metadata<'py>(py: Python<'py>, kernel: &Kernel, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let facts = PyDict::new(py);
    for absent in ["tmem_size", "global_scratch_size", "profile_scratch_size"] {
        facts.set_item(absent, 0)?;
    }
    for absent in ["global_scratch_align", "profile_scratch_align"] {
        facts.set_item(absent, 1)?;
    }
    let options = &kernel.options;
    for (name, value) in options.extra.iter().chain(&kernel.artifact.metadata) {
        facts.set_item(name, option_object(py, value)?)?;
    }
    let target = &kernel.facts;
    let arch = arch_object(py, &target.arch)?;
    let gpu_target = py.import("deuteron.backends.compiler")?.getattr("GPUTarget")?;
    facts.set_item("target", gpu_target.call1((&target.backend, &arch, target.warp_size))?)?;
    facts.set_item("cluster_dims", (options.num_ctas, 1, 1))?;
    facts.set_item("name", name)?;
    facts.set_item("hash", kernel.hash.to_string())?;
    facts.set_item("num_warps", options.num_warps)?;
    facts.set_item("num_stages", options.num_stages)?;
    facts.set_item("num_ctas", options.num_ctas)?;
    facts.set_item("enable_fp_fusion", options.enable_fp_fusion)?;
    facts.set_item("debug", options.debug)?;
    facts.set_item("sanitize_overflow", options.sanitize_overflow)?;
    facts.set_item("warp_size", target.warp_size)?;
    facts.set_item("arch", &arch)?;
    facts.set_item("backend_name", &target.backend)?;
    // Scripts divide by it.
    facts.set_item("shared", kernel.artifact.shared.max(1))?;
    facts.set_item("tensordesc_meta", PyList::empty(py))?;
    facts.set_item("triton_version", py.import("deuteron")?.getattr("__version__")?)?;
    let names = facts.keys();
    names.call_method0("sort")?;
    let class = py.import("collections")?.getattr("namedtuple")?.call1(("KernelMetadata", names))?;
    class.call((), Some(&facts))
}

/// An architecture as Python has it: a number where it is one.
pub(crate) fn arch_object<'py>(py: Python<'py>, arch: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(match arch.parse::<u32>() {
        Ok(number) => PyInt::new(py, number).into_any(),
        Err(_) => PyString::new(py, arch).into_any(),
    })
}

fn option_object<'py>(py: Python<'py>, value: &OptionValue) -> PyResult<Bound<'py, PyAny>> {
    Registry::default().to_python(
        py,
        &match value {
            OptionValue::None => PyValue::None,
            OptionValue::Bool(value) => PyValue::Bool(*value),
            OptionValue::Int(value) => PyValue::Int(i128::from(*value)),
            OptionValue::Str(text) => PyValue::str(text),
        },
    )
}
