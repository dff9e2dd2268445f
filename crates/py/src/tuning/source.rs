//! What a kernel consists of, as a hash: its text, the functions that it calls, and the plain values that it reads.
//!
//! The hash holds no path, so that results of tuning can be shipped. It reads more than a compile would (every name
//! that the code mentions, whether or not it is reached), which at worst tunes once more.

use crate::arguments::nesting;
use crate::kernel::function::JitFunction;
use crate::kernel::globals::find_name;
use pyo3::intern;
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::{
    PyAnyMethods, PyBool, PyBytes, PyBytesMethods, PyFloat, PyInt, PyModule, PyString, PyStringMethods,
    PyTuple, PyTupleMethods, PyTypeMethods,
};
use runtime::cache::KeyBuilder;
use std::collections::BTreeSet;

/// The names that code mentions, also inside its inner functions.
fn names(code: &Bound<'_, PyAny>, into: &mut BTreeSet<String>) -> PyResult<()> {
    let py = code.py();
    for list in [intern!(py, "co_names"), intern!(py, "co_freevars")] {
        into.extend(code.getattr(list)?.extract::<Vec<String>>()?);
    }
    for constant in code.getattr(intern!(py, "co_consts"))?.try_iter()? {
        let constant = constant?;
        if constant.hasattr(intern!(py, "co_names"))? {
            names(&constant, into)?;
        }
    }
    Ok(())
}

/// The text of a value that is data; `None` for anything else.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let is_plain = value.is_none()
        || value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyString>();
    if is_plain {
        return Ok(Some(value.repr()?.to_cow()?.into_owned()));
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        let _level = nesting::enter()?;
        let items = items.iter().map(|item| plain(&item)).collect::<PyResult<Option<Vec<_>>>>()?;
        return Ok(items.map(|items| format!("({})", items.join(", "))));
    }
    // `tl.constexpr(4)`, and dtypes, whose texts are their names.
    let kind = value.get_type().name()?;
    let kind = kind.to_cow()?;
    Ok(if matches!(&*kind, "constexpr" | "dtype") { Some(format!("{kind} {}", value.repr()?)) } else { None })
}

/// What is still to be read, and what was.
struct Reader<'py> {
    key: KeyBuilder,
    seen: Vec<u64>,
    waiting: Vec<Bound<'py, JitFunction>>,
}

impl<'py> Reader<'py> {
    fn part(&mut self, name: &str, bytes: &[u8]) {
        let key = std::mem::replace(&mut self.key, KeyBuilder::new(""));
        self.key = key.part(name, bytes);
    }

    fn function(&mut self, function: &Bound<'py, JitFunction>) -> PyResult<()> {
        let py = function.py();
        let text: String = function.getattr(intern!(py, "src"))?.extract()?;
        self.part("text", text.as_bytes());
        let mut mentioned = BTreeSet::new();
        names(&function.get().function(py).getattr(intern!(py, "__code__"))?, &mut mentioned)?;
        for name in &mentioned {
            if let Some(found) = find_name(function, name)? {
                self.value(name, &found.value, &mentioned)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, name: &str, value: &Bound<'py, PyAny>, mentioned: &BTreeSet<String>) -> PyResult<()> {
        let py = value.py();
        if let Ok(function) = value.cast::<JitFunction>() {
            self.waiting.push(function.clone());
        } else if let Some(text) = plain(value)? {
            self.part(name, text.as_bytes());
        } else if let Ok(module) = value.cast::<PyModule>() {
            self.module(module, mentioned)?;
        } else if let Some(code) = constexpr_code(py, value)? {
            self.part(name, &code);
        }
        Ok(())
    }

    /// Kernels of other modules that are called by their attribute. The compiler's own modules change with its version.
    fn module(&mut self, module: &Bound<'py, PyModule>, mentioned: &BTreeSet<String>) -> PyResult<()> {
        let own = module.getattr(intern!(module.py(), "__name__"))?.extract::<String>()?;
        if own.split('.').next() == Some("deuteron") {
            return Ok(());
        }
        for name in mentioned {
            match module.getattr_opt(name.as_str())? {
                Some(value) if value.is_instance_of::<JitFunction>() || plain(&value)?.is_some() => {
                    self.value(name, &value, mentioned)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The code of a function that is called while a kernel is compiled.
fn constexpr_code(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if value.getattr_opt(intern!(py, "__deuteron_constexpr_function__"))?.is_none() {
        return Ok(None);
    }
    let code = value.getattr(intern!(py, "fn"))?.getattr_opt(intern!(py, "__code__"))?;
    let Some(code) = code else { return Ok(None) };
    let mut bytes = code.getattr(intern!(py, "co_code"))?.cast::<PyBytes>()?.as_bytes().to_vec();
    for constant in code.getattr(intern!(py, "co_consts"))?.try_iter()? {
        bytes.extend(plain(&constant?)?.unwrap_or_default().into_bytes());
    }
    Ok(Some(bytes))
}

/// A hash of a kernel's text and of what it refers to.
#[pyfunction]
pub(crate) fn source_hash(function: &Bound<'_, JitFunction>) -> PyResult<String> {
    let mut reader =
        Reader { key: KeyBuilder::new("tuned source"), seen: Vec::new(), waiting: vec![function.clone()] };
    while let Some(next) = reader.waiting.pop() {
        if !reader.seen.contains(&next.get().id()) {
            reader.seen.push(next.get().id());
            reader.function(&next)?;
        }
    }
    Ok(reader.key.finish().to_string())
}
