//! Compiling without launching: `triton.compile`.

use super::{build, notify};
use crate::arguments::constexpr::field_names;
use crate::arguments::nesting;
use crate::devices::options::compile_options;
use crate::devices::targets::target_of;
use crate::errors::{OrRaise, guard};
use crate::kernel::compiled::CompiledKernel;
use crate::kernel::describe::{self, IS_ONE};
use crate::kernel::function::JitFunction;
use crate::kernel::source::KernelSource;
use crate::kernel::state::KernelState;
use crate::kernel::value::Registry;
use frontend::{ArgSpec, DType, DescriptorSpec, Known, PyValue, Scalar};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods, PyString, PyStringMethods, PyTuple, PyTupleMethods};
use runtime::knobs::Settings;
use std::path::PathBuf;
use std::sync::Arc;
use target::GivenStage;
use ttir::ops::func::{DIVISIBILITY, POINTER_RANGE};

/// Compiles a function for a signature of types.
#[pyfunction]
#[pyo3(signature = (function, signature, constexprs=None, attrs=None, target=None, options=None, carried=None))]
pub(crate) fn compile<'py>(
    function: &Bound<'py, JitFunction>,
    signature: &Bound<'py, PyDict>,
    constexprs: Option<&Bound<'py, PyDict>>,
    attrs: Option<&Bound<'py, PyDict>>,
    target: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
    carried: Option<PathBuf>,
) -> PyResult<Bound<'py, CompiledKernel>> {
    let py = function.py();
    let target = target_of(py, target)?;
    let options = compile_options(py, target.as_ref(), options)?;
    let registry = Registry::default();
    let args = specs(function, &Given { signature, constexprs, attrs }, &registry)?;
    let source = Bound::new(
        py,
        describe::source_of(
            function.as_any(),
            (&function.get().params, function.get().name()),
            &args,
            &registry,
        )?,
    )?
    .unbind();
    let (kernel, _) = guard(|| build::compile_carried(function, args, options, target, registry, carried))?;
    let compiled = Bound::new(py, CompiledKernel::new(Arc::clone(&kernel), source.clone_ref(py)))?;
    let state = KernelState::new(Arc::clone(&kernel), source);
    compiled.getattr("__dict__")?.set_item("_state", Bound::new(py, state)?)?;
    notify::notify_listener(&compiled, &kernel)?;
    Ok(compiled)
}

/// A signature with what belongs to it.
pub(crate) struct Given<'a, 'py> {
    /// From parameter to type.
    pub(crate) signature: &'a Bound<'py, PyDict>,
    /// From name or position to value.
    pub(crate) constexprs: Option<&'a Bound<'py, PyDict>>,
    /// From position to attributes.
    pub(crate) attrs: Option<&'a Bound<'py, PyDict>>,
}

/// What a signature says of each parameter.
pub(crate) fn specs(
    function: &Bound<'_, JitFunction>,
    given: &Given<'_, '_>,
    registry: &Registry,
) -> PyResult<Vec<ArgSpec>> {
    let py = function.py();
    let reader = Reader { function, constexprs: given.constexprs, attrs: given.attrs, registry };
    let mut args = Vec::new();
    for (index, param) in function.get().params.iter().enumerate() {
        let ty = given.signature.get_item(param.name.bind(py))?;
        let path = PyTuple::new(py, [index])?;
        args.push(match ty {
            Some(ty) => reader.arg(&ty, &path)?,
            None => reader.constant(&path)?,
        });
    }
    for name in given.signature.keys() {
        if !function.get().params.iter().any(|param| name.eq(param.name.bind(py)).unwrap_or(false)) {
            return Err(PyValueError::new_err(format!(
                "the signature names `{name}`, and kernel {} has no such parameter",
                function.get().name()
            )));
        }
    }
    Ok(args)
}

/// The type of a descriptor that says nothing of its elements, as older releases have it.
const TENSOR_MAP: &str = "nvTmaDesc";

/// What such a descriptor is to a kernel: an address, rows and columns.
fn tensor_map() -> ArgSpec {
    let size = ArgSpec::runtime(DType::Int32);
    ArgSpec::Tuple { items: vec![ArgSpec::aligned_pointer(DType::UInt8), size.clone(), size], fields: None }
}

/// Reads a signature.
struct Reader<'a, 'py> {
    function: &'a Bound<'py, JitFunction>,
    constexprs: Option<&'a Bound<'py, PyDict>>,
    attrs: Option<&'a Bound<'py, PyDict>>,
    registry: &'a Registry,
}

impl<'py> Reader<'_, 'py> {
    fn arg(&self, ty: &Bound<'py, PyAny>, path: &Bound<'py, PyTuple>) -> PyResult<ArgSpec> {
        if let Ok(items) = ty.cast::<PyTuple>() {
            let _level = nesting::enter()?;
            let mut specs = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let inner: Vec<u64> = path.extract::<Vec<u64>>()?.into_iter().chain([index as u64]).collect();
                specs.push(self.arg(&item, &PyTuple::new(path.py(), inner)?)?);
            }
            return Ok(ArgSpec::Tuple { items: specs, fields: field_names(ty.as_borrowed())? });
        }
        let text = ty
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err(format!("a signature holds texts, not {ty}")))?;
        let text = text.to_cow()?;
        if text == "constexpr" || self.find(self.constexprs, path)?.is_some() {
            return self.constant(path);
        }
        let attrs = self.find(self.attrs, path)?;
        let number = |name| attrs.as_ref().map_or(Ok(None), |attrs| number(attrs, name));
        // The power of two, up to 16, that the value is divisible by.
        let divisibility =
            number(DIVISIBILITY.name)?.map_or(1, |divisor| 1 << divisor.trailing_zeros().min(4));
        if text == TENSOR_MAP {
            return Ok(tensor_map());
        }
        if frontend::signature::is_descriptor(&text) {
            let spec = frontend::signature::parse_descriptor(&text).map_err(PyValueError::new_err)?;
            return Ok(ArgSpec::Descriptor(DescriptorSpec { divisible_by_16: divisibility == 16, ..spec }));
        }
        let ty = frontend::signature::parse_type(&text).ok_or_else(|| {
            PyValueError::new_err(format!(
                "`{text}` is not a type; write `*fp32`, `i32`, `tensordesc<fp16[64, 128]>`, `constexpr`, …"
            ))
        })?;
        let near = matches!(ty, Scalar::Pointer(_)) && number(POINTER_RANGE.name)? == Some(32);
        let one = ty.is_number(DType::is_int) && number(IS_ONE)? == Some(1);
        Ok(ArgSpec::Runtime { ty, known: Known { divisibility, near, one } })
    }

    /// The value at a path; a parameter's default where none is given.
    fn constant(&self, path: &Bound<'py, PyTuple>) -> PyResult<ArgSpec> {
        let value = match self.find(self.constexprs, path)? {
            Some(value) => Some(self.registry.value(value.as_borrowed())?),
            None => self.default(path)?,
        };
        value.map(|value| ArgSpec::Constexpr(value.unwrapped())).ok_or_else(|| {
            PyValueError::new_err(format!("the constexpr at position {path} of the signature has no value"))
        })
    }

    fn default(&self, path: &Bound<'py, PyTuple>) -> PyResult<Option<PyValue>> {
        let index: usize = path.get_item(0)?.extract()?;
        let param = self.function.get().params.get(index).filter(|_| path.len() == 1);
        match param.and_then(|param| param.default.as_ref()) {
            Some(default) => self.registry.value(default.bind_borrowed(path.py())).map(Some),
            None => Ok(None),
        }
    }

    /// An entry by position or, at the top, by name.
    fn find(
        &self,
        dict: Option<&Bound<'py, PyDict>>,
        path: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(dict) = dict else { return Ok(None) };
        if let Some(value) = dict.get_item(path)? {
            return Ok(Some(value));
        }
        if path.len() != 1 {
            return Ok(None);
        }
        let index = path.get_item(0)?;
        if let Some(value) = dict.get_item(&index)? {
            return Ok(Some(value));
        }
        dict.get_item(self.function.get().params[index.extract::<usize>()?].name.bind(path.py()))
    }
}

/// Compiles a given stage.
#[pyfunction]
#[pyo3(signature = (stage, file, text, target=None, options=None))]
pub(crate) fn compile_ir<'py>(
    py: Python<'py>,
    stage: String,
    file: String,
    text: String,
    target: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, CompiledKernel>> {
    let target = target_of(py, target)?;
    let options = compile_options(py, target.as_ref(), options)?;
    let settings = Settings::current();
    let given = GivenStage { name: stage, file, bytes: text.into_bytes() };
    let kernel =
        py.detach(|| runtime::compile::compile_given(&given, &target, &options, &settings)).or_raise(py)?;
    let source = Bound::new(py, KernelSource::of_ir(py, &kernel))?.unbind();
    Bound::new(py, CompiledKernel::new(kernel, source))
}

/// The number that some pairs of a name and a value give a name.
fn number(attrs: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<i64>> {
    for attr in attrs.try_iter()? {
        let attr = attr?;
        if attr.get_item(0)?.eq(name)? {
            return attr.get_item(1)?.extract().map(Some);
        }
    }
    Ok(None)
}
