//! Values as slots for a kernel whose types are fixed already.

use crate::arguments::kind::{Kind, kind_of};
use crate::arguments::{descriptor, read, tuple};
use crate::devices::place::Place;
use crate::errors::OrRaise;
use frontend::ArgSpec;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::{Borrowed, Py, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyTupleMethods};
use runtime::specialize::{LaunchKey, ParamRules};

/// Values as slots for a kernel whose types are fixed already.
pub(crate) struct Pack<'a> {
    pub(crate) slots: Vec<u64>,
    pub(crate) keep: Vec<Py<PyAny>>,
    pub(crate) place: &'a Place,
}

impl Pack<'_> {
    /// Adds the slots of an argument.
    pub(crate) fn arg(&mut self, arg: &ArgSpec, value: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
        match arg {
            ArgSpec::Constexpr(_) => Ok(()),
            ArgSpec::Runtime { ty, known } => {
                let kind = kind_of(value)?;
                let argument = read::read(value, kind, self.place, &mut self.keep)?.ok_or_else(|| {
                    PyTypeError::new_err(format!("a kernel cannot be given a {}", value.get_type()))
                })?;
                let rules = ParamRules { fixed: Some(*ty), ..ParamRules::default() };
                let slot = rules.apply(argument, 0, &mut LaunchKey::new()).or_raise(value.py())?;
                if let Some(other) = slot.filter(|slot| known.one && *slot != 1) {
                    return Err(PyValueError::new_err(format!(
                        "{} is given where the kernel was compiled for 1; launch the function, which is compiled for both, \
                         or name the parameter in do_not_specialize",
                        other.cast_signed()
                    )));
                }
                self.slots.extend(slot);
                Ok(())
            }
            ArgSpec::Descriptor(spec) => {
                if kind_of(value)? != Kind::Descriptor {
                    let wanted = frontend::signature::descriptor_text(spec);
                    let text = format!("a {} is given where the kernel takes a {wanted}", value.get_type());
                    return Err(PyTypeError::new_err(text));
                }
                let tensor = descriptor::read(value, self.place, &mut self.keep)?;
                tensor.fits(spec).or_raise(value.py())?;
                self.slots.extend(tensor.slots());
                Ok(())
            }
            ArgSpec::Tuple { items, .. } => {
                let values = tuple::items(value)?;
                if values.len() != items.len() {
                    return Err(PyTypeError::new_err(format!(
                        "a tuple of {} values is expected",
                        items.len()
                    )));
                }
                items.iter().zip(values.iter_borrowed()).try_for_each(|(item, value)| self.arg(item, value))
            }
        }
    }
}
