//! Operands as bytes of a key, and as forms for the front end.

use super::state::State;
use super::value::KernelValue;
use crate::arguments::constexpr::field_names;
use crate::arguments::nesting;
use crate::kernel::globals::PyGlobals;
use frontend::PyValue;
use frontend::eager::Form;
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult};
use pyo3::types::{
    PyAnyMethods, PyBool, PyBoolMethods, PyDict, PyDictMethods, PyFloat, PyInt, PyList, PyListMethods,
    PySlice, PyString, PyStringMethods, PyTuple, PyTupleMethods, PyTypeMethods,
};
use smallvec::SmallVec;
use ttir::interp::BlockData;

/// The bytes and constants that the arguments of a call are encoded as.
#[derive(Default)]
pub(super) struct Encoded {
    /// The bytes.
    pub(super) key: SmallVec<[u8; 96]>,
    /// The run-time parts of the operands, in order.
    pub(super) parts: SmallVec<[BlockData; 4]>,
}

impl Encoded {
    /// Adds a name.
    pub(super) fn name(&mut self, name: &str) {
        self.key.extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.key.extend_from_slice(name.as_bytes());
    }

    /// Adds an operand.
    pub(super) fn operand(&mut self, state: &mut State, object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
        if let Ok(value) = object.cast::<KernelValue>() {
            let value = value.get();
            value.check_thread(state)?;
            self.key.push(b'V');
            self.key.extend_from_slice(&value.value.form.to_le_bytes());
            self.parts.extend(value.value.parts.iter().cloned());
            return Ok(());
        }
        if self.number(object)? {
            return Ok(());
        }
        if let Ok(text) = object.cast::<PyString>() {
            self.key.push(b'S');
            self.name(&text.to_cow()?);
            return Ok(());
        }
        if let Some(items) = items(object)? {
            let _level = nesting::enter()?;
            self.key.push(b'(');
            let ty = if object.is_exact_instance_of::<PyTuple>() { 0 } else { object.get_type_ptr() as u64 };
            self.key.extend_from_slice(&ty.to_le_bytes());
            for item in items {
                self.operand(state, item.as_borrowed())?;
            }
            self.key.push(b')');
            return Ok(());
        }
        self.other(state, object)
    }

    /// `None`, booleans, integers and floats.
    fn number(&mut self, object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
        if object.is_none() {
            self.key.push(b'N');
        } else if let Ok(value) = object.cast::<PyBool>() {
            self.key.push(if value.is_true() { b'T' } else { b'F' });
        } else if object.is_exact_instance_of::<PyInt>() {
            match object.extract::<i64>() {
                Ok(value) => {
                    self.key.push(b'I');
                    self.key.extend_from_slice(&value.to_le_bytes());
                }
                Err(_) => {
                    self.key.push(b'J');
                    self.name(&object.str()?.to_cow()?);
                }
            }
        } else if object.is_instance_of::<PyFloat>() {
            self.key.push(b'D');
            self.key.extend_from_slice(&object.extract::<f64>()?.to_bits().to_le_bytes());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Slices, constexprs, numbers of other libraries, and objects by their addresses.
    fn other(&mut self, state: &mut State, object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
        if object.is_instance_of::<PySlice>() {
            let _level = nesting::enter()?;
            self.key.push(b'L');
            for part in slice_parts(object)? {
                self.operand(state, part.as_borrowed())?;
            }
            return Ok(());
        }
        if let Some((_, bytes)) = state.known.get(&(object.as_ptr() as usize)) {
            self.key.extend_from_slice(bytes);
            return Ok(());
        }
        if let Some(inner) = inner(object)? {
            let _level = nesting::enter()?;
            return self.operand(state, inner.as_borrowed());
        }
        let mut bytes = vec![b'O'];
        bytes.extend_from_slice(&(object.as_ptr() as u64).to_le_bytes());
        self.key.extend_from_slice(&bytes);
        state.known.insert(object.as_ptr() as usize, (object.to_owned().unbind(), bytes.into()));
        Ok(())
    }
}

/// The items of a tuple, list or dictionary, a tuple of the language too.
fn items<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if let Ok(items) = object.cast::<PyTuple>() {
        return Ok(Some(items.iter().collect()));
    }
    if let Ok(items) = object.cast::<PyList>() {
        return Ok(Some(items.iter().collect()));
    }
    // A dictionary is its pairs.
    if let Ok(pairs) = object.cast::<PyDict>() {
        return Ok(Some(pairs.items().iter().collect()));
    }
    if is_of_class(object, "tuple")? {
        let items = object.getattr(intern!(object.py(), "values"))?;
        return Ok(Some(items.cast::<PyList>()?.iter().collect()));
    }
    Ok(None)
}

/// Whether an object is an instance of this class of the language.
pub(super) fn is_of_class(object: Borrowed<'_, '_, PyAny>, name: &str) -> PyResult<bool> {
    let mark = object.get_type().getattr_opt(intern!(object.py(), "__deuteron_builtin__"))?;
    Ok(match mark {
        Some(mark) => mark.extract::<String>().is_ok_and(|mark| mark == name),
        None => false,
    })
}

/// What a constexpr holds, and the plain number that a number of another library is.
fn inner<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if is_of_class(object, "constexpr")? {
        return object.getattr(intern!(py, "value")).map(Some);
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Some(object.extract::<i128>().map(|value| value.into_pyobject_any(py))??));
    }
    // Scalars of NumPy; arrays have more dimensions.
    if object.get_type().module()?.to_cow()? == "numpy"
        && object
            .getattr_opt(intern!(py, "ndim"))?
            .is_some_and(|rank| rank.extract::<usize>().is_ok_and(|rank| rank == 0))
    {
        return object.call_method0(intern!(py, "item")).map(Some);
    }
    Ok(None)
}

/// A shorter way to a Python integer.
trait IntoAny {
    fn into_pyobject_any(self, py: pyo3::Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

impl IntoAny for i128 {
    fn into_pyobject_any(self, py: pyo3::Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        use pyo3::IntoPyObject;
        Ok(self.into_pyobject(py)?.into_any())
    }
}

fn slice_parts<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<[Bound<'py, PyAny>; 3]> {
    let py = object.py();
    Ok([
        object.getattr(intern!(py, "start"))?,
        object.getattr(intern!(py, "stop"))?,
        object.getattr(intern!(py, "step"))?,
    ])
}

/// The form of an operand.
pub(super) fn form(state: &State, globals: &PyGlobals, object: Borrowed<'_, '_, PyAny>) -> PyResult<Form> {
    if let Ok(value) = object.cast::<KernelValue>() {
        return Ok(state.session.form(value.get().value.form).clone());
    }
    if let Some(items) = items(object)? {
        let fields =
            field_names(object)?.map(|names| names.iter().map(|name| name.as_str().into()).collect());
        let items =
            items.iter().map(|item| form(state, globals, item.as_borrowed())).collect::<PyResult<_>>()?;
        return Ok(Form::tuple(items, fields));
    }
    if object.is_instance_of::<PySlice>() {
        let [start, stop, step] = slice_parts(object)?;
        let part = |part: &Bound<'_, PyAny>| form(state, globals, part.as_borrowed());
        return Ok(Form::slice([part(&start)?, part(&stop)?, part(&step)?]));
    }
    if !object.is_instance_of::<PyBool>()
        && !object.is_exact_instance_of::<PyInt>()
        && let Some(inner) = inner(object)?
    {
        return form(state, globals, inner.as_borrowed());
    }
    Ok(Form::constant(constant(globals, object)?))
}

fn constant(globals: &PyGlobals, object: Borrowed<'_, '_, PyAny>) -> PyResult<PyValue> {
    globals.registry.value(object)
}
