//! The source of a compiled function: its signature, constants and attributes.

use super::params::Param;
use super::source::KernelSource;
use super::value::Registry;
use frontend::{ArgSpec, Known};
use pyo3::prelude::{Bound, PyAny, PyResult};
use pyo3::types::{PyDict, PyDictMethods, PyInt, PyList, PyString, PyTuple, PyTupleMethods};
use ttir::ops::func::{DIVISIBILITY, POINTER_RANGE};

/// The source of a compiled function, of which the parameters and the name are given.
pub(crate) fn source_of(
    function: &Bound<'_, PyAny>,
    (params, name): (&[Param], &str),
    args: &[ArgSpec],
    registry: &Registry,
) -> PyResult<KernelSource> {
    let py = function.py();
    let (signature, constants, attrs) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    let mut describe = Describe { constants: &constants, attrs: &attrs, registry };
    for (index, (param, arg)) in params.iter().zip(args).enumerate() {
        let text = describe.arg(arg, PyTuple::new(py, [index])?)?;
        signature.set_item(param.name.bind(py), text)?;
    }
    Ok(KernelSource {
        r#fn: Some(function.clone().unbind()),
        signature: signature.unbind(),
        constants: constants.unbind(),
        attrs: attrs.unbind(),
        name: name.to_owned(),
        args: args.to_vec(),
        annotated: params.iter().map(|param| param.rules.constexpr).collect(),
    })
}

/// The attribute of an integer that is 1 and keeps the type of its annotation.
pub(crate) const IS_ONE: &str = "tt.is_one";

struct Describe<'a, 'py> {
    constants: &'a Bound<'py, PyDict>,
    attrs: &'a Bound<'py, PyDict>,
    registry: &'a Registry,
}

impl<'py> Describe<'_, 'py> {
    /// Notes what is known of an argument.
    fn note(&self, path: Bound<'py, PyTuple>, known: Known) -> PyResult<()> {
        let py = path.py();
        let divisible = (known.divisibility > 1).then_some((DIVISIBILITY.name, known.divisibility));
        let near = known.near.then_some((POINTER_RANGE.name, 32));
        let one = known.one.then_some((IS_ONE, 1));
        let known: Vec<_> = divisible.into_iter().chain(near).chain(one).collect();
        if known.is_empty() {
            return Ok(());
        }
        let pair = |(name, number): (&str, u8)| {
            PyList::new(py, [PyString::new(py, name).into_any(), PyInt::new(py, number).into_any()])
        };
        let pairs = known.into_iter().map(pair).collect::<PyResult<Vec<_>>>()?;
        self.attrs.set_item(path, PyList::new(py, pairs)?)
    }

    fn arg(&mut self, arg: &ArgSpec, path: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = path.py();
        match arg {
            ArgSpec::Constexpr(value) => {
                self.constants.set_item(path, self.registry.to_python(py, value)?)?;
                Ok(PyString::new(py, "constexpr").into_any())
            }
            ArgSpec::Descriptor(spec) => {
                self.note(path, Known::divisible_by(if spec.divisible_by_16 { 16 } else { 1 }))?;
                Ok(PyString::new(py, &frontend::signature::descriptor_text(spec)).into_any())
            }
            ArgSpec::Runtime { ty, known } => {
                self.note(path, *known)?;
                Ok(PyString::new(py, &frontend::signature::type_text(*ty)).into_any())
            }
            ArgSpec::Tuple { items, .. } => {
                let mut texts = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let inner: Vec<_> = path.iter().chain([PyInt::new(py, index).into_any()]).collect();
                    let inner = PyTuple::new(py, inner)?;
                    texts.push(self.arg(item, inner)?);
                }
                Ok(PyTuple::new(py, texts)?.into_any())
            }
        }
    }
}
