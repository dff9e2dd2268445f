//! Compiling a function for the key of a call that no kernel has yet.

use super::bind::BoundArgs;
use crate::compile::build;
use crate::compile::notify::{self, JitHook};
use crate::devices::active::Active;
use crate::devices::options::option_value;
use crate::errors::OrRaise;
use crate::kernel::compiled::CompiledKernel;
use crate::kernel::describe;
use crate::kernel::function::JitFunction;
use crate::kernel::listed;
use crate::kernel::value::Registry;
use crate::kernel::variant::Variant;
use frontend::{ArgSpec, PyValue};
use pyo3::prelude::{Bound, PyErr, PyResult, Python};
use pyo3::types::{PyDict, PyDictMethods};
use runtime::specialize::{LaunchKey, decode};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use target::{CompileOptions, OptionValue};

/// A kernel that a call wants and that is not compiled yet.
pub(crate) struct Wanted<'a, 'py> {
    pub(crate) function: &'a Bound<'py, JitFunction>,
    pub(crate) active: &'a Active,
    pub(crate) bound: &'a BoundArgs<'a>,
    pub(crate) key: &'a LaunchKey,
}

/// Compiles it; `None` where a hook stopped that.
pub(crate) fn compile(wanted: &Wanted<'_, '_>, is_warmup: bool) -> PyResult<Option<Arc<Variant>>> {
    let (function, py) = (wanted.function, wanted.function.py());
    let me = function.get();
    let registry = Registry::default();
    let args = specs(py, me, wanted.key, &registry)?;
    let options = parse_options(py, wanted)?;
    let source =
        Bound::new(py, describe::source_of(function.as_any(), (&me.params, me.name()), &args, &registry)?)?;
    let given = PyDict::new(py);
    for (name, value) in wanted.bound.options(py) {
        given.set_item(name, value)?;
    }
    let target = wanted.active.context.target.as_ref();
    let hook = JitHook::new(function, source.get(), target, &options, wanted.key, (is_warmup, given));
    if hook.before(py)? {
        return Ok(None);
    }
    let (kernel, used) =
        build::compile(function, args, options, Arc::clone(&wanted.active.context.target), registry)?;
    let compiled = Bound::new(py, CompiledKernel::new(Arc::clone(&kernel), source.clone().unbind()))?;
    notify::notify_listener(&compiled, &kernel)?;
    let variant = Arc::new(Variant { compiled: compiled.unbind(), kernel, used });
    let variant = listed::add(function, wanted.key.clone(), variant)?;
    hook.after(py)?;
    Ok(Some(variant))
}

/// The front end's view of the arguments, from the words of the key.
pub(super) fn specs(
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

pub(super) fn parse_options(py: Python<'_>, wanted: &Wanted<'_, '_>) -> PyResult<CompileOptions> {
    let mut given = BTreeMap::new();
    if wanted.function.get().debug.load(Ordering::Relaxed) {
        given.insert("debug".to_owned(), OptionValue::Bool(true));
    }
    for (name, value) in wanted.bound.options(py) {
        if let Some(number) = wanted.active.option(py, name.as_ptr()) {
            given.insert(wanted.active.context.option_name(number).to_owned(), option_value(value)?);
        }
    }
    let options = runtime::options::parse(wanted.active.context.target.as_ref(), &given).or_raise(py)?;
    Ok(CompileOptions { guarded: true, ..options })
}
