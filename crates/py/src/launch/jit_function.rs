//! `JITFunction` as Python sees it: a Python function that is compiled when it is launched.

use super::bind::Call;
use super::{launcher, run};
use crate::compile::notify;
use crate::eager;
use crate::errors::guard;
use crate::kernel::function::{JitFunction, Replaceable, next_id};
use crate::kernel::grid::Grid;
use crate::kernel::listed::forget_kernels;
use crate::kernel::params::{Param, ParamKind, Unspecialized, entries, params_of};
use crate::kernel::source_text::{find_source, from_definition, lines_now};
use crate::kernel::variants::Variants;
use frontend::Extensions;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::{Bound, Py, PyAny, PyErr, PyResult, Python, pymethods};
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyAnyMethods, PyDict, PyDictMethods, PyList, PyListMethods, PyString, PyTuple, PyTupleMethods,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[pymethods]
impl JitFunction {
    #[new]
    #[pyo3(signature = (r#fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None,
                        noinline=None, repr=None, launch_metadata=None, interpret=None, extensions=None))]
    #[allow(clippy::too_many_arguments)] // The reference's own signature, and `interpret` of older releases.
    fn new(
        py: Python<'_>,
        r#fn: Py<PyAny>,
        version: Option<Py<PyAny>>,
        do_not_specialize: Option<Py<PyAny>>,
        do_not_specialize_on_alignment: Option<Py<PyAny>>,
        debug: Option<bool>,
        noinline: Option<bool>,
        repr: Option<Py<PyAny>>,
        launch_metadata: Option<Py<PyAny>>,
        interpret: Option<bool>,
        extensions: Option<Vec<String>>,
    ) -> PyResult<JitFunction> {
        let function = r#fn.bind(py);
        if !function.hasattr("__code__")? {
            return Err(PyTypeError::new_err(format!("@jit needs a Python function, and got {function}")));
        }
        let not = Unspecialized {
            value: &entries(py, do_not_specialize.as_ref())?,
            alignment: &entries(py, do_not_specialize_on_alignment.as_ref())?,
        };
        let params = params_of(function, &not)?;
        let extensions = extensions.unwrap_or_default();
        let extensions = Extensions::from_names(extensions.iter().map(String::as_str))
            .map_err(|message| PyValueError::new_err(format!("@jit: {message}")))?;
        let by_position =
            |param: &Param| matches!(param.kind, ParamKind::PositionalOnly | ParamKind::Positional);
        Ok(JitFunction {
            name: function.getattr("__name__")?.to_string(),
            positional: params.iter().take_while(|param| by_position(param)).count(),
            variadic: params.iter().position(|param| param.kind == ParamKind::Variadic),
            params,
            debug: AtomicBool::new(debug.unwrap_or(false)),
            interpret: interpret.unwrap_or(false),
            noinline: AtomicBool::new(noinline.unwrap_or(false)),
            extensions,
            version,
            repr: Replaceable::new(repr),
            launch_metadata: Replaceable::new(launch_metadata),
            do_not_specialize,
            do_not_specialize_on_alignment,
            pre_run_hooks: PyList::empty(py).unbind(),
            signature: PyOnceLock::new(),
            described: PyOnceLock::new(),
            variants: Variants::default(),
            lines: lines_now(function)?.map(Bound::unbind),
            text: Mutex::new(None),
            is_detached: AtomicBool::new(false),
            addressing: Mutex::new(None),
            id: next_id(),
            function: r#fn,
        })
    }

    /// What every function has and every type has as well is put where Python finds it before the type's own.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __init__(
        slf: &Bound<'_, Self>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let function = slf.get().function(slf.py());
        for name in ["__module__", "__doc__", "__annotations__"] {
            slf.as_any().getattr("__dict__")?.set_item(name, function.getattr(name)?)?;
        }
        Ok(())
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, grid: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if slf.as_any().is_exact_instance_of::<JitFunction>() {
            return launcher::bind(slf, grid);
        }
        // A subclass may have a `run` of its own.
        let py = slf.py();
        let given = PyDict::new(py);
        given.set_item("grid", grid)?;
        given.set_item("warmup", false)?;
        let run = slf.as_any().getattr(intern!(py, "run"))?;
        py.import("functools")?.getattr("partial")?.call((run,), Some(&given))
    }

    /// In a kernel that Python runs, the body of this function is run as well; elsewhere a function of kernels has no
    /// meaning.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if eager::is_running()? {
            let body = slf.py().import("deuteron.runtime.interpreter")?.call_method1("body_of", (slf,))?;
            return body.call(args, kwargs);
        }
        Err(PyRuntimeError::new_err(format!(
            "Cannot call @triton.jit'd outside of the scope of a kernel; launch it with `{}[grid](…)`",
            slf.get().name
        )))
    }

    /// A method of an aggregate is bound to its object; anything else that holds a kernel holds it as it is.
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if object.is_none() || !object.get_type().hasattr(intern!(py, "__deuteron_aggregate__"))? {
            return Ok(slf.clone().into_any());
        }
        py.import("types")?.getattr("MethodType")?.call1((slf, object))
    }

    /// Compiles for these arguments where that has not been done, and launches unless `warmup`; with `warmup="launch"`
    /// everything is done that a launch does first.
    #[pyo3(signature = (*args, grid, warmup=None, **kwargs))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        grid: &Bound<'py, PyAny>,
        warmup: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let is_for_launch =
            |warmup: &Bound<'_, PyAny>| warmup.extract::<&str>().is_ok_and(|word| word == "launch");
        let grid = match warmup {
            Some(warmup) if is_for_launch(warmup) => Grid::Ahead(Box::new(Grid::read(grid)?)),
            Some(warmup) if warmup.is_truthy()? => Grid::None,
            _ => Grid::read(grid)?,
        };
        run_with(slf, args, grid, kwargs)
    }

    /// Compiles for these arguments, of which dtypes may stand for arrays.
    #[pyo3(signature = (*args, grid=None, **kwargs))]
    fn warmup<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        grid: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = grid;
        let wrap = slf.py().import("deuteron.runtime.jit")?.getattr("MockTensor")?.getattr("wrap_dtype")?;
        let params = &slf.get().params;
        let is_constexpr = |at: usize| params.get(at).is_some_and(|param| param.rules.constexpr);
        // A dtype for a constexpr is the constant.
        let args = args.iter().enumerate();
        let args = args.map(|(at, arg)| if is_constexpr(at) { Ok(arg) } else { wrap.call1((arg,)) });
        let args = args.collect::<PyResult<Vec<_>>>()?;
        run_with(slf, &PyTuple::new(slf.py(), args)?, Grid::None, kwargs)
    }

    /// Compiles for what a hook of an earlier compile, perhaps in another process, was given as `specialization_data`;
    /// the next launch like that finds the kernel.
    fn preload<'py>(slf: &Bound<'py, Self>, specialization_data: &str) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("deuteron.runtime._preload")?;
        module.call_method1("preload", (slf, specialization_data))
    }

    /// Compiles for these arguments.
    #[pyo3(signature = (**kwargs))]
    fn _compile_for<'py>(
        slf: &Bound<'py, Self>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        run_with(slf, &PyTuple::empty(slf.py()), Grid::None, kwargs)
    }

    /// Adds a function that is called with the arguments before every launch.
    fn add_pre_run_hook(&self, py: Python<'_>, hook: Bound<'_, PyAny>) -> PyResult<()> {
        if !hook.is_callable() {
            return Err(PyTypeError::new_err("a hook must be callable"));
        }
        self.pre_run_hooks.bind(py).append(hook)
    }

    /// Forgets what was compiled in this process.
    fn clear_cache(&self) {
        self.variants.kernels.clear();
    }

    #[getter]
    fn r#fn(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let is_detached = self.is_detached.load(Ordering::Relaxed);
        (!is_detached).then(|| self.function.clone_ref(py))
    }

    /// `None` takes the Python function away, so that the rest can be pickled; the function itself puts it back.
    #[setter]
    fn set_fn(&self, py: Python<'_>, function: Bound<'_, PyAny>) -> PyResult<()> {
        if !function.is_none() && !function.is(self.function.bind(py)) {
            return Err(PyAttributeError::new_err("the function of a kernel cannot be replaced by another"));
        }
        self.is_detached.store(function.is_none(), Ordering::Relaxed);
        Ok(())
    }

    /// Gives the name of a compiled kernel for its specialisation.
    #[getter]
    fn repr<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, me) = (slf.py(), slf.get());
        match me.repr.get(py) {
            Some(repr) => Ok(repr),
            None => {
                let default = py.import("deuteron.runtime.jit")?.getattr("DefaultRepr")?;
                default.call1((me.name(),))
            }
        }
    }

    #[setter]
    fn set_repr(&self, repr: Option<Bound<'_, PyAny>>) {
        self.repr.set(repr);
    }

    /// The globals that must not change after a compile; they are kept with each compiled kernel, so none are listed
    /// here.
    #[getter]
    fn used_global_vals<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        PyDict::new(py)
    }

    #[setter]
    fn set_used_global_vals(&self, _values: Bound<'_, PyAny>) {}

    #[getter]
    fn __name__(slf: &Bound<'_, Self>) -> PyResult<String> {
        match slf.as_any().getattr("__dict__")?.cast::<PyDict>()?.get_item("_said_name")? {
            Some(name) => name.extract(),
            None => Ok(slf.get().name.clone()),
        }
    }

    /// What it is called from now on; the kernel itself is named by its text.
    #[setter(__name__)]
    fn rename(slf: &Bound<'_, Self>, name: String) -> PyResult<()> {
        slf.as_any().getattr("__dict__")?.set_item("_said_name", name)
    }

    #[getter]
    fn __qualname__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attribute(py, "__qualname__")
    }

    #[setter(__qualname__)]
    fn set_qualname(&self, py: Python<'_>, name: Bound<'_, PyAny>) -> PyResult<()> {
        self.function.bind(py).setattr("__qualname__", name)
    }

    #[getter]
    fn __globals__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attribute(py, "__globals__")
    }

    /// The globals are those of the function, whoever takes them away for pickling.
    #[setter(__globals__)]
    fn set_globals(&self, _globals: Bound<'_, PyAny>) {}

    #[getter]
    fn module<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attribute(py, "__module__")
    }

    #[getter]
    fn arg_names(&self) -> Vec<&str> {
        self.params.iter().map(|param| param.text.as_str()).collect()
    }

    /// Positions of the parameters that are constexprs.
    #[getter]
    fn constexprs(&self) -> Vec<usize> {
        let params = self.params.iter().enumerate();
        params.filter(|(_, param)| param.rules.constexpr).map(|(at, _)| at).collect()
    }

    /// The text from `def` on, without indentation.
    #[getter]
    fn src(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(from_definition(&JitFunction::text(slf)?.0.source).0)
    }

    /// The syntax tree of the text, as Python's own parser sees it.
    fn parse<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (text, _) = from_definition(&JitFunction::text(slf)?.0.source);
        slf.py().import("ast")?.call_method1("parse", (text,))
    }

    #[getter]
    fn signature<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let read = || {
            Ok::<_, PyErr>(
                py.import("inspect")?.call_method1("signature", (self.function.bind(py),))?.unbind(),
            )
        };
        Ok(self.signature.get_or_try_init(py, read)?.bind(py).clone())
    }

    /// The parameters: name, position, default, and what is said about their specialisation.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let describe = || {
            let class = py.import("deuteron.runtime._signature")?.getattr("KernelParam")?;
            let signature = self.signature(py)?.getattr("parameters")?;
            let described = PyList::empty(py);
            for (num, param) in self.params.iter().enumerate() {
                let declared = signature.get_item(param.name.bind(py))?;
                let rules = (num, declared, !param.rules.specialize, !param.rules.align);
                described.append(class.call1(rules)?)?;
            }
            Ok::<_, PyErr>(described.unbind())
        };
        Ok(self.described.get_or_try_init(py, describe)?.bind(py).clone())
    }

    /// Whether the kernel gives layouts itself; none does here.
    fn is_gluon(&self) -> bool {
        false
    }

    #[getter]
    fn raw_src(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        Ok(JitFunction::text(slf)?.0.source.split_inclusive('\n').map(str::to_owned).collect())
    }

    #[getter]
    fn starting_line_number(slf: &Bound<'_, Self>) -> PyResult<u32> {
        Ok(JitFunction::text(slf)?.0.first_line)
    }

    /// A hash of the text, of the functions that it calls and of the globals that it reads.
    #[getter]
    fn cache_key<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("deuteron.runtime._dependencies")?.call_method1("key_of", (slf,))
    }

    /// A hash of the text from `def` on, of its place, and of the extensions that it may use.
    #[getter]
    fn _text_key(slf: &Bound<'_, Self>) -> PyResult<String> {
        let text = JitFunction::text(slf)?;
        let (source, decorators) = from_definition(&text.0.source);
        let extensions: Vec<&str> = text.0.extensions.names().collect();
        let key = runtime::cache::KeyBuilder::new("function")
            .part("source", source.as_bytes())
            .part("place", format!("{}:{}", text.0.file, text.0.first_line + decorators).as_bytes())
            .part("extensions", extensions.join(" ").as_bytes());
        Ok(key.finish().to_string())
    }

    /// Replaces the text. Whatever was compiled in this process is compiled again when it is launched next: any
    /// function may call, or be called with, this one.
    fn _unsafe_update_src(slf: &Bound<'_, Self>, new_src: String) -> PyResult<()> {
        // The first text is kept with its decorators, so that who goes back to it finds what it was compiled to.
        let me = slf.get();
        let (source, file, first_line) = find_source(me.function.bind(slf.py()), me.lines.as_ref())?;
        let (definition, decorators) = from_definition(&source);
        let (text, first_line) =
            if definition == new_src { (source, first_line) } else { (new_src, first_line + decorators) };
        me.set_text(slf.py(), text, file, first_line);
        forget_kernels(slf.py())
    }

    /// Says where the text stands: the file, and the line of its `def`. Errors and line tables name that place.
    fn _place_text(slf: &Bound<'_, Self>, file: String, def_line: u32) -> PyResult<()> {
        let text = JitFunction::text(slf)?;
        let (_, decorators) = from_definition(&text.0.source);
        let first_line = def_line.saturating_sub(decorators).max(1);
        slf.get().set_text(slf.py(), text.0.source.clone(), file, first_line);
        forget_kernels(slf.py())
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.version.as_ref().map(|version| version.clone_ref(py))
    }

    #[getter]
    fn debug(&self) -> bool {
        self.debug.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_debug(&self, debug: Option<bool>) {
        self.debug.store(debug.unwrap_or(false), Ordering::Relaxed);
    }

    /// Whether the interpreter runs it, whatever the process does with other kernels.
    #[getter]
    fn interpret(&self) -> bool {
        self.interpret
    }

    #[getter]
    fn noinline(&self) -> bool {
        self.noinline.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_noinline(slf: &Bound<'_, Self>, noinline: bool) -> PyResult<()> {
        let me = slf.get();
        if me.noinline.swap(noinline, Ordering::Relaxed) == noinline {
            return Ok(());
        }
        let text = JitFunction::text(slf)?;
        me.set_text(slf.py(), text.0.source.clone(), text.0.file.clone(), text.0.first_line);
        forget_kernels(slf.py())
    }

    /// The names of the extensions that the text may use.
    #[getter]
    fn extensions(&self) -> Vec<&'static str> {
        self.extensions.names().collect()
    }

    #[getter]
    fn launch_metadata<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.launch_metadata.get(py)
    }

    #[setter]
    fn set_launch_metadata(&self, function: Option<Bound<'_, PyAny>>) {
        self.launch_metadata.set(function);
    }

    #[getter]
    fn do_not_specialize(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.do_not_specialize.as_ref().map(|list| list.clone_ref(py))
    }

    /// Called before a kernel is compiled, as `knobs.runtime.jit_cache_hook`, which goes first.
    #[classattr]
    fn cache_hook() -> Option<Py<PyAny>> {
        None
    }

    /// Called after a kernel was compiled, as `knobs.runtime.jit_post_compile_hook`, which goes first.
    #[classattr]
    fn compiled_hook() -> Option<Py<PyAny>> {
        None
    }

    #[getter]
    fn do_not_specialize_on_alignment(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.do_not_specialize_on_alignment.as_ref().map(|list| list.clone_ref(py))
    }

    #[getter]
    fn pre_run_hooks(&self, py: Python<'_>) -> Py<PyList> {
        self.pre_run_hooks.clone_ref(py)
    }

    /// What was compiled in this process: a view, by device.
    #[getter]
    fn device_caches<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("deuteron.runtime._caches")?.call_method1("DeviceCaches", (slf,))
    }

    /// What was compiled in this process, by key.
    fn _kernels<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let kernels = PyDict::new(py);
        for (key, kernel) in slf.get().variants.kernels.all() {
            kernels.set_item(notify::key_text(&key), kernel.compiled.bind(py))?;
        }
        Ok(kernels)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().is_detached.load(Ordering::Relaxed) {
            return slf.py().import("deuteron.runtime._detached")?.call_method1("reduce", (slf,));
        }
        slf.get().attribute(slf.py(), "__qualname__")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "JITFunction({}:{})",
            self.attribute(py, "__module__")?,
            self.attribute(py, "__qualname__")?
        ))
    }

    fn __getattr__(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Py<PyAny>> {
        // What this type does not have, the function has: `__module__`, `__code__`, `__annotations__`, ….
        self.function
            .bind(py)
            .getattr(name)
            .map(Bound::unbind)
            .map_err(|_| PyAttributeError::new_err(format!("'JITFunction' object has no attribute '{name}'")))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Python makes the instance's dictionary after it has told the collector of the object and before this struct
        // is written; a collection in between sees zeros. `a_collection_while_kernels_are_made` in the Python tests is
        // the case. SAFETY: the field is readable, zeroed or not, and a pointer of any value may be read.
        let function = unsafe { (&raw const self.function).cast::<*mut ffi::PyObject>().read() };
        if function.is_null() {
            return Ok(());
        }
        visit.call(&self.function)
    }
}

fn run_with<'py>(
    function: &Bound<'py, JitFunction>,
    args: &Bound<'py, PyTuple>,
    grid: Grid<'py>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut values: Vec<Bound<'py, PyAny>> = args.iter().collect();
    let mut names = Vec::new();
    for (name, value) in kwargs.into_iter().flat_map(|kwargs| kwargs.iter()) {
        names.push(name);
        values.push(value);
    }
    let pointers: Vec<_> = values.iter().map(Bound::as_ptr).collect();
    let names: Vec<_> = names.iter().map(Bound::as_ptr).collect();
    // SAFETY: both lists hold references until the call is over.
    let call = unsafe { Call::new(&pointers, &names, std::ptr::null_mut()) };
    guard(|| run::run(function, grid, &call))
}
