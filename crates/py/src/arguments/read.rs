//! The value of an argument, or where its memory lies.
//!
//! Anything may be an argument that is a number, an array of NumPy, has `data_ptr()` and `dtype` (torch tensors), or
//! speaks DLPack or `__array_interface__`.

use super::array;
use super::kind::Kind;
use super::number::number;
use super::tensor::{plain_tensor, tensor};
use crate::devices::place::Place;
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult};
use runtime::specialize::Argument;

/// The value of an argument of a run-time parameter; `None` for what can only be a constexpr. `keep` takes what must
/// stay alive until the launch is over.
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
        Kind::NumpyArray => array::numpy(object, place)?,
        Kind::ArrayInterface => array::array_interface(object, place)?,
        Kind::DeviceArrayInterface => array::device_interface(object, place)?,
        Kind::Dlpack => array::dlpack(object, place, keep)?,
        _ => return Ok(None),
    }))
}
