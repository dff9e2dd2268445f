//! What a step gives, as Python objects.

use super::state::State;
use super::value::{BoundOperation, KernelValue};
use crate::kernel::globals::PyGlobals;
use crate::kernel::value::named_tuple;
use frontend::PyValue;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::{Bound, PyAny, PyResult, Python};
use runtime::eager::{Shape, Value};
use ttir::interp::BlockData;

/// A result that is made of the run-time parts of a step, in order.
pub(super) struct Results<'a, 'py> {
    pub(super) py: Python<'py>,
    pub(super) state: &'a mut State,
    pub(super) globals: &'a PyGlobals,
    pub(super) parts: std::vec::IntoIter<BlockData>,
    /// Which method is being asked for: of which value, and its name.
    pub(super) method: Option<(&'a Bound<'py, PyAny>, &'a str)>,
}

impl<'py> Results<'_, 'py> {
    pub(super) fn object(&mut self, shape: &Shape) -> PyResult<Bound<'py, PyAny>> {
        match shape {
            Shape::Const(value) => self.constant(value),
            Shape::Value(form, count) => {
                let parts = self.parts.by_ref().take(*count).collect();
                let value = KernelValue { owner: self.state.id, value: Value { form: *form, parts } };
                Ok(Bound::new(self.py, value)?.into_any())
            }
            Shape::Tuple(items, fields) => {
                let items = items.iter().map(|item| self.object(item)).collect::<PyResult<Vec<_>>>()?;
                named_tuple(self.py, items, fields.as_deref())
            }
            Shape::Method => match self.method {
                Some((receiver, name)) => {
                    let bound = BoundOperation { receiver: receiver.clone().unbind(), name: name.to_owned() };
                    Ok(Bound::new(self.py, bound)?.into_any())
                }
                None => Err(PyRuntimeError::new_err("a method is not a value here")),
            },
        }
    }

    fn constant(&mut self, value: &PyValue) -> PyResult<Bound<'py, PyAny>> {
        let PyValue::DType(scalar) = value else { return self.globals.registry.to_python(self.py, value) };
        if let Some(known) = self.state.dtypes.get(scalar) {
            return Ok(known.bind(self.py).clone());
        }
        let object = self.globals.registry.to_python(self.py, value)?;
        self.state.dtypes.insert(*scalar, object.clone().unbind());
        Ok(object)
    }
}
