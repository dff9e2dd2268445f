//! Arguments and options of a call as words of a key and slots.

use super::bind::BoundArgs;
use crate::arguments::constexpr::{self, length};
use crate::arguments::kind::{Kind, kind_of};
use crate::arguments::tensor::plain_tensor;
use crate::arguments::{descriptor, dtype, read};
use crate::devices::active::Active;
use crate::devices::options::option_value;
use crate::errors::OrRaise;
use crate::kernel::function::JitFunction;
use crate::kernel::prediction::Slots;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyString, PyTuple, PyTupleMethods};
use runtime::knobs;
use runtime::options::IR_OVERRIDE;
use runtime::specialize::{LaunchKey, ParamRules};

/// What a launch collects on its way.
pub(crate) struct Prepared {
    pub(crate) key: LaunchKey,
    pub(crate) slots: Slots,
    /// What must stay alive until the launch is over.
    pub(crate) keep: Vec<Py<PyAny>>,
    /// The stream that the call names.
    pub(crate) stream: Option<u64>,
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
        write_argument(function, active, &param.rules, value, prepared)
            .map_err(|error| with_name(py, error, function, &param.text))?;
    }
    write_options(py, function, active, bound, prepared)
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
        rules.pointer(dtype, address, &mut prepared.key);
        prepared.slots.push(address);
        return Ok(());
    }
    if kind == Kind::Descriptor && !rules.constexpr {
        let tensor = descriptor::read(value, &active.place, &mut prepared.keep)?;
        rules.describe(&tensor, &mut prepared.key).or_raise(value.py())?;
        prepared.slots.extend(tensor.slots());
        return Ok(());
    }
    if rules.constexpr {
        if constexpr::write_number(value, kind, &mut prepared.key)? {
            return Ok(());
        }
        return function.variants.objects(value.py()).write(value, &mut prepared.key);
    }
    match read::read(value, kind, &active.place, &mut prepared.keep)? {
        Some(argument) => {
            if let Some(slot) = rules.apply(argument, &mut prepared.key).or_raise(value.py())? {
                prepared.slots.push(slot);
            }
            Ok(())
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
    if kind == Kind::Tuple {
        let items = value.cast::<PyTuple>()?;
        let fields = objects().fields(value)?;
        prepared.key.tuple(length(items.len())?, fields);
        for item in items.iter_borrowed() {
            write_argument(function, active, rules, item, prepared)?;
        }
        return Ok(());
    }
    if kind == Kind::Constexpr || may_be_constexpr(&value)? {
        return objects().write(value, &mut prepared.key);
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
    let debug = u64::from(function.debug || knobs::debug());
    prepared.key.option(u16::MAX, debug | u64::from(active.number) << 1);
    for (name, value) in bound.options(py) {
        let Some(number) = active.option(py, name.as_ptr()) else {
            if name.eq("stream")? {
                prepared.stream = value.extract()?;
                continue;
            }
            let text = format!("Keyword argument {} was specified but unrecognised", &*name);
            return Err(PyKeyError::new_err(text));
        };
        match option_value(value)? {
            target::OptionValue::None => prepared.key.option(number, 0),
            target::OptionValue::Bool(flag) => prepared.key.option(number | 1 << 12, u64::from(flag)),
            target::OptionValue::Int(value) => prepared.key.option(number | 2 << 12, value.cast_unsigned()),
            target::OptionValue::Str(text) => {
                let is_file = active.option_name(number) == IR_OVERRIDE;
                let state = if is_file { runtime::compile::state_of_file(&text) } else { 0 };
                prepared.key.option(number | 3 << 12, state);
                let text = PyString::new(py, &text);
                function.variants.objects(py).write(text.as_any().as_borrowed(), &mut prepared.key)?;
            }
        }
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
