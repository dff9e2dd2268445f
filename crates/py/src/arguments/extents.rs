//! How far the memory of arguments goes, for engines that check every access.

use super::kind::{Kind, kind_of};
use super::{array, descriptor};
use crate::devices::torch;
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyTuple, PyTupleMethods};
use target::Extent;

/// How far the memory of arguments goes, for the interpreter. What does not say so is left out: DLPack, which may be
/// asked only once, and bare pointers.
pub(crate) fn extents<'a, 'py: 'a>(
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<Vec<Extent>> {
    let mut all = Vec::new();
    for value in values {
        match kind_of(value)? {
            Kind::NumpyArray => all.extend(numpy_extent(value.to_owned())?),
            Kind::ArrayInterface => all.extend(interface_extent(&value)?),
            Kind::PlainTensor | Kind::Tensor => all.extend(storage_extent(value).ok()),
            Kind::Descriptor => {
                let base = descriptor::base(value)?;
                all.extend(extents(std::iter::once(base.as_borrowed()))?);
            }
            Kind::Tuple => {
                let items = value.cast::<PyTuple>()?;
                all.extend(extents(items.iter_borrowed())?);
            }
            _ => {}
        }
    }
    Ok(all)
}

/// How far the memory of arguments goes, for launches that compare it: quickly where objects are known, and what a
/// library says no more of is left out.
pub(crate) fn quick_extents<'a, 'py: 'a>(
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<Vec<Extent>> {
    let mut all = Vec::with_capacity(8);
    for value in values {
        let quick = match kind_of(value)? {
            Kind::None | Kind::Bool | Kind::Int | Kind::Float => continue,
            Kind::PlainTensor => torch::storage(value),
            Kind::NumpyArray => array::owner(value),
            _ => None,
        };
        match quick {
            Some(extent) => all.push(extent),
            None => all.extend(extents(std::iter::once(value))?),
        }
    }
    Ok(all)
}

/// The memory of the array that owns it.
fn numpy_extent(mut array: Bound<'_, PyAny>) -> PyResult<Option<Extent>> {
    loop {
        let base = array.getattr(intern!(array.py(), "base"))?;
        if base.is_none() || kind_of(base.as_borrowed())? != Kind::NumpyArray {
            break;
        }
        array = base;
    }
    interface_extent(&array)
}

/// The bytes between the first and the last element of an object with `__array_interface__`.
fn interface_extent(array: &Bound<'_, PyAny>) -> PyResult<Option<Extent>> {
    let interface = array.getattr(intern!(array.py(), "__array_interface__"))?;
    let (address, read_only): (u64, bool) = interface.get_item("data")?.extract()?;
    let shape: Vec<i64> = interface.get_item("shape")?.extract()?;
    let text: String = interface.get_item("typestr")?.extract()?;
    let Some(item) = text.get(2..).and_then(|size| size.parse::<i64>().ok()) else { return Ok(None) };
    let strides = interface.call_method1("get", ("strides",))?.extract::<Option<Vec<i64>>>()?;
    if shape.contains(&0) {
        return Ok(Some(Extent { base: address, len: 0, writable: !read_only }));
    }
    let (mut below, mut above, mut dense) = (0, 0, item);
    for (dim, size) in shape.iter().enumerate().rev() {
        let step =
            (size - 1) * strides.as_ref().and_then(|strides| strides.get(dim)).copied().unwrap_or(dense);
        dense *= size;
        below += step.min(0);
        above += step.max(0);
    }
    Ok(Some(Extent {
        base: address.wrapping_add_signed(below),
        len: (above - below + item).unsigned_abs(),
        writable: !read_only,
    }))
}

/// The storage that a tensor looks at.
pub(crate) fn storage_extent(tensor: Borrowed<'_, '_, PyAny>) -> PyResult<Extent> {
    let storage = tensor.call_method0(intern!(tensor.py(), "untyped_storage"))?;
    Ok(Extent {
        base: storage.call_method0(intern!(tensor.py(), "data_ptr"))?.extract()?,
        len: storage.call_method0(intern!(tensor.py(), "nbytes"))?.extract()?,
        writable: true,
    })
}
