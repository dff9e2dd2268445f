//! What the next launch of a function is expected to be, of Python's objects: see [`runtime::launch::Prediction`].

use super::variant::Variant;
use crate::arguments::extents::storage_extent;
use crate::arguments::kind::{Kind, kind_of};
use crate::arguments::number::{number, plain_float, plain_int};
use crate::arguments::tensor::plain_tensor;
use crate::devices::active::Active;
use crate::devices::place::Place;
use crate::devices::torch;
use frontend::DType;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Py, PyAny, Python};
use pyo3::types::{PyAnyMethods, PyString, PyTuple, PyTupleMethods};
use runtime::launch::{Seen, Slots, Value};
use runtime::specialize::{Argument, ParamRules};
use std::sync::Arc;
use target::Extent;

/// What a launch looked like, for the next one that is like it.
pub(crate) struct Prediction {
    pub(crate) active: Arc<Active>,
    pub(crate) variant: Arc<Variant>,
    /// The tuple of names.
    pub(crate) names: Option<Py<PyAny>>,
    /// The values, by position and by name.
    pub(crate) values: runtime::launch::Prediction<Py<PyAny>>,
}

impl Prediction {
    /// Whether the arguments by name have the same names in the same order. A line that passes on a dictionary makes a
    /// new tuple of them each time.
    ///
    /// # Safety
    /// `names` is null or a tuple.
    #[inline]
    pub(crate) unsafe fn has_names(&self, py: Python<'_>, names: *mut ffi::PyObject) -> bool {
        let Some(known) = &self.names else { return names.is_null() };
        if known.as_ptr() == names {
            return true;
        }
        // SAFETY: as promised; the pointer is looked at first.
        let Some(names) = (unsafe { Borrowed::<PyAny>::from_ptr_or_opt(py, names) }) else { return false };
        // SAFETY: both are tuples.
        let (known, names) = unsafe {
            (known.bind_borrowed(py).cast_unchecked::<PyTuple>(), names.cast_unchecked::<PyTuple>())
        };
        known.len() == names.len() && known.iter_borrowed().zip(names.iter_borrowed()).all(|(a, b)| a.is(b))
    }

    /// Fills in the slots; false where something is not as expected.
    ///
    /// # Safety
    /// The values are pointers to live objects.
    #[inline]
    pub(crate) unsafe fn read(
        &self,
        py: Python<'_>,
        values: &[*mut ffi::PyObject],
        slots: &mut Slots,
    ) -> bool {
        let place = &self.active.place;
        let value = |at: usize| {
            // SAFETY: as promised.
            values.get(at).map(|&value| Given { object: unsafe { Borrowed::from_ptr(py, value) }, place })
        };
        self.values.read(value, slots)
    }
}

/// A value of a call.
struct Given<'a, 'py> {
    object: Borrowed<'a, 'py, PyAny>,
    place: &'a Place,
}

impl Value for Given<'_, '_> {
    type Object = Py<PyAny>;

    #[inline]
    fn is(&self, object: &Py<PyAny>) -> bool {
        self.object.is(object)
    }

    #[inline]
    fn int(&self) -> Option<i64> {
        plain_int(self.object)
    }

    #[inline]
    fn float(&self) -> Option<f64> {
        plain_float(self.object)
    }

    #[inline]
    fn memory(&self) -> Option<(DType, u64)> {
        // SAFETY: the object is alive, and reading its type has no other condition.
        if !torch::is_plain(unsafe { ffi::Py_TYPE(self.object.as_ptr()) }) {
            return None;
        }
        // Whether tensors without memory may be launched with is asked elsewhere.
        plain_tensor(self.object, self.place).filter(|&(_, address)| address != 0)
    }

    fn extent(&self) -> Option<Extent> {
        storage_extent(self.object).ok()
    }
}

/// An argument as predictions see it; `None` for what they cannot foresee.
pub(crate) fn seen(value: Borrowed<'_, '_, PyAny>, rules: &ParamRules) -> Option<Seen<Py<PyAny>>> {
    let kind = kind_of(value).ok()?;
    let object = || value.to_owned().unbind();
    let is_number = matches!(kind, Kind::Int | Kind::Float | Kind::Bool | Kind::None);
    if rules.constexpr {
        let is_constant = is_number || value.is_exact_instance_of::<PyString>();
        return is_constant.then(|| Seen::Constant(object()));
    }
    if kind == Kind::PlainTensor {
        let tensor = torch::read(value)?;
        let extent = storage_extent(value).ok();
        return Some(Seen::Memory { dtype: tensor.dtype, address: tensor.address, extent });
    }
    if !is_number {
        return None;
    }
    let argument = number(value, kind).ok()?.unwrap_or(Argument::None);
    Some(Seen::Number(argument, object()))
}
