//! Compiling a function without Python's lock.

use crate::errors::{of_class, to_py};
use crate::kernel::function::JitFunction;
use crate::kernel::globals::PyGlobals;
use crate::kernel::params::Param;
use crate::kernel::symbol::symbol;
use crate::kernel::used::UsedGlobal;
use crate::kernel::value::Registry;
use frontend::ArgSpec;
use pyo3::prelude::{Bound, PyErr, PyResult, Python};
use pyo3::types::PyAnyMethods;
use runtime::RuntimeError;
use runtime::compile::{Job, Kernel};
use runtime::knobs::Settings;
use std::path::PathBuf;
use std::sync::Arc;
use target::{CompileOptions, Target};

/// Compiles without Python's lock. Gives the kernel, and what was read of Python.
pub(crate) fn compile(
    function: &Bound<'_, JitFunction>,
    args: Vec<ArgSpec>,
    options: CompileOptions,
    target: Arc<dyn Target>,
    registry: Registry,
) -> PyResult<(Arc<Kernel>, Vec<UsedGlobal>)> {
    compile_carried(function, args, options, target, registry, None)
}

/// The same, with the folder in which the entries of kernels travel, if they do.
pub(super) fn compile_carried(
    function: &Bound<'_, JitFunction>,
    args: Vec<ArgSpec>,
    options: CompileOptions,
    target: Arc<dyn Target>,
    registry: Registry,
    carried_dir: Option<PathBuf>,
) -> PyResult<(Arc<Kernel>, Vec<UsedGlobal>)> {
    let (kernel, used) = run(function, args, options, target, registry, |job, settings| {
        let settings = Settings { carried_dir: carried_dir.clone(), ..settings.clone() };
        runtime::compile::compile(job, &settings)
    })?;
    warn(function.py(), &kernel)?;
    Ok((kernel, used))
}

/// Runs a job of the compiler without Python's lock. Gives its result, and what was read of Python; an error of
/// Python's own is the cause of the job's.
pub(super) fn run<T: Send>(
    function: &Bound<'_, JitFunction>,
    args: Vec<ArgSpec>,
    options: CompileOptions,
    target: Arc<dyn Target>,
    registry: Registry,
    compile: impl Fn(&Job<'_>, &Settings) -> Result<T, RuntimeError> + Sync,
) -> PyResult<(T, Vec<UsedGlobal>)> {
    let py = function.py();
    refuse_contradictions(function)?;
    let symbol = symbol(function, &args, &registry)?;
    let text = registry.add_function(function)?;
    let settings = Settings::current();
    let owner = function.get().id();
    let globals = PyGlobals::new(registry, settings.code.allow_non_constexpr_globals);
    let result = py.detach(|| {
        let (function, globals) = (text, &globals);
        let job = Job { function, symbol, args, options, target, globals, print: &print, owner };
        compile(&job, &settings)
    });
    match result {
        Ok(result) => Ok((result, globals.into_used())),
        Err(error) => {
            let error = to_py(py, error);
            if let Some(raised) = globals.take_raised() {
                error.set_cause(py, Some(raised));
            }
            Err(error)
        }
    }
}

/// A constexpr is specialised by what it is, so a decorator cannot say that it is not.
fn refuse_contradictions(function: &Bound<'_, JitFunction>) -> PyResult<()> {
    let is_wrong = |param: &&Param| param.rules.constexpr && !(param.rules.specialize && param.rules.align);
    let Some(param) = function.get().params.iter().find(is_wrong) else { return Ok(()) };
    let message = format!(
        "{} marked as constexpr and listed in do_not_specialize/do_not_specialize_on_alignment. Remove constexpr \
         designation to skip specialization.",
        param.text
    );
    Err(of_class(function.py(), "CompilationError", |class| class.call1((message,))))
}

/// Shows what `tl.static_print` prints, where `print` would: on what `sys.stdout` is now.
pub(crate) fn print(text: &str) {
    Python::attach(|py| {
        let write = || {
            let out = py.import("sys")?.getattr("stdout")?;
            // Python without a standard output has `None` there, and prints nothing.
            if out.is_none() { Ok(()) } else { out.call_method1("write", (text,)).map(drop) }
        };
        write().unwrap_or_else(|error: PyErr| error.write_unraisable(py, None));
    });
}

/// Remarks are for the author of a kernel, not for who tries many configurations of it.
fn warn(py: Python<'_>, kernel: &Kernel) -> PyResult<()> {
    for text in &kernel.warnings {
        py.import("deuteron.runtime._remarks")?.call_method1("remark", (text,))?;
    }
    Ok(())
}
