//! What kind of argument a Python object is, and its value or where its memory lies.
//!
//! Kinds are remembered by type, so that a launch asks an object only for what changes: the address and the dtype. Anything
//! may be an argument that is a number, an array of NumPy, has `data_ptr()` and `dtype` (torch tensors), or speaks DLPack or
//! `__array_interface__`.

use crate::place::Place;
use crate::{descriptor, dtype, memory, torch};
use frontend::{DType, Scalar};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyFloat, PyInt, PyString, PyTuple, PyType, PyTypeMethods};
use pyo3::{ffi, intern};
use runtime::specialize::Argument;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// How objects of a type are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    None,
    Bool,
    Int,
    Float,
    Tuple,
    /// `numpy.ndarray`.
    NumpyArray,
    /// A `torch.Tensor` that can be read without asking Python.
    PlainTensor,
    /// A tensor descriptor.
    Descriptor,
    /// Has `data_ptr()`, `dtype` and `is_cpu`.
    Tensor,
    /// Has `data_ptr()` and `dtype`.
    DataPointer,
    Dlpack,
    ArrayInterface,
    /// Has the interface of arrays in the memory of a device.
    DeviceArrayInterface,
    /// A number by `__index__`.
    Index,
    /// A number by `__float__`.
    FloatLike,
    /// A bool by its truth.
    Truth,
    /// A `tl.constexpr`.
    Constexpr,
    /// Known at compile time, or not an argument at all.
    Other,
}

/// The protocol by which array libraries show memory of a device.
pub(crate) const DEVICE_INTERFACE: &str = "__cuda_array_interface__";

/// Kinds of types by the type's address, with a reference to the type, so that an address never means another type.
type Known = FxHashMap<usize, (Py<PyType>, Kind)>;

/// The types seen so far.
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// Types are few; a program that makes them without end is not let fill the memory.
const MOST_KNOWN: usize = 4096;

/// The kind of an object.
#[inline]
pub(crate) fn kind_of(object: Borrowed<'_, '_, PyAny>) -> PyResult<Kind> {
    // SAFETY: the object is alive, and reading its type has no other condition.
    let ty = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    if std::ptr::eq(ty, &raw mut ffi::PyLong_Type) {
        return Ok(Kind::Int);
    }
    if std::ptr::eq(ty, &raw mut ffi::PyFloat_Type) {
        return Ok(Kind::Float);
    }
    if std::ptr::eq(ty, &raw mut ffi::PyBool_Type) {
        return Ok(Kind::Bool);
    }
    if torch::is_plain(ty) {
        return Ok(Kind::PlainTensor);
    }
    {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kind)) = known.as_ref().and_then(|known| known.get(&(ty as usize))) {
            return Ok(*kind);
        }
    }
    classify(object)
}

#[cold]
fn classify(object: Borrowed<'_, '_, PyAny>) -> PyResult<Kind> {
    if object.is_none() {
        return Ok(Kind::None);
    }
    let ty = object.get_type();
    let Some(kind) = kind_of_type(&ty)? else {
        // What one object has, the next of its type may not have: nothing is remembered.
        let pointer = object.hasattr(intern!(object.py(), "data_ptr"))?;
        return Ok(if pointer { Kind::DataPointer } else { Kind::Other });
    };
    if kind == Kind::Tensor && torch::learn(object, &ty)? {
        return Ok(Kind::PlainTensor);
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(FxHashMap::default);
    if known.len() < MOST_KNOWN {
        known.insert(ty.as_ptr() as usize, (ty.unbind(), kind));
    }
    Ok(kind)
}

fn kind_of_type(ty: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    let py = ty.py();
    let has = |name: &str| ty.hasattr(name);
    if ty.is_subclass_of::<PyString>()? {
        return Ok(Some(Kind::Other));
    }
    if ty.is_subclass_of::<PyInt>()? {
        return Ok(Some(Kind::Int));
    }
    if ty.is_subclass_of::<PyFloat>()? {
        return Ok(Some(Kind::Float));
    }
    if ty.is_subclass_of::<PyTuple>()? {
        return Ok(Some(Kind::Tuple));
    }
    if let Some(name) = ty.getattr_opt(intern!(py, "__deuteron_builtin__"))? {
        return Ok(Some(if name.eq("constexpr")? { Kind::Constexpr } else { Kind::Other }));
    }
    if descriptor::is_descriptor(ty)? {
        return Ok(Some(Kind::Descriptor));
    }
    if has("data_ptr")? {
        return Ok(Some(if has("is_cpu")? { Kind::Tensor } else { Kind::DataPointer }));
    }
    if let Some(kind) = numpy_kind(ty)? {
        return Ok(Some(kind));
    }
    let protocols = [
        (DEVICE_INTERFACE, Kind::DeviceArrayInterface),
        ("__array_interface__", Kind::ArrayInterface),
        ("__dlpack__", Kind::Dlpack),
        ("__index__", Kind::Index),
        ("__float__", Kind::FloatLike),
    ];
    for (name, kind) in protocols {
        if has(name)? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

/// The kind of NumPy's own types, if NumPy is loaded at all.
fn numpy_kind(ty: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    let modules = ty.py().import("sys")?.getattr("modules")?;
    let Ok(numpy) = modules.get_item("numpy") else { return Ok(None) };
    if ty.is_subclass(&numpy.getattr("ndarray")?)? {
        return Ok(Some(Kind::NumpyArray));
    }
    if !ty.is_subclass(&numpy.getattr("generic")?)? {
        return Ok(None);
    }
    if ty.is_subclass(&numpy.getattr("bool_")?)? {
        return Ok(Some(Kind::Truth));
    }
    Ok(Some(if ty.hasattr("__index__")? { Kind::Index } else { Kind::FloatLike }))
}

/// The value of an argument of a run-time parameter; `None` for what can only be a constexpr. `keep` takes what must stay
/// alive until the launch is over.
#[inline]
pub(crate) fn read(
    object: Borrowed<'_, '_, PyAny>,
    kind: Kind,
    place: &Place,
    keep: &mut Vec<Py<PyAny>>,
) -> PyResult<Option<Argument>> {
    if let Some(number) = number(object, kind)? {
        return Ok(Some(number));
    }
    Ok(Some(match kind {
        Kind::None => Argument::None,
        Kind::PlainTensor => match plain_tensor(object, place) {
            Some((dtype, address)) => Argument::Pointer { dtype, address },
            None => tensor(object, place)?,
        },
        Kind::Tensor | Kind::DataPointer => tensor(object, place)?,
        Kind::NumpyArray => memory::numpy(object, place)?,
        Kind::ArrayInterface => memory::array_interface(object, place)?,
        Kind::DeviceArrayInterface => memory::device_interface(object, place)?,
        Kind::Dlpack => memory::dlpack(object, place, keep)?,
        _ => return Ok(None),
    }))
}

/// Elements and address of a tensor that torch reads quickly, if it lies where launches want it.
#[inline]
pub(crate) fn plain_tensor(object: Borrowed<'_, '_, PyAny>, place: &Place) -> Option<(DType, u64)> {
    let tensor = torch::read(object)?;
    place.has_code(object.py(), tensor.device).then_some((tensor.dtype, tensor.address))
}

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

/// A pointer to elements of a dtype object.
#[inline]
pub(crate) fn pointer(ty: Borrowed<'_, '_, PyAny>, address: u64) -> PyResult<Argument> {
    match dtype::scalar_of(ty)? {
        Some(Scalar::Number(dtype)) => Ok(Argument::Pointer { dtype, address }),
        _ => Err(PyTypeError::new_err(format!("holds elements of type {}, which kernels do not know", &*ty))),
    }
}

/// An object with `data_ptr()` and `dtype`, asked in Python.
fn tensor(object: Borrowed<'_, '_, PyAny>, place: &Place) -> PyResult<Argument> {
    let py: Python<'_> = object.py();
    let mut argument = data_pointer(object)?;
    let Some(where_it_is) = object.getattr_opt(intern!(py, "device"))? else { return Ok(argument) };
    let name = match where_it_is.getattr_opt(intern!(py, "type"))? {
        Some(name) => name.str()?.to_string(),
        None => where_it_is.str()?.to_string(),
    };
    if name == place.arrays || name == "None" {
        return Ok(argument);
    }
    let is_on = where_it_is.str()?.to_string();
    if name != "cpu" {
        return Err(place.wrong_device(&is_on));
    }
    if let Argument::Pointer { address, .. } = &mut argument {
        *address = place.reach_host(*address, &is_on)?;
    }
    Ok(argument)
}
