//! Arguments and options of a call as words of a key and slots.

use super::bind::BoundArgs;
use crate::arguments::constexpr::{self, length};
use crate::arguments::extents::extents;
use crate::arguments::kind::{Kind, kind_of};
use crate::arguments::tensor::plain_tensor;
use crate::arguments::{descriptor, dtype, nesting, read, tuple};
use crate::devices::active::Active;
use crate::devices::options::option_value;
use crate::errors::OrRaise;
use crate::kernel::function::JitFunction;
use crate::kernel::params::Param;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyString, PyTupleMethods};
use runtime::specialize::{Argument, ParamRules};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a launch collects on its way.
pub(crate) struct Prepared {
    /// Key and slots.
    pub(crate) call: runtime::launch::Prepared,
    /// What must stay alive until the launch is over.
    pub(crate) keep: Vec<Py<PyAny>>,
    /// The stream that the call names.
    pub(crate) stream: Option<u64>,
    /// Whether the address of a tensor is 0.
    has_nowhere: bool,
    /// The parameters that take part in addresses, where the target wants to know.
    addressing: Option<Arc<[bool]>>,
}

impl Prepared {
    /// Nothing yet.
    #[inline]
    pub(crate) fn new(function: &Bound<'_, JitFunction>, active: &Active) -> PyResult<Prepared> {
        let addressing =
            active.context.needs_alignment.then(|| JitFunction::addressing(function)).transpose()?;
        let call = runtime::launch::Prepared::new(&active.context);
        Ok(Prepared { call, keep: Vec::new(), stream: None, has_nowhere: false, addressing })
    }

    /// The rules of a parameter.
    #[inline]
    pub(crate) fn rules(&self, index: usize, param: &Param) -> ParamRules {
        match &self.addressing {
            Some(all) => {
                ParamRules { addresses: all.get(index).is_some_and(|takes_part| *takes_part), ..param.rules }
            }
            None => param.rules,
        }
    }
}

/// Key and slots of a call.
#[inline]
pub(crate) fn prepare(
    py: Python<'_>,
    function: &JitFunction,
    active: &Active,
    bound: &BoundArgs<'_>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    for (index, param) in function.params.iter().enumerate() {
        let value = bound.value(py, index);
        let rules = prepared.rules(index, param);
        write_argument(function, active, &rules, value, prepared)
            .and_then(|()| write_extent(active, &rules, value, prepared))
            .map_err(|error| with_name(py, error, function, &param.text))?;
    }
    write_options(py, function, active, bound, prepared)
}

/// How far the memory of an argument goes, where the target wants to know.
#[inline]
fn write_extent(
    active: &Active,
    rules: &ParamRules,
    value: Borrowed<'_, '_, PyAny>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    let looks = active.context.looks_at_extents && !rules.constexpr && rules.specialize;
    if looks
        && is_memory(kind_of(value)?)
        && let [extent] = extents(std::iter::once(value))?[..]
    {
        prepared.call.extent(&extent);
    }
    Ok(())
}

fn is_tensor(kind: Kind) -> bool {
    matches!(kind, Kind::PlainTensor | Kind::Tensor)
}

/// Refuses to launch with tensors that have elements and no memory, which would end the process where a kernel runs in
/// it: those that stand for others while torch traces a program, and those whose storage was freed.
#[inline]
pub(crate) fn refuse_nowhere(
    py: Python<'_>,
    function: &JitFunction,
    active: &Active,
    bound: &BoundArgs<'_>,
    prepared: &Prepared,
) -> PyResult<()> {
    if !prepared.has_nowhere || active.place.has_devices() {
        return Ok(());
    }
    for (index, param) in function.params.iter().enumerate().filter(|(_, param)| !param.rules.constexpr) {
        let value = bound.value(py, index);
        if holds_nowhere(value)? {
            let message = "is or holds a tensor that has elements and no memory: it stands for another while a program is \
                           traced, or its storage was freed; `warmup` compiles without a launch";
            return Err(with_name(py, PyValueError::new_err(message), function, &param.text));
        }
    }
    Ok(())
}

/// Whether an argument is such a tensor, or holds one: a tuple of any depth, a descriptor.
fn holds_nowhere(value: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    match kind_of(value)? {
        Kind::PlainTensor | Kind::Tensor => is_nowhere(value),
        Kind::Descriptor => holds_nowhere(value.getattr(intern!(value.py(), "base"))?.as_borrowed()),
        Kind::Tuple => {
            let _level = nesting::enter()?;
            for item in tuple::items(value)?.iter_borrowed() {
                if holds_nowhere(item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

fn is_nowhere(tensor: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let py = tensor.py();
    let Some(numel) = tensor.getattr_opt(intern!(py, "numel"))? else { return Ok(false) };
    let address: u64 = tensor.call_method0(intern!(py, "data_ptr"))?.extract()?;
    Ok(address == 0 && numel.call0()?.extract::<u64>()? > 0)
}

fn is_memory(kind: Kind) -> bool {
    matches!(kind, Kind::NumpyArray | Kind::ArrayInterface | Kind::PlainTensor | Kind::Tensor)
}

#[inline]
fn write_argument(
    function: &JitFunction,
    active: &Active,
    rules: &ParamRules,
    value: Borrowed<'_, '_, PyAny>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    let kind = kind_of(value)?;
    // Most arguments are tensors. What is not read at once is read again below, and refused with its reason.
    if kind == Kind::PlainTensor
        && rules.fixed.is_none()
        && !rules.constexpr
        && let Some((dtype, address)) = plain_tensor(value, &active.place)
    {
        prepared.has_nowhere |= address == 0;
        prepared.call.pointer(rules, dtype, address);
        return Ok(());
    }
    if kind == Kind::Descriptor && !rules.constexpr {
        let tensor = descriptor::read(value, &active.place, &mut prepared.keep)?;
        prepared.has_nowhere |= tensor.address == 0;
        return prepared.call.descriptor(rules, &tensor).or_raise(value.py());
    }
    if rules.constexpr {
        if constexpr::write_number(value, kind, &mut prepared.call.key)? {
            return Ok(());
        }
        return function.variants.objects(value.py()).write(value, &mut prepared.call.key);
    }
    match read::read(value, kind, &active.place, &mut prepared.keep)? {
        Some(argument) => {
            prepared.has_nowhere |=
                is_tensor(kind) && matches!(argument, Argument::Pointer { address: 0, .. });
            prepared.call.argument(rules, argument).or_raise(value.py())
        }
        None => write_other(function, active, rules, value, kind, prepared),
    }
}

/// Tuples and constexprs given to a run-time parameter.
#[cold]
fn write_other(
    function: &JitFunction,
    active: &Active,
    rules: &ParamRules,
    value: Borrowed<'_, '_, PyAny>,
    kind: Kind,
    prepared: &mut Prepared,
) -> PyResult<()> {
    let objects = || function.variants.objects(value.py());
    if matches!(kind, Kind::Tuple | Kind::TensorMap) {
        let _level = nesting::enter()?;
        let items = tuple::items(value)?;
        let fields = objects().fields(value)?;
        prepared.call.key.tuple(length(items.len())?, fields);
        for item in items.iter_borrowed() {
            write_argument(function, active, rules, item, prepared)?;
        }
        return Ok(());
    }
    if kind == Kind::Constexpr || may_be_constexpr(&value)? {
        return objects().write(value, &mut prepared.call.key);
    }
    Err(PyTypeError::new_err(format!(
        "has type {}, which cannot be passed to a kernel: pass a number, an array (NumPy, torch, DLPack), a TensorDescriptor or a tuple of these, \
         or annotate the parameter as tl.constexpr",
        value.get_type()
    )))
}

/// The words of the options. `debug` is always there, because the function and a knob can turn it on as well; so is the
/// target.
#[inline]
fn write_options(
    py: Python<'_>,
    function: &JitFunction,
    active: &Active,
    bound: &BoundArgs<'_>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    prepared.call.end_arguments(&active.context, function.debug.load(Ordering::Relaxed));
    for (name, value) in bound.options(py) {
        let Some(number) = active.option(py, name.as_ptr()) else {
            if name.eq("stream")? {
                prepared.stream = value.extract()?;
                continue;
            }
            let text = format!("Keyword argument {} was specified but unrecognised", &*name);
            return Err(PyKeyError::new_err(text));
        };
        prepared.call.option(&active.context, number, &option_value(value)?, |text, key| {
            let text = PyString::new(py, text);
            function.variants.objects(py).write(text.as_any().as_borrowed(), key)
        })?;
    }
    Ok(())
}

/// Puts the name of the argument in front of a message about it.
#[cold]
fn with_name(py: Python<'_>, error: PyErr, function: &JitFunction, name: &str) -> PyErr {
    let text = format!("argument `{name}` of kernel {} {}", function.name(), error.value(py));
    let ty = error.get_type(py);
    match ty.call1((text,)) {
        Ok(new) => PyErr::from_value(new),
        Err(_) => error,
    }
}

/// Whether an object that is no number and no array may be given to a parameter that is not annotated as a constexpr.
fn may_be_constexpr(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.is_instance_of::<PyString>()
        || object.is_instance_of::<JitFunction>()
        || object.hasattr(intern!(py, "__deuteron_builtin__"))?
        || object.hasattr(intern!(py, "__deuteron_constexpr_function__"))?
        || dtype::own(object.as_borrowed())?.is_some())
}
