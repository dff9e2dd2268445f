//! What values of running kernels can do as Python objects.

use super::perform::{Ask, perform};
use super::show;
use super::state;
use super::value::{BoundOperation, KernelValue};
use crate::kernel::globals::class_method;
use frontend::typing::Ty;
use pyo3::IntoPyObject;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::{Bound, Py, PyAny, PyErr, PyResult, Python, pymethods};
use pyo3::types::{PyAnyMethods, PyDict, PyTuple, PyTupleMethods};
use runtime::eager::{Element, Parts, Value, element};
use smallvec::smallvec;
use ttir::interp::BlockData;

impl KernelValue {
    /// Its type, if it is one block or scalar.
    fn ty(&self) -> PyResult<Option<Ty>> {
        state::with(|state| {
            self.check_thread(state)?;
            Ok(state.type_of(self.value.form))
        })
    }

    /// Its only element.
    fn only(&self, what: &str) -> PyResult<Element> {
        let Some(ty) = self.ty()? else {
            return Err(PyTypeError::new_err(format!("this value of a kernel has no {what}")));
        };
        if ty.numel() != 1 {
            return Err(PyValueError::new_err(format!(
                "a block of type {ty} has {} elements and no {what}: reduce it first, or use `tl.where` for a choice by element",
                ty.numel()
            )));
        }
        let part = &self.value.parts[0];
        if part.is_undefined(0) {
            let origin = part.undefined_origin().map(|origin| format!(": {origin}")).unwrap_or_default();
            return Err(PyValueError::new_err(format!(
                "this value of a kernel has no defined value{origin}"
            )));
        }
        Ok(element(ty.scalar, part.at(0)))
    }

    fn binary<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        name: &'static str,
    ) -> PyResult<Bound<'py, PyAny>> {
        if is_aggregate(other)? {
            return Ok(slf.py().NotImplemented().into_bound(slf.py()));
        }
        perform(slf.py(), Ask::Binary(name), &[slf.as_any(), other], None)
    }

    fn reflected<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        name: &'static str,
    ) -> PyResult<Bound<'py, PyAny>> {
        if is_aggregate(other)? {
            return Ok(slf.py().NotImplemented().into_bound(slf.py()));
        }
        perform(slf.py(), Ask::Binary(name), &[other, slf.as_any()], None)
    }
}

/// Whether an operand is an object whose class defines operators: numbers and blocks give way to it.
fn is_aggregate(operand: &Bound<'_, PyAny>) -> PyResult<bool> {
    operand.get_type().hasattr(pyo3::intern!(operand.py(), "__triton_aggregate__"))
}

fn number<'py>(py: Python<'py>, element: Element) -> PyResult<Bound<'py, PyAny>> {
    Ok(match element {
        Element::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Element::Int(value) => value.into_pyobject(py)?.into_any(),
        Element::Float(value) => value.into_pyobject(py)?.into_any(),
        Element::Pointer(value) => value.into_pyobject(py)?.into_any(),
    })
}

#[pymethods]
impl KernelValue {
    /// NumPy leaves operators to this class.
    #[classattr]
    #[allow(non_upper_case_globals)]
    const __array_ufunc__: Option<bool> = None;

    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "add")
    }
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "add")
    }
    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "sub")
    }
    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "sub")
    }
    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "mul")
    }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "mul")
    }
    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "truediv")
    }
    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "truediv")
    }
    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "floordiv")
    }
    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "floordiv")
    }
    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "mod")
    }
    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "mod")
    }
    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "lshift")
    }
    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "lshift")
    }
    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "rshift")
    }
    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "rshift")
    }
    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "and")
    }
    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "and")
    }
    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "or")
    }
    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "or")
    }
    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::binary(slf, other, "xor")
    }
    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::reflected(slf, other, "xor")
    }
    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        perform(slf.py(), Ask::Unary("neg"), &[slf.as_any()], None)
    }
    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        perform(slf.py(), Ask::Unary("pos"), &[slf.as_any()], None)
    }
    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        perform(slf.py(), Ask::Unary("invert"), &[slf.as_any()], None)
    }
    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        perform(slf.py(), Ask::Call("abs"), &[slf.as_any()], None)
    }

    /// `not x` of a block or a run-time number.
    fn logical_not<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        perform(slf.py(), Ask::Unary("not"), &[slf.as_any()], None)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = match op {
            CompareOp::Lt => "lt",
            CompareOp::Le => "le",
            CompareOp::Eq => "eq",
            CompareOp::Ne => "ne",
            CompareOp::Gt => "gt",
            CompareOp::Ge => "ge",
        };
        // What is no number is another object to Python, as everywhere.
        if matches!(op, CompareOp::Eq | CompareOp::Ne) && (other.is_none() || other.hasattr("__len__")?) {
            return Ok(slf.py().NotImplemented().into_bound(slf.py()));
        }
        KernelValue::binary(slf, other, name)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> usize {
        slf.as_ptr() as usize
    }

    fn __bool__(&self) -> PyResult<bool> {
        Ok(match self.only("truth value")? {
            Element::Bool(value) => value,
            Element::Int(value) => value != 0,
            Element::Float(value) => value != 0.0,
            Element::Pointer(value) => value != 0,
        })
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = number(py, self.only("integer value")?)?;
        py.get_type::<pyo3::types::PyInt>().call1((value,))
    }

    fn __float__(&self) -> PyResult<f64> {
        Ok(match self.only("value")? {
            Element::Bool(value) => f64::from(u8::from(value)),
            Element::Int(value) => value as f64,
            Element::Float(value) => value,
            Element::Pointer(value) => value as f64,
        })
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.only("integer value")? {
            Element::Float(_) => {
                Err(PyTypeError::new_err("a run-time float cannot be interpreted as an integer"))
            }
            other => number(py, other),
        }
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        perform(slf.py(), Ask::Subscript, &[slf.as_any(), index], None)
    }

    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let missing = |why: String| PyAttributeError::new_err(why);
        if name.starts_with('_') {
            return Err(missing(format!("a value of a kernel has no attribute '{name}'")));
        }
        let compilation = |error: &PyErr| {
            py.import("deuteron.errors")
                .and_then(|module| module.getattr("CompilationError"))
                .is_ok_and(|class| error.is_instance(py, &class))
        };
        let error = match perform(py, Ask::Attribute(name), &[slf.as_any()], None) {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        if !compilation(&error) {
            return Err(error);
        }
        match class_method(py, name)? {
            Some(method) => py.import("types")?.getattr("MethodType")?.call1((method, slf)),
            None => Err(missing(error.value(py).to_string())),
        }
    }

    fn __repr__(&self) -> PyResult<String> {
        state::with(|state| {
            self.check_thread(state)?;
            Ok(show::show(&state.session, &self.value))
        })
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if spec.is_empty() {
            return Ok(slf.str()?.into_any());
        }
        let only = slf.get().only("single value to format")?;
        number(slf.py(), only)?.call_method1("__format__", (spec,))
    }

    /// The class that `isinstance` in a kernel compares with.
    #[getter]
    fn kernel_class(&self) -> PyResult<String> {
        state::with(|state| {
            self.check_thread(state)?;
            Ok(state.session.form(self.value.form).class().to_owned())
        })
    }

    /// Whether it is a block rather than a run-time number.
    #[getter]
    fn is_block(&self) -> PyResult<bool> {
        Ok(self.ty()?.is_some_and(|ty| ty.is_block()))
    }

    /// Its elements as Python numbers, in row-major order; `None` where there is no defined value.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(ty) = self.ty()? else {
            return Err(PyTypeError::new_err("this value of a kernel has no elements"));
        };
        let part = &self.value.parts[0];
        let one = |index: usize| {
            if part.is_undefined(index) {
                return Ok(py.None().into_bound(py));
            }
            number(py, element(ty.scalar, part.at(index)))
        };
        (0..ty.numel() as usize).map(one).collect()
    }

    /// Its elements as a NumPy array of its shape; formats that NumPy does not have become the next one that holds
    /// them.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("deuteron.runtime.interpreter")?;
        module.call_method1("to_numpy", (slf,))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = copy;
        let array = KernelValue::numpy(slf)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// The elements, under the name by which programs for the reference's interpreter ask for them.
    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        KernelValue::numpy(slf)
    }

    /// Itself, under the name by which programs for the reference's interpreter go on to `data`.
    #[getter]
    fn handle<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyAny> {
        slf.clone().into_any()
    }

    /// A number of the same type as this one.
    fn with_number(&self, number: i64) -> PyResult<KernelValue> {
        let bits = match self.ty()?.and_then(|ty| ty.scalar.dtype()) {
            Some(dtype) if dtype.is_int() && dtype.bits() < 64 => number as u64 & ((1 << dtype.bits()) - 1),
            _ => number as u64,
        };
        let parts: Parts = smallvec![BlockData::uniform(bits)];
        Ok(KernelValue { owner: self.owner, value: Value { form: self.value.form, parts } })
    }

    fn __copy__(slf: &Bound<'_, Self>) -> Py<Self> {
        slf.clone().unbind()
    }

    fn __deepcopy__(slf: &Bound<'_, Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf.clone().unbind()
    }
}

#[pymethods]
impl BoundOperation {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let me = slf.get();
        let args: Vec<Bound<'py, PyAny>> = args.iter().collect();
        let all: Vec<&Bound<'py, PyAny>> = std::iter::once(me.receiver.bind(py)).chain(args.iter()).collect();
        perform(py, Ask::Method(&me.name), &all, kwargs)
    }

    fn __repr__(&self) -> String {
        format!("<method {} of a value of a kernel>", self.name)
    }
}
