//! Arguments that are several values: tuples, and what kernels take as one.

use super::kind::{Kind, kind_of};
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyTuple};

/// The values of an argument that is a tuple, or a descriptor of a tensor without its type, which is an address and two
/// sizes.
pub(crate) fn items<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    if kind_of(object)? != Kind::TensorMap {
        return Ok(object.to_owned().cast_into()?);
    }
    let py = object.py();
    let module = py.import(intern!(py, "deuteron.tools.experimental_descriptor"))?;
    Ok(module.call_method1(intern!(py, "parts"), (object,))?.cast_into()?)
}
