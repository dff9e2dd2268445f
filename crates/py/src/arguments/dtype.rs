//! Element types of Python objects: of torch, NumPy, ml_dtypes and the language itself.

use frontend::{DType, Scalar};
use pyo3::intern;
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyString, PyStringMethods};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Dtype objects by address. A reference is held, so that an address never means another object.
type Known = FxHashMap<usize, (Py<PyAny>, Scalar)>;

/// Those seen so far.
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// Dtype objects are few; a program that makes them without end is not let fill the memory.
const MOST_KNOWN: usize = 4096;

/// Names that differ from the language's own.
const OTHER_NAMES: &[(&str, DType)] = &[
    ("bool", DType::Int1),
    ("bool_", DType::Int1),
    ("half", DType::Fp16),
    ("double", DType::Fp64),
    ("float8_e5m2", DType::Fp8E5),
    ("float8_e5m2fnuz", DType::Fp8E5B16),
    ("float8_e4m3fn", DType::Fp8E4Nv),
    ("float8_e4m3fnuz", DType::Fp8E4B8),
];

/// The type that a dtype object stands for; `None` where it is of none that kernels know.
#[inline]
pub(crate) fn scalar_of(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Scalar>> {
    let address = object.as_ptr() as usize;
    {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scalar)) = known.as_ref().and_then(|known| known.get(&address)) {
            return Ok(Some(*scalar));
        }
    }
    let found = read(object)?;
    if let Some(scalar) = found {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(FxHashMap::default);
        if known.len() < MOST_KNOWN {
            known.insert(address, (object.to_owned().unbind(), scalar));
        }
    }
    Ok(found)
}

fn read(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Some(scalar) = own(object)? {
        return Ok(Some(scalar));
    }
    Ok(from_text(&object.str()?.to_cow()?).map(Scalar::Number))
}

/// A dtype or pointer type of the language.
pub(crate) fn own(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Scalar>> {
    let Some(text) = object.getattr_opt(intern!(object.py(), "__deuteron_dtype__"))? else { return Ok(None) };
    let Ok(text) = text.cast_into::<PyString>() else { return Ok(None) };
    Ok(frontend::signature::parse_type(&text.to_cow()?))
}

/// The type of a name such as `torch.float32`, `float32`, `fp32`.
pub(crate) fn from_text(text: &str) -> Option<DType> {
    let name = text.rsplit('.').next().unwrap_or(text);
    OTHER_NAMES
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, dtype)| *dtype)
        .or_else(|| DType::from_name(name))
        .filter(|dtype| *dtype != DType::Void)
}
