//! Compiling a function for the key of a call.

use crate::active::Active;
use crate::bind::BoundArgs;
use crate::compiled::{CompiledKernel, KernelSource};
use crate::errors::{OrRaise, to_py};
use crate::function::JitFunction;
use crate::globals::{PyGlobals, UsedGlobal};
use crate::hooks::{self, JitHook};
use crate::launch::Variant;
use crate::value::Registry;
use frontend::{ArgSpec, PyValue};
use pyo3::prelude::{Borrowed, Bound, PyAny, PyErr, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyBool, PyBoolMethods, PyInt, PyString, PyStringMethods};
use runtime::compile::{Job, Kernel};
use runtime::knobs::Settings;
use runtime::specialize::{LaunchKey, decode};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use target::{CompileOptions, OptionValue, Target};

/// A kernel that a call wants and that is not compiled yet.
pub(crate) struct Wanted<'a, 'py> {
    pub(crate) function: &'a Bound<'py, JitFunction>,
    pub(crate) active: &'a Active,
    pub(crate) bound: &'a BoundArgs<'a>,
    pub(crate) key: &'a LaunchKey,
}

/// Compiles it; `None` where a hook stopped that.
pub(crate) fn make(wanted: &Wanted<'_, '_>, is_warmup: bool) -> PyResult<Option<Arc<Variant>>> {
    let (function, py) = (wanted.function, wanted.function.py());
    let me = function.get();
    let registry = Registry::default();
    let args = specs(py, me, wanted.key, &registry)?;
    let options = parse_options(py, wanted)?;
    let source = Bound::new(py, KernelSource::new(function, &args, &registry)?)?;
    let hook =
        JitHook::new(function, source.get(), wanted.active.target.as_ref(), &options, wanted.key, is_warmup);
    if hook.before(py)? {
        return Ok(None);
    }
    let (kernel, used) = compile(function, args, options, Arc::clone(&wanted.active.target), registry)?;
    let name = me.repr.as_ref().map(|repr| repr.call1(py, (&source,))?.extract::<String>(py)).transpose()?;
    let compiled = Bound::new(py, CompiledKernel::new(Arc::clone(&kernel), source.clone().unbind(), name))?;
    hooks::tell_listener(&compiled, &kernel)?;
    let variant = Arc::new(Variant { compiled: compiled.unbind(), kernel, used });
    let variant = me.variants.add(wanted.key.clone(), variant);
    hook.after(py)?;
    Ok(Some(variant))
}

/// The front end's view of the arguments, from the words of the key.
fn specs(
    py: Python<'_>,
    function: &JitFunction,
    key: &LaunchKey,
    registry: &Registry,
) -> PyResult<Vec<ArgSpec>> {
    let objects = function.variants.objects(py).objects(py);
    let failed: RefCell<Option<PyErr>> = RefCell::new(None);
    let object = |number: u32| match objects
        .get(number as usize)
        .map(|object| registry.value(object.bind_borrowed(py)))
    {
        Some(Ok(value)) => value,
        Some(Err(error)) => {
            failed.borrow_mut().get_or_insert(error);
            PyValue::None
        }
        None => PyValue::None,
    };
    let args = decode(key.words(), &object);
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(args),
    }
}

fn parse_options(py: Python<'_>, wanted: &Wanted<'_, '_>) -> PyResult<CompileOptions> {
    let mut given = BTreeMap::new();
    if wanted.function.get().debug {
        given.insert("debug".to_owned(), OptionValue::Bool(true));
    }
    for (name, value) in wanted.bound.options(py) {
        if let Some(number) = wanted.active.option(py, name.as_ptr()) {
            given.insert(wanted.active.option_name(number).to_owned(), option_value(value)?);
        }
    }
    runtime::options::parse(wanted.active.target.as_ref(), &given).or_raise(py)
}

/// Compiles without Python's lock.
pub(crate) fn compile(
    function: &Bound<'_, JitFunction>,
    args: Vec<ArgSpec>,
    options: CompileOptions,
    target: Arc<dyn Target>,
    registry: Registry,
) -> PyResult<(Arc<Kernel>, Vec<UsedGlobal>)> {
    let py = function.py();
    let text = registry.add_function(function)?;
    let settings = Settings::current();
    let owner = function.get().id();
    let globals = PyGlobals::new(registry, settings.code.allow_non_constexpr_globals);
    let result = py.detach(|| {
        let job = Job { function: text, args, options, target, globals: &globals, print: &print, owner };
        runtime::compile::compile(&job, &settings)
    });
    match result {
        Ok(kernel) => {
            warn(py, &kernel)?;
            Ok((kernel, globals.into_used()))
        }
        Err(error) => {
            let error = to_py(py, error);
            if let Some(raised) = globals.take_raised() {
                error.set_cause(py, Some(raised));
            }
            Err(error)
        }
    }
}

/// Shows what `tl.static_print` prints, where `print` would: on what `sys.stdout` is now.
fn print(text: &str) {
    Python::attach(|py| {
        let write = || {
            let out = py.import("sys")?.getattr("stdout")?;
            // Python without a standard output has `None` there, and prints nothing.
            if out.is_none() { Ok(()) } else { out.call_method1("write", (text,)).map(drop) }
        };
        write().unwrap_or_else(|error: PyErr| error.write_unraisable(py, None));
    });
}

fn warn(py: Python<'_>, kernel: &Kernel) -> PyResult<()> {
    for text in &kernel.warnings {
        py.import("warnings")?.call_method1("warn", (text,))?;
    }
    Ok(())
}

/// The value of an option. What is no number and no text stands as it prints.
pub(crate) fn option_value(value: Borrowed<'_, '_, PyAny>) -> PyResult<OptionValue> {
    if value.is_none() {
        return Ok(OptionValue::None);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(OptionValue::Bool(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(OptionValue::Int(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(OptionValue::Str(text.to_cow()?.into_owned()));
    }
    // `tl.constexpr` values come here through parameters that are options as well.
    if let Some(inner) = value.getattr_opt("value")? {
        return option_value(inner.as_borrowed());
    }
    Ok(OptionValue::Str(value.repr()?.to_string()))
}
