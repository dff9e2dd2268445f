//! The values of Python numbers.

use super::kind::Kind;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::{Borrowed, PyAny, PyErr, PyResult};
use pyo3::types::PyAnyMethods;
use pyo3::{ffi, intern};
use runtime::specialize::Argument;

/// The value of a number; `None` for anything else.
#[inline]
pub(crate) fn number(object: Borrowed<'_, '_, PyAny>, kind: Kind) -> PyResult<Option<Argument>> {
    Ok(Some(match kind {
        Kind::Int => int(object)?,
        Kind::Float => Argument::Float(float(object)?),
        Kind::Bool => Argument::Bool(is_true(object)),
        Kind::Index => {
            let number = object.call_method0(intern!(object.py(), "__index__"))?;
            int(number.as_borrowed())?
        }
        Kind::FloatLike => Argument::Float(object.extract::<f64>()?),
        Kind::Truth => Argument::Bool(object.is_truthy()?),
        _ => return Ok(None),
    }))
}

#[inline]
fn is_true(object: Borrowed<'_, '_, PyAny>) -> bool {
    // SAFETY: `True` is one object that lives as long as the interpreter.
    std::ptr::eq(object.as_ptr(), unsafe { ffi::Py_True() })
}

/// The value of an object of type `int` itself that fits 64 bits.
#[inline]
pub(crate) fn plain_int(object: Borrowed<'_, '_, PyAny>) -> Option<i64> {
    // SAFETY: the object is alive.
    if !std::ptr::eq(unsafe { ffi::Py_TYPE(object.as_ptr()) }, &raw mut ffi::PyLong_Type) {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: the object is an int.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}

/// The value of an object of type `float` itself.
#[inline]
pub(crate) fn plain_float(object: Borrowed<'_, '_, PyAny>) -> Option<f64> {
    // SAFETY: the object is alive.
    let is_float = std::ptr::eq(unsafe { ffi::Py_TYPE(object.as_ptr()) }, &raw mut ffi::PyFloat_Type);
    // SAFETY: the object is a float, of which reading its value cannot fail.
    is_float.then(|| unsafe { ffi::PyFloat_AsDouble(object.as_ptr()) })
}

#[inline]
fn int(object: Borrowed<'_, '_, PyAny>) -> PyResult<Argument> {
    let mut overflow = 0;
    // SAFETY: the object is an int.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
    if overflow == 0 {
        if value == -1
            && let Some(error) = PyErr::take(object.py())
        {
            return Err(error);
        }
        return Ok(Argument::Int(value));
    }
    match object.extract::<u64>() {
        Ok(value) => Ok(Argument::BigInt(value)),
        Err(_) => Err(PyOverflowError::new_err("is an integer that does not fit 64 bits")),
    }
}

#[inline]
fn float(object: Borrowed<'_, '_, PyAny>) -> PyResult<f64> {
    // SAFETY: the object is a float.
    let value = unsafe { ffi::PyFloat_AsDouble(object.as_ptr()) };
    if value == -1.0
        && let Some(error) = PyErr::take(object.py())
    {
        return Err(error);
    }
    Ok(value)
}
