//! What Python hears of a compile: the hooks around it, and the listener.

use crate::kernel::compiled::CompiledKernel;
use crate::kernel::function::JitFunction;
use crate::kernel::hooks::hook;
use crate::kernel::source::KernelSource;
use pyo3::IntoPyObject;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict};
use runtime::compile::Kernel;
use runtime::specialize::LaunchKey;
use target::{CompileOptions, Target};

/// A key as Python sees it.
pub(crate) fn key_text(key: &LaunchKey) -> String {
    let words: Vec<String> = key.words().iter().map(|word| format!("{word:x}")).collect();
    words.join(".")
}

/// What the hooks around a compile get.
pub(crate) struct JitHook<'a, 'py> {
    function: &'a Bound<'py, JitFunction>,
    source: &'a KernelSource,
    options: CompileOptions,
    target: String,
    key: String,
    is_warmup: bool,
    /// The options that the call gives.
    given: Bound<'py, PyDict>,
}

impl<'a, 'py> JitHook<'a, 'py> {
    pub(crate) fn new(
        function: &'a Bound<'py, JitFunction>,
        source: &'a KernelSource,
        target: &dyn Target,
        options: &CompileOptions,
        key: &LaunchKey,
        (is_warmup, given): (bool, Bound<'py, PyDict>),
    ) -> JitHook<'a, 'py> {
        JitHook {
            function,
            source,
            options: options.clone(),
            target: target.facts().backend,
            key: key_text(key),
            is_warmup,
            given,
        }
    }

    /// What the kernel is compiled for, as a text that `JITFunction.preload` reads.
    fn specialization_data(&self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.function.py();
        let target = py.import("deuteron.runtime.driver")?.getattr("driver")?.getattr("active")?;
        let target = target.call_method0("get_current_target")?;
        let target = (target.getattr("backend")?, target.getattr("arch")?, target.getattr("warp_size")?);
        let source = self.source;
        let parts = (
            // As it is called now: decorators give functions another name.
            self.function.getattr("__name__")?,
            source.signature.bind(py),
            source.constants.bind(py),
            source.attrs.bind(py),
            &self.given,
            &self.key,
            target,
        );
        let parts = parts.into_pyobject(py)?;
        py.import("deuteron.runtime.jit")?.getattr("serialize_specialization_data")?.call1(parts)
    }

    /// Whether a hook stops the compile.
    pub(crate) fn before(&self, py: Python<'_>) -> PyResult<bool> {
        match self.hook("jit_cache", "cache_hook")? {
            Some(hook) => self.call(py, hook)?.bind(py).is_truthy(),
            None => Ok(false),
        }
    }

    pub(crate) fn after(&self, py: Python<'_>) -> PyResult<()> {
        match self.hook("jit_post_compile", "compiled_hook")? {
            Some(hook) => self.call(py, hook).map(drop),
            None => Ok(()),
        }
    }

    /// The hook of a knob, or of the attribute of `JITFunction` where programs for Triton up to 3.3 put it.
    fn hook(&self, knob: &str, attribute: &str) -> PyResult<Option<Py<PyAny>>> {
        if let Some(hook) = hook(self.function.py(), knob) {
            return Ok(Some(hook));
        }
        // Asked of the type: of an instance it would be a bound method.
        let old = self.function.get_type().getattr(attribute)?;
        Ok((!old.is_none()).then(|| old.unbind()))
    }

    fn call(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let module = self.function.getattr("module")?;
        let qualname = self.function.getattr("__qualname__")?;
        let facts = (module, &qualname, self.function);
        let info = py.import("deuteron.runtime.jit")?.getattr("JitFunctionInfo")?.call1(facts)?;
        let compile = PyDict::new(py);
        compile.set_item("key", &self.key)?;
        compile.set_item("signature", self.source.signature.bind(py))?;
        compile.set_item("constants", self.source.constants.bind(py))?;
        compile.set_item("configs", [self.source.attrs.bind(py)])?;
        compile.set_item("device", 0)?;
        compile.set_item("num_warps", self.options.num_warps)?;
        compile.set_item("num_ctas", self.options.num_ctas)?;
        compile.set_item("num_stages", self.options.num_stages)?;
        compile.set_item("enable_fp_fusion", self.options.enable_fp_fusion)?;
        compile.set_item("launch_cooperative_grid", false)?;
        compile.set_item("extern_libs", ())?;
        compile.set_item("specialization_data", self.specialization_data()?)?;
        compile.set_item("is_warmup", self.is_warmup)?;
        let text = format!(
            "{qualname}[num_warps={}, num_ctas={}, num_stages={}, target={}]({})",
            self.options.num_warps,
            self.options.num_ctas,
            self.options.num_stages,
            self.target,
            self.source.signature.bind(py)
        );
        let kwargs = PyDict::new(py);
        kwargs.set_item("key", &self.key)?;
        kwargs.set_item("repr", text)?;
        kwargs.set_item("fn", info)?;
        kwargs.set_item("compile", compile)?;
        kwargs.set_item("is_manual_warmup", self.is_warmup)?;
        kwargs.set_item("already_compiled", false)?;
        hook.call(py, (), Some(&kwargs))
    }
}

/// Notifies `knobs.compilation.listener` of a compile, if somebody listens: the source, the facts about the kernel, the
/// files that its stages are written to, how long the steps took in microseconds, and whether the kernel came from the
/// disk.
pub(crate) fn notify_listener(compiled: &Bound<'_, CompiledKernel>, kernel: &Kernel) -> PyResult<()> {
    let py = compiled.py();
    // Whoever set the listener has loaded the module.
    let modules = py.import("sys")?.getattr("modules")?;
    let Ok(knobs) = modules.get_item("deuteron.knobs") else { return Ok(()) };
    let listener = knobs.getattr("compilation")?.getattr("listener")?;
    if listener.is_none() {
        return Ok(());
    }
    let steps = kernel.times.iter().filter(|(step, _)| !step.contains('/'));
    let steps: Vec<(&str, u64)> =
        steps.map(|(step, elapsed)| (step.as_str(), elapsed.as_micros() as u64)).collect();
    let (first, stages): (Vec<_>, Vec<_>) =
        steps.into_iter().partition(|(step, _)| *step == runtime::compile::FRONT_END);
    let front_end: u64 = first.iter().map(|(_, micros)| micros).sum();
    let kwargs = PyDict::new(py);
    kwargs.set_item("src", compiled.getattr("src")?)?;
    kwargs.set_item("metadata", compiled.getattr("metadata")?.call_method0("_asdict")?)?;
    kwargs.set_item("metadata_group", compiled.getattr("metadata_group")?)?;
    kwargs.set_item("times", knobs.getattr("CompileTimes")?.call1((front_end, stages, 0))?)?;
    kwargs.set_item("cache_hit", kernel.from_cache)?;
    listener.call((), Some(&kwargs)).map(drop)
}
