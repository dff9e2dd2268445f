//! Interpreted launches of tensors in the memory of a device: they are run on copies in the memory of the host.

use super::bind::Call;
use crate::arguments::kind::{Kind, kind_of};
use crate::arguments::tensor::plain_tensor;
use crate::devices::active::Active;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyResult, Python};
use pyo3::types::PyAnyMethods;

/// The arguments of a call with copies in place of what lies elsewhere.
pub(crate) struct Staged<'py> {
    /// Holds the objects that the pointers are of.
    _objects: Vec<Py<PyAny>>,
    pointers: Vec<*mut ffi::PyObject>,
    copy_back: Bound<'py, PyAny>,
}

impl<'py> Staged<'py> {
    /// The arguments of a call; `None` where nothing needs to be copied.
    pub(crate) fn of(py: Python<'py>, active: &Active, call: &Call<'_>) -> PyResult<Option<Staged<'py>>> {
        // SAFETY: the values are objects of the call.
        let object = |&value: &*mut ffi::PyObject| unsafe { Borrowed::<PyAny>::from_ptr(py, value) };
        let mut may_be_elsewhere = false;
        for value in call.values().iter().map(object) {
            may_be_elsewhere |= match kind_of(value)? {
                Kind::PlainTensor => plain_tensor(value, &active.place).is_none(),
                Kind::Tensor
                | Kind::DataPointer
                | Kind::Descriptor
                | Kind::Tuple
                | Kind::DeviceArrayInterface => true,
                _ => false,
            };
        }
        if !may_be_elsewhere {
            return Ok(None);
        }
        let values: Vec<_> = call.values().iter().map(object).collect();
        let staged = py.import("deuteron.runtime._staging")?.call_method1("stage", (values,))?;
        let Some((objects, copy_back)) = staged.extract::<Option<(Vec<Py<PyAny>>, Bound<'py, PyAny>)>>()?
        else {
            return Ok(None);
        };
        let pointers = objects.iter().map(Py::as_ptr).collect();
        Ok(Some(Staged { _objects: objects, pointers, copy_back }))
    }

    /// Launches with the copies. What was stored is copied back, also where the launch ends in an error.
    pub(crate) fn launch(
        self,
        call: &Call<'_>,
        launch: impl FnOnce(&Call<'_>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = launch(&call.with_values(&self.pointers));
        self.copy_back.call0()?;
        result
    }
}
