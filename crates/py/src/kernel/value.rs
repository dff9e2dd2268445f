//! Python objects as values of the front end, and back.
//!
//! Functions and other objects that the front end holds by a number are kept alive and found again by a [`Registry`];
//! one registry serves one compile.

use super::function::JitFunction;
use crate::arguments::constexpr::field_names;
use crate::arguments::dtype;
use crate::arguments::nesting;
use frontend::{FunctionRef, Object, ObjectRef, PyValue, Scalar, TupleValue};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::types::{
    PyAnyMethods, PyBool, PyFloat, PyInt, PyList, PyListMethods, PyModule, PyModuleMethods, PyString,
    PyStringMethods, PyTuple, PyTupleMethods, PyType, PyTypeMethods,
};
use pyo3::{IntoPyObject, intern};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The objects of one compile by their numbers.
#[derive(Default)]
pub(crate) struct Registry {
    objects: Mutex<FxHashMap<u64, (Py<PyAny>, ObjectRef)>>,
    functions: Mutex<FxHashMap<u64, Py<JitFunction>>>,
}

impl Registry {
    /// The object of a number that this registry gave.
    pub(crate) fn object(&self, py: Python<'_>, object: &ObjectRef) -> Option<Py<PyAny>> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.get(&object.0.id).map(|(object, _)| object.clone_ref(py))
    }

    /// The function of a number that this registry gave; none for one of the library, which counts its own.
    pub(crate) fn function(&self, py: Python<'_>, function: &FunctionRef) -> Option<Py<JitFunction>> {
        if frontend::language::owns(function) {
            return None;
        }
        let functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        functions.get(&function.0.id).map(|function| function.clone_ref(py))
    }

    /// Remembers a function and gives its text.
    pub(crate) fn add_function(&self, function: &Bound<'_, JitFunction>) -> PyResult<FunctionRef> {
        let text = JitFunction::text(function)?;
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        functions.entry(text.0.id).or_insert_with(|| function.clone().unbind());
        Ok(text)
    }

    fn add_object(&self, object: Borrowed<'_, '_, PyAny>) -> PyResult<ObjectRef> {
        let id = object.as_ptr() as u64;
        {
            let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, known)) = objects.get(&id) {
                return Ok(known.clone());
            }
        }
        let type_name = object.get_type().name()?.to_string();
        let text =
            without_address(&object.str().map_or_else(|_| format!("<{type_name}>"), |text| text.to_string()));
        let new = ObjectRef(Arc::new(Object { id, type_name, text }));
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.insert(id, (object.to_owned().unbind(), new.clone()));
        Ok(new)
    }

    /// The value of an object, as far as the front end may see it.
    pub(crate) fn value(&self, object: Borrowed<'_, '_, PyAny>) -> PyResult<PyValue> {
        if let Some(value) = plain(object)? {
            return Ok(value);
        }
        if let Ok(items) = object.cast::<PyTuple>() {
            return self.tuple(object, items.iter());
        }
        if let Ok(items) = object.cast::<PyList>() {
            return self.tuple(object, items.iter());
        }
        if let Ok(function) = object.cast::<JitFunction>() {
            return Ok(PyValue::JitFunction(self.add_function(&function.to_owned())?));
        }
        if let Ok(module) = object.cast::<PyModule>()
            && let Some(path) = module_path(&module.name()?.to_cow()?)
        {
            return Ok(PyValue::Module(Arc::from(path)));
        }
        self.language_object(object)
    }

    fn language_object(&self, object: Borrowed<'_, '_, PyAny>) -> PyResult<PyValue> {
        let py = object.py();
        let builtin = intern!(py, "__deuteron_builtin__");
        if !object.is_instance_of::<PyType>()
            && let Some(name) = object.get_type().getattr_opt(builtin)?
        {
            // The object is an instance of a class of the language.
            let name = name.str()?;
            if name.to_cow()? == "constexpr" {
                let _level = nesting::enter()?;
                let inner = object.getattr(intern!(py, "value"))?;
                return Ok(PyValue::Constexpr(Box::new(self.value(inner.as_borrowed())?)));
            }
            if name.to_cow()? == "tuple" {
                let items = object.getattr(intern!(py, "values"))?;
                let items = items.cast::<PyList>()?;
                return self.tuple(object, items.iter());
            }
            if let Some(member) = object.getattr_opt(intern!(py, "_name_"))? {
                return Ok(PyValue::Builtin(Arc::from(format!("tl.{name}.{member}"))));
            }
        } else if let Some(name) = object.getattr_opt(builtin)?
            && let Ok(name) = name.cast::<PyString>()
        {
            let path = builtin_path(&name.to_cow()?);
            return Ok(
                frontend::language::resolve(&path).unwrap_or_else(|| PyValue::Builtin(Arc::from(path)))
            );
        }
        if !object.is_instance_of::<PyType>()
            && let Some(scalar) = dtype::own(object)?
        {
            return Ok(PyValue::DType(scalar));
        }
        let new = self.add_object(object)?;
        let callable = object.getattr_opt(intern!(py, "__deuteron_constexpr_function__"))?;
        Ok(match callable {
            Some(flag) if flag.is_truthy()? => PyValue::ConstexprFunction(new),
            _ => PyValue::Object(new),
        })
    }

    fn tuple<'py>(
        &self,
        object: Borrowed<'_, 'py, PyAny>,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<PyValue> {
        let _level = nesting::enter()?;
        let items = items.map(|item| self.value(item.as_borrowed())).collect::<PyResult<Vec<_>>>()?;
        let fields =
            field_names(object)?.map(|names| names.iter().map(|name| Arc::from(name.as_str())).collect());
        Ok(PyValue::Tuple(Arc::new(TupleValue { items, fields })))
    }

    /// The Python object of a value, for calls at compile time.
    pub(crate) fn to_python<'py>(&self, py: Python<'py>, value: &PyValue) -> PyResult<Bound<'py, PyAny>> {
        Ok(match value {
            PyValue::None => py.None().into_bound(py),
            PyValue::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            PyValue::Int(value) => value.into_pyobject(py)?.into_any(),
            PyValue::Float(value) => PyFloat::new(py, *value).into_any(),
            PyValue::Str(text) => PyString::new(py, text).into_any(),
            PyValue::DType(scalar) => dtype_object(py, *scalar)?,
            PyValue::Tuple(tuple) => {
                let items =
                    tuple.items.iter().map(|item| self.to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
                named_tuple(py, items, tuple.fields.as_deref())?
            }
            PyValue::Constexpr(inner) => self.to_python(py, inner)?,
            PyValue::JitFunction(function) => match frontend::language::path_of(function) {
                Some(path) => language_member(py, &path)?,
                None => self.function(py, function).ok_or_else(|| lost(value))?.into_bound(py).into_any(),
            },
            PyValue::ConstexprFunction(object) | PyValue::Object(object) => {
                self.object(py, object).ok_or_else(|| lost(value))?.into_bound(py)
            }
            PyValue::Builtin(path) | PyValue::Module(path) => language_member(py, path)?,
        })
    }
}

/// A tuple; where its fields have names, one that has them, too.
pub(crate) fn named_tuple<'py>(
    py: Python<'py>,
    items: Vec<Bound<'py, PyAny>>,
    fields: Option<&[Arc<str>]>,
) -> PyResult<Bound<'py, PyAny>> {
    let items = PyTuple::new(py, items)?;
    let Some(fields) = fields else { return Ok(items.into_any()) };
    let names = PyTuple::new(py, fields.iter().map(|field| &**field))?;
    let class = py.import("collections")?.getattr("namedtuple")?.call1(("tuple", names))?;
    class.call1(items)
}

fn lost(value: &PyValue) -> PyErr {
    PyTypeError::new_err(format!("a {} cannot be passed to a function at compile time", value.type_name()))
}

/// Numbers, strings and `None`.
fn plain(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<PyValue>> {
    if object.is_none() {
        return Ok(Some(PyValue::None));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        use pyo3::types::PyBoolMethods;
        return Ok(Some(PyValue::Bool(value.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        let value = object.extract::<i128>().map_err(|_| {
            PyOverflowError::new_err(format!(
                "the integer {} does not fit 128 bits and cannot be used in a kernel",
                &*object
            ))
        })?;
        return Ok(Some(PyValue::Int(value)));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Some(PyValue::Float(object.extract()?)));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(PyValue::str(&text.to_cow()?)));
    }
    Ok(None)
}

/// The path by which the front end knows a builtin of the language.
pub(crate) fn builtin_path(name: &str) -> String {
    match name.strip_prefix("extra.") {
        Some(function) if function.starts_with("libdevice.") => function.to_owned(),
        _ => format!("tl.{name}"),
    }
}

/// The path by which the front end knows a module of the language, or Python's own `math`.
fn module_path(name: &str) -> Option<String> {
    if name == "math" {
        return Some("math".to_owned());
    }
    (name == "deuteron" || name.starts_with("deuteron.")).then(|| frontend::language::short_path(name))
}

/// The object of a path of the language.
fn language_member<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    let (root, rest) = path.split_once('.').unwrap_or((path, ""));
    let module = match root {
        "tl" => "deuteron.language",
        "triton" => "deuteron",
        "python" => "builtins",
        "math" => "math",
        other => return py.import("deuteron.language.extra")?.getattr(other).and_then(|at| walk(at, rest)),
    };
    walk(py.import(module)?.into_any(), rest)
}

fn walk<'py>(from: Bound<'py, PyAny>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    path.split('.').filter(|name| !name.is_empty()).try_fold(from, |at, name| at.getattr(name))
}

fn dtype_object<'py>(py: Python<'py>, scalar: Scalar) -> PyResult<Bound<'py, PyAny>> {
    let language = py.import("deuteron.language")?;
    match scalar {
        Scalar::Number(dtype) => language.getattr(dtype.facts().public),
        Scalar::Pointer(pointer) => {
            let element = language.getattr(pointer.pointee.facts().public)?;
            language.getattr("pointer_type")?.call1((element, "global", pointer.constant))
        }
    }
}

/// A text that does not change from process to process: `<f at 0x7f…>` loses its address.
fn without_address(text: &str) -> String {
    let mut parts = text.split(" at 0x");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::{builtin_path, module_path, without_address};

    #[test]
    fn paths_of_the_language() {
        assert_eq!(builtin_path("load"), "tl.load");
        assert_eq!(builtin_path("extra.libdevice.tanh"), "libdevice.tanh");
        assert_eq!(builtin_path("extra.other.num_warps"), "tl.extra.other.num_warps");
        assert_eq!(module_path("deuteron").as_deref(), Some("triton"));
        assert_eq!(module_path("deuteron.language").as_deref(), Some("tl"));
        assert_eq!(module_path("deuteron.language.math").as_deref(), Some("tl.math"));
        assert_eq!(module_path("deuteron.language.extra.libdevice").as_deref(), Some("libdevice"));
        assert_eq!(module_path("deuteronomy"), None);
        assert_eq!(module_path("torch"), None);
    }

    #[test]
    fn addresses_are_left_out() {
        assert_eq!(without_address("<f at 0x7f00a1>"), "<f>");
        assert_eq!(without_address("a <f at 0x12 b> c at 0xff."), "a <f b> c.");
        assert_eq!(without_address("plain"), "plain");
    }
}
