//! What a `JITFunction` holds: a Python function, its parameters and what it was compiled to.

use super::params::Param;
use super::source_text::find_source;
use super::variants::Variants;
use frontend::{Extensions, Function, FunctionRef};
use pyo3::intern;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python, pyclass};
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAnyMethods, PyList};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A function decorated with `@jit`: `kernel[grid](*args, **options)` compiles and launches it.
#[pyclass(module = "deuteron.runtime.jit", name = "JITFunction", frozen, weakref, dict, subclass)]
pub(crate) struct JitFunction {
    pub(crate) function: Py<PyAny>,
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// How many parameters come by position.
    pub(crate) positional: usize,
    pub(crate) variadic: Option<usize>,
    pub(crate) debug: AtomicBool,
    /// Whether the interpreter runs it, whatever the process does with other kernels.
    pub(crate) interpret: bool,
    pub(crate) noinline: AtomicBool,
    pub(crate) extensions: Extensions,
    pub(crate) version: Option<Py<PyAny>>,
    /// Gives the name of a compiled kernel. Like what follows, Python code may set it at any time.
    pub(crate) repr: Replaceable,
    /// Says of a launch what its hooks hear.
    pub(crate) launch_metadata: Replaceable,
    pub(crate) do_not_specialize: Option<Py<PyAny>>,
    pub(crate) do_not_specialize_on_alignment: Option<Py<PyAny>>,
    pub(crate) pre_run_hooks: Py<PyList>,
    /// The function's `inspect.Signature`, and its parameters as Python code reads them, once asked for.
    pub(crate) signature: PyOnceLock<Py<PyAny>>,
    pub(crate) described: PyOnceLock<Py<PyList>>,
    pub(crate) variants: Variants,
    /// The lines of its file when it was made.
    pub(crate) lines: Option<Py<PyList>>,
    pub(crate) text: Mutex<Option<FunctionRef>>,
    /// Whether the Python function was taken away, so that the rest can be pickled.
    pub(crate) is_detached: AtomicBool,
    /// The parameters that take part in addresses.
    pub(crate) addressing: Mutex<Option<Arc<[bool]>>>,
}

/// A Python object that may be replaced, or taken away by `None`.
pub(crate) struct Replaceable(Mutex<Option<Py<PyAny>>>);

impl Replaceable {
    pub(crate) fn new(object: Option<Py<PyAny>>) -> Replaceable {
        Replaceable(Mutex::new(object))
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let object = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        object.as_ref().map(|object| object.bind(py).clone())
    }

    pub(crate) fn set(&self, object: Option<Bound<'_, PyAny>>) {
        // What it held is let go of when the lock is free again, as that may run Python code.
        let object = object.map(Bound::unbind);
        let _old = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), object);
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number for a new function or a new text of one.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl JitFunction {
    /// The plain Python function.
    pub(crate) fn function<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.function.bind(py).clone()
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The text of the function, found once.
    pub(crate) fn text(this: &Bound<'_, JitFunction>) -> PyResult<FunctionRef> {
        let me = this.get();
        if let Some(text) = me.text.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return Ok(text.clone());
        }
        let (source, file, first_line) = find_source(me.function.bind(this.py()), me.lines.as_ref())?;
        Ok(me.set_text(this.py(), source, file, first_line))
    }

    /// For each parameter whether it takes part in addresses or masks, read from the text once. Of a text with an error
    /// none does: the compile will say what is wrong.
    pub(crate) fn addressing(this: &Bound<'_, JitFunction>) -> PyResult<Arc<[bool]>> {
        let kept = &this.get().addressing;
        if let Some(known) = kept.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return Ok(Arc::clone(known));
        }
        let text = JitFunction::text(this)?;
        let found: Arc<[bool]> = frontend::addressing::parameters(&text).unwrap_or_default().into();
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&found));
        Ok(found)
    }

    /// Sets the text.
    pub(crate) fn set_text(
        &self,
        py: Python<'_>,
        source: String,
        file: String,
        first_line: u32,
    ) -> FunctionRef {
        let module = self.function.bind(py).getattr(intern!(py, "__module__"));
        let module = module.map(|name| name.to_string()).unwrap_or_default();
        let id = next_id();
        let name = self.name.clone();
        let function = FunctionRef(Arc::new(Function {
            id,
            name,
            module,
            file,
            first_line,
            source,
            noinline: self.noinline.load(Ordering::Relaxed),
            extensions: self.extensions,
        }));
        *self.addressing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(function.clone());
        function
    }

    /// A number for this function.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// An attribute of the plain Python function.
    pub(crate) fn attribute<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).getattr(name)
    }
}
