//! What kind of argument a Python object is.
//!
//! Kinds are remembered by type, so that a launch asks an object only for what changes: the address and the dtype.

use crate::devices::torch;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyFloat, PyInt, PyString, PyTuple, PyType, PyTypeMethods};
use pyo3::{ffi, intern};
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
    /// A descriptor of a tensor without its type, as older releases have it.
    TensorMap,
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

/// Kinds of types by the type's address, with a reference to the type, so that an address never means another type; no
/// kind where a type says nothing of its objects.
type Known = FxHashMap<usize, (Py<PyType>, Option<Kind>)>;

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
        if let Some(&(_, Some(kind))) = known.as_ref().and_then(|known| known.get(&(ty as usize))) {
            return Ok(kind);
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
    if is_silent(&ty) {
        return kind_of_one(object);
    }
    let kind = kind_of_type(&ty)?;
    if kind == Some(Kind::Tensor) && torch::learn(object, &ty)? {
        return Ok(Kind::PlainTensor);
    }
    {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(FxHashMap::default);
        if known.len() < MOST_KNOWN {
            known.insert(ty.as_ptr() as usize, (ty.unbind(), kind));
        }
    }
    kind.map_or_else(|| kind_of_one(object), Ok)
}

/// Whether a type is known to say nothing of its objects.
fn is_silent(ty: &Bound<'_, PyType>) -> bool {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().is_some_and(|known| known.contains_key(&(ty.as_ptr() as usize)))
}

/// The kind of an object whose type says nothing: what one has, the next of its type may not have.
fn kind_of_one(object: Borrowed<'_, '_, PyAny>) -> PyResult<Kind> {
    let pointer = object.hasattr(intern!(object.py(), "data_ptr"))?;
    Ok(if pointer { Kind::DataPointer } else { Kind::Other })
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
    if ty.hasattr(intern!(py, "__deuteron_dtype__"))? {
        return Ok(Some(Kind::Other));
    }
    if ty.hasattr(intern!(py, "__deuteron_descriptor__"))? {
        return Ok(Some(Kind::Descriptor));
    }
    if has("tma_desc_cpu_ptr")? {
        return Ok(Some(Kind::TensorMap));
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
