//! Launches that are like the last one, and what is remembered of a launch for the next.

use super::bind::{BoundArgs, Call};
use super::prepare::Prepared;
use crate::arguments::kind::{Kind, kind_of};
use crate::devices::active::Active;
use crate::kernel::function::JitFunction;
use crate::kernel::prediction::{Prediction, seen};
use crate::kernel::used::check_used;
use crate::kernel::variant::Variant;
use crate::kernel::{hooks, submit};
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult, Python};
use pyo3::types::{PyListMethods, PyString, PyStringMethods};
use runtime::launch::Slots;
use std::sync::Arc;

/// What may be remembered of a launch that was done; `None` where that needs more than a look at its arguments.
pub(crate) fn predict(
    py: Python<'_>,
    function: &JitFunction,
    (active, variant): (&Arc<Active>, &Arc<Variant>),
    (call, bound): (&Call<'_>, &BoundArgs<'_>),
    prepared: &Prepared,
) -> Option<Prediction> {
    let names = call.names_tuple(py)?;
    if function.interpret || active.context.checks_memory || function.variadic.is_some() {
        return None;
    }
    let mut values = runtime::launch::Prediction::new(call.values().len(), &prepared.call);
    for (index, param) in function.params.iter().enumerate() {
        let rules = prepared.rules(index, param);
        let seen = seen(bound.value(py, index), &rules)?;
        if !values.argument(call.place(py, function, index), seen, &rules) {
            return None;
        }
    }
    for (name, value) in bound.options(py) {
        let is_plain = matches!(kind_of(value).ok()?, Kind::Int | Kind::Bool | Kind::None);
        if !is_plain || name.cast::<PyString>().ok()?.to_cow().ok()? == "stream" {
            return None;
        }
        values.object(call.place_of(name)?, value.to_owned().unbind());
    }
    let prediction = Prediction { active: Arc::clone(active), variant: Arc::clone(variant), names, values };
    let mut found = Slots::new();
    // SAFETY: the call's objects are alive.
    let same = unsafe { prediction.read(py, call.values(), &mut found) } && found == prepared.call.slots;
    same.then_some(prediction)
}

/// Launches if the call is like one before; `None` if it is not, and nothing has happened.
///
/// # Safety
/// The values are pointers to live objects, as many as a vectorcall gives, with the names at its end; `names` is its
/// tuple of names or null.
#[inline]
pub(crate) unsafe fn launch<'py>(
    py: Python<'py>,
    function: &JitFunction,
    grid: target::Grid,
    values: &[*mut ffi::PyObject],
    names: *mut ffi::PyObject,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(prediction) = function.variants.kernels.prediction() else { return Ok(None) };
    let is_like = prediction.values.count() == values.len()
        // SAFETY: as promised.
        && unsafe { prediction.has_names(py, names) }
        && prediction.active.context.is_current()
        && !hooks::any_launch()
        && function.pre_run_hooks.bind(py).is_empty();
    let mut slots = Slots::new();
    // SAFETY: as promised.
    if !is_like || !unsafe { prediction.read(py, values, &mut slots) } {
        return Ok(None);
    }
    let variant = &prediction.variant;
    if !variant.used.is_empty() {
        check_used(py, &variant.used)?;
    }
    let site = prediction.active.place.site(py, None)?;
    // SAFETY: as promised.
    let values = values.iter().map(|&value| unsafe { Borrowed::from_ptr(py, value) });
    submit::launch(py, &variant.kernel, grid, &slots, site, values)?;
    Ok(Some(variant.compiled.bind(py).clone().into_any()))
}
