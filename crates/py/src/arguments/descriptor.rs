//! Tensor descriptors as Python has them, `triton.tools.tensor_descriptor.TensorDescriptor`: read at a launch, checked
//! when made.

use super::dtype;
use super::kind::{Kind, kind_of};
use super::number::plain_int;
use super::read;
use super::tensor::plain_tensor;
use crate::devices::place::Place;
use frontend::Scalar;
use pyo3::exceptions::{PyAssertionError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, pyfunction};
use pyo3::types::{PyAnyMethods, PyList, PyListMethods, PyString, PyStringMethods, PyTuple, PyTupleMethods};
use runtime::specialize::{Argument, Dims, TensorArgument};

/// Types of tensors that stand for others while programs are traced; they have no address.
const WITHOUT_MEMORY: [&str; 2] = ["FakeTensor", "FunctionalTensor"];

/// Reads a descriptor. Whether it keeps the rules, says [`TensorArgument::check`].
pub(crate) fn read(
    object: Borrowed<'_, '_, PyAny>,
    place: &Place,
    keep: &mut Vec<Py<PyAny>>,
) -> PyResult<TensorArgument> {
    let py = object.py();
    let base = object.getattr(intern!(py, "base"))?;
    let base = base.as_borrowed();
    let kind = kind_of(base)?;
    let plain = if kind == Kind::PlainTensor { plain_tensor(base, place) } else { None };
    let (dtype, address) = match plain {
        Some(plain) => plain,
        None => match read::read(base, kind, place, keep)? {
            Some(Argument::Pointer { dtype, address }) => (dtype, address),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "is a tensor descriptor of a {}, which is no tensor",
                    base.get_type()
                )));
            }
        },
    };
    Ok(TensorArgument {
        dtype,
        address,
        shape: dims(&object.getattr(intern!(py, "shape"))?, "shape")?,
        strides: dims(&object.getattr(intern!(py, "strides"))?, "strides")?,
        block: dims(&object.getattr(intern!(py, "block_shape"))?, "block_shape")?,
        pads_nan: pads_nan(&object.getattr(intern!(py, "padding"))?)?,
        rounds_to_tf32: object.getattr(intern!(py, "round_f32_to_tf32"))?.is_truthy()?,
    })
}

/// The numbers of a list, a tuple or what is like them.
fn dims(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Dims> {
    let mut dims = Dims::new();
    if let Ok(items) = object.cast::<PyTuple>() {
        for item in items.iter_borrowed() {
            dims.push(number(item, what)?);
        }
    } else if let Ok(items) = object.cast::<PyList>() {
        for item in items.iter() {
            dims.push(number(item.as_borrowed(), what)?);
        }
    } else {
        for item in object.try_iter()? {
            dims.push(number(item?.as_borrowed(), what)?);
        }
    }
    Ok(dims)
}

fn number(object: Borrowed<'_, '_, PyAny>, what: &str) -> PyResult<i64> {
    if let Some(value) = plain_int(object) {
        return Ok(value);
    }
    // A `constexpr` is a number as well.
    let value = object.getattr_opt(intern!(object.py(), "value"))?;
    let value = value.as_ref().map_or(object, Bound::as_borrowed);
    value.extract().map_err(|_| {
        PyTypeError::new_err(format!(
            "is a tensor descriptor whose {what} holds a {}: integers are expected",
            object.get_type()
        ))
    })
}

fn pads_nan(padding: &Bound<'_, PyAny>) -> PyResult<bool> {
    let text = padding.cast::<PyString>().ok().map(|text| text.to_cow()).transpose()?;
    match text.as_deref() {
        Some("zero") => Ok(false),
        Some("nan") => Ok(true),
        _ => Err(PyAssertionError::new_err(format!(
            "Illegal value for padding: {}; it may be 'zero' or 'nan'",
            padding.repr()?
        ))),
    }
}

/// Whether a descriptor of these parts keeps the rules, as far as can be said without a launch.
#[pyfunction]
pub(crate) fn check_descriptor(
    base: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    strides: &Bound<'_, PyAny>,
    block_shape: &Bound<'_, PyAny>,
    padding: &Bound<'_, PyAny>,
    round_f32_to_tf32: bool,
) -> PyResult<()> {
    let py = base.py();
    let dtype = base.getattr(intern!(py, "dtype"))?;
    let Some(Scalar::Number(dtype)) = dtype::scalar_of(dtype.as_borrowed())? else {
        return Err(PyTypeError::new_err(format!(
            "a tensor descriptor of elements of type {dtype}, which kernels do not know"
        )));
    };
    let tensor = TensorArgument {
        dtype,
        address: address_of(base)?,
        shape: dims(shape, "shape")?,
        strides: dims(strides, "strides")?,
        block: dims(block_shape, "block_shape")?,
        pads_nan: pads_nan(padding)?,
        rounds_to_tf32: round_f32_to_tf32,
    };
    let broken = |message: String| -> PyErr { PyAssertionError::new_err(message) };
    tensor.check().map_err(broken)?;
    tensor.check_block().map_err(PyValueError::new_err)
}

/// Where a tensor lies; 0 where only a launch can say.
fn address_of(base: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = base.py();
    let name = base.get_type().getattr(intern!(py, "__name__"))?.str()?.to_string();
    if WITHOUT_MEMORY.contains(&name.as_str()) {
        return Ok(0);
    }
    if base.hasattr(intern!(py, "data_ptr"))? {
        return base.call_method0(intern!(py, "data_ptr"))?.extract();
    }
    match base.getattr_opt(intern!(py, "__array_interface__"))? {
        Some(interface) => interface.get_item("data")?.get_item(0)?.extract(),
        None => Ok(0),
    }
}

/// The tensor of a descriptor.
pub(crate) fn base<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    object.getattr(intern!(object.py(), "base"))
}
