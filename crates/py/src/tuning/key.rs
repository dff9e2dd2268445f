//! The key of a launch of a tuned kernel: the values of some parameters, and the dtypes of all tensors.

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::{Bound, PyAny, PyResult, pyfunction};
use pyo3::types::{
    PyAnyMethods, PyBool, PyDict, PyDictMethods, PyFloat, PyInt, PyString, PyTuple, PyTupleMethods,
};

/// The values of the parameters `keys`, then the dtype of each argument that has one, as text, in the order of the
/// parameters `names` for those given by position (`args`) and of `kwargs` for the others. What is no parameter is left
/// out; a keyword takes the place of what stands there by position. Every tuned launch asks for it.
#[pyfunction]
pub(crate) fn tuning_key<'py>(
    names: &Bound<'py, PyAny>,
    keys: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = names.py();
    let given = Given { names: names.try_iter()?.collect::<PyResult<_>>()?, args, kwargs };
    let mut key = Vec::with_capacity(args.len());
    for name in keys.try_iter()? {
        key.extend(given.value(&name?)?);
    }
    for (name, value) in given.names.iter().zip(args.iter()) {
        key.extend(dtype(&kwargs.get_item(name)?.unwrap_or(value))?);
    }
    for (name, value) in kwargs.iter() {
        if given.position(&name)?.is_some_and(|at| at >= args.len()) {
            key.extend(dtype(&value)?);
        }
    }
    PyTuple::new(py, key)
}

/// The arguments of a launch.
struct Given<'a, 'py> {
    names: Vec<Bound<'py, PyAny>>,
    args: &'a Bound<'py, PyTuple>,
    kwargs: &'a Bound<'py, PyDict>,
}

impl<'py> Given<'_, 'py> {
    fn position(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<usize>> {
        if let Some(at) = self.names.iter().position(|own| own.is(name)) {
            return Ok(Some(at));
        }
        for (at, own) in self.names.iter().enumerate() {
            if own.eq(name)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The argument of a parameter, if it is one and was given.
    fn value(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(at) = self.position(name)? else { return Ok(None) };
        match self.kwargs.get_item(name)? {
            None => Ok(self.args.get_item(at).ok()),
            given => Ok(given),
        }
    }
}

/// The dtype of a value as text, if it has one.
fn dtype<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_number = value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>();
    if is_number || value.is_none() || value.is_exact_instance_of::<PyString>() {
        return Ok(None);
    }
    match value.getattr(intern!(value.py(), "dtype")) {
        Ok(dtype) => Ok(Some(dtype.str()?.into_any())),
        Err(error) if error.is_instance_of::<PyAttributeError>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}
