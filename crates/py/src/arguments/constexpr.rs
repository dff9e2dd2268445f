//! Constexpr arguments as words of a launch key.
//!
//! Numbers, `None` and dtypes are words by themselves. Anything else gets a number from an [`ObjectTable`]: the same
//! object, or an equal one of the same type that also prints the same, has the same number.

use super::dtype;
use super::kind::{Kind, kind_of};
use super::nesting;
use super::number::number;
use frontend::Scalar;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::{Borrowed, Py, PyAny, PyErr, PyResult, Python};
use pyo3::types::{
    PyAnyMethods, PyDict, PyDictMethods, PyList, PyListMethods, PyTuple, PyTupleMethods, PyType,
};
use runtime::specialize::{Argument, LaunchKey};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy)]
enum Entry {
    Number(u32),
    Scalar(Scalar),
}

/// Objects that are part of launch keys, by number. References are held, so that an address never means another object.
#[derive(Default)]
pub(crate) struct ObjectTable {
    by_address: FxHashMap<usize, Entry>,
    by_value: Option<Py<PyDict>>,
    objects: Vec<Py<PyAny>>,
    held: Vec<Py<PyAny>>,
}

/// How many objects are found by address alone; beyond that equal ones are looked for each time.
const MOST_HELD: usize = 1024;

impl ObjectTable {
    /// The objects by their numbers.
    pub(crate) fn objects(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.objects.iter().map(|object| object.clone_ref(py)).collect()
    }

    /// The number of an object.
    fn number(&mut self, object: Borrowed<'_, '_, PyAny>) -> PyResult<Entry> {
        let address = object.as_ptr() as usize;
        if let Some(entry) = self.by_address.get(&address) {
            return Ok(*entry);
        }
        let entry = self.entry_of(object)?;
        if self.held.len() < MOST_HELD {
            self.held.push(object.to_owned().unbind());
            self.by_address.insert(address, entry);
        }
        Ok(entry)
    }

    fn entry_of(&mut self, object: Borrowed<'_, '_, PyAny>) -> PyResult<Entry> {
        if !object.is_instance_of::<PyType>()
            && let Some(scalar) = dtype::own(object)?
        {
            return Ok(Entry::Scalar(scalar));
        }
        let py = object.py();
        // Equality alone would take `Config(1)` for `Config(True)`.
        let name =
            PyTuple::new(py, [object.get_type().into_any(), object.to_owned(), object.repr()?.into_any()])?;
        let by_value = self.by_value.get_or_insert_with(|| PyDict::new(py).unbind()).bind(py);
        if let Some(number) = by_value.get_item(&name)? {
            return Ok(Entry::Number(number.extract()?));
        }
        let number = u32::try_from(self.objects.len())
            .map_err(|_| PyTypeError::new_err("too many constexpr objects"))?;
        by_value.set_item(&name, number)?;
        self.objects.push(object.to_owned().unbind());
        Ok(Entry::Number(number))
    }

    /// The number of the names of a `namedtuple`'s fields.
    pub(crate) fn fields(&mut self, object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<u32>> {
        let Some(names) = field_names(object)? else { return Ok(None) };
        let names = PyTuple::new(object.py(), names)?;
        match self.entry_of(names.as_any().as_borrowed())? {
            Entry::Number(number) => Ok(Some(number)),
            Entry::Scalar(_) => Ok(None),
        }
    }

    /// Writes the words of a constexpr.
    pub(crate) fn write(&mut self, object: Borrowed<'_, '_, PyAny>, key: &mut LaunchKey) -> PyResult<()> {
        let kind = kind_of(object)?;
        if write_number(object, kind, key)? {
            return Ok(());
        }
        match kind {
            Kind::Constexpr => {
                let _level = nesting::enter()?;
                let inner = object.getattr(intern!(object.py(), "value"))?;
                return self.write(inner.as_borrowed(), key);
            }
            Kind::Tuple => {
                let _level = nesting::enter()?;
                let items = object.cast::<PyTuple>()?;
                let fields = self.fields(object)?;
                key.const_tuple(length(items.len())?, fields);
                for item in items.iter_borrowed() {
                    self.write(item, key)?;
                }
            }
            Kind::NumpyArray | Kind::Tensor | Kind::DataPointer | Kind::Dlpack | Kind::ArrayInterface => {
                return Err(PyTypeError::new_err(
                    "is an array, and a tl.constexpr parameter takes values that are known at compile time",
                ));
            }
            _ => match object.cast::<PyList>() {
                Ok(items) => {
                    let _level = nesting::enter()?;
                    key.const_tuple(length(items.len())?, None);
                    for item in items.iter() {
                        self.write(item.as_borrowed(), key)?;
                    }
                }
                Err(_) => self.write_object(object, key)?,
            },
        }
        Ok(())
    }

    fn write_object(&mut self, object: Borrowed<'_, '_, PyAny>, key: &mut LaunchKey) -> PyResult<()> {
        match self.number(object)? {
            Entry::Number(number) => key.object(number),
            Entry::Scalar(scalar) => key.dtype(scalar),
        }
        Ok(())
    }
}

/// Writes `None` and numbers that fit a word; false for anything else.
#[inline]
pub(crate) fn write_number(
    object: Borrowed<'_, '_, PyAny>,
    kind: Kind,
    key: &mut LaunchKey,
) -> PyResult<bool> {
    let is_wide = |error: &PyErr| kind == Kind::Int && error.is_instance_of::<PyOverflowError>(object.py());
    let value = match number(object, kind) {
        Err(error) if is_wide(&error) => return Ok(false),
        value => value?,
    };
    match kind {
        Kind::None => key.none(),
        _ => match value {
            Some(Argument::Bool(value)) => key.bool(value),
            Some(Argument::Int(value)) => key.int(value),
            Some(Argument::Float(value)) => key.float(value),
            _ => return Ok(false),
        },
    }
    Ok(true)
}

pub(crate) fn length(len: usize) -> PyResult<u32> {
    u32::try_from(len).map_err(|_| PyTypeError::new_err("has too many elements"))
}

/// The names of the fields of a `namedtuple`.
pub(crate) fn field_names(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Vec<String>>> {
    match object.getattr_opt(intern!(object.py(), "_fields"))? {
        Some(names) => Ok(names.extract().ok()),
        None => Ok(None),
    }
}
