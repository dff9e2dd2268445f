//! Where the elements of a tensor lie: torch, and anything with `data_ptr()` and `dtype`.

use super::array::pointer;
use crate::devices::place::Place;
use crate::devices::torch;
use frontend::DType;
use pyo3::prelude::{Borrowed, PyAny, PyErr, PyResult, Python};
use pyo3::types::PyAnyMethods;
use pyo3::{ffi, intern};
use runtime::specialize::Argument;

/// Elements and address of a tensor that torch reads quickly, if it lies where launches want it.
#[inline]
pub(crate) fn plain_tensor(object: Borrowed<'_, '_, PyAny>, place: &Place) -> Option<(DType, u64)> {
    let tensor = torch::read(object)?;
    place.has_code(object.py(), tensor.device).then_some((tensor.dtype, tensor.address))
}

/// An object with `data_ptr()` and `dtype`, asked in Python.
pub(crate) fn tensor(object: Borrowed<'_, '_, PyAny>, place: &Place) -> PyResult<Argument> {
    let py: Python<'_> = object.py();
    let mut argument = data_pointer(object)?;
    let Some(where_it_is) = object.getattr_opt(intern!(py, "device"))? else { return Ok(argument) };
    let name = match where_it_is.getattr_opt(intern!(py, "type"))? {
        Some(name) => name.str()?.to_string(),
        None => where_it_is.str()?.to_string(),
    };
    if place.takes(&name) || name == "None" {
        return Ok(argument);
    }
    let is_on = where_it_is.str()?.to_string();
    if name != "cpu" {
        return Err(place.wrong_device(&is_on));
    }
    if let Argument::Pointer { address, .. } = &mut argument {
        *address = place.reach_host(py, *address, &is_on)?;
    }
    Ok(argument)
}

#[inline]
fn data_pointer(object: Borrowed<'_, '_, PyAny>) -> PyResult<Argument> {
    let py = object.py();
    let address = object.call_method0(intern!(py, "data_ptr"))?;
    // SAFETY: the object is alive; a wrong type sets an exception, which is looked for.
    let address = unsafe { ffi::PyLong_AsUnsignedLongLong(address.as_ptr()) };
    if address == u64::MAX
        && let Some(error) = PyErr::take(py)
    {
        return Err(error);
    }
    let ty = object.getattr(intern!(py, "dtype"))?;
    pointer(ty.as_borrowed(), address)
}
