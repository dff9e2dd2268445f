//! Performing an operation of the language on values of a running kernel.

use super::encode::{Encoded, form, is_of_class};
use super::result::Results;
use super::sites;
use super::state::{self, State};
use super::value::KernelValue;
use super::waiting;
use crate::arguments::nesting;
use crate::errors::{eager_to_py, guard, of_class};
use crate::kernel::globals::PyGlobals;
use frontend::eager::Action;
use frontend::{Extensions, Place, PyValue};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::{Bound, PyAny, PyErr, PyResult, Python, pyfunction};
use pyo3::types::{PyAnyMethods, PyBool, PyDict, PyDictMethods, PyFloat, PyInt, PyTuple, PyTupleMethods};
use runtime::eager::{Question, Ready};
use std::rc::Rc;
use ttir::interp::{BlockData, Hooks, RunError, RunErrorKind};

/// An operation as Python asks for it.
#[derive(Clone, Copy)]
pub(super) enum Ask<'a> {
    /// A name of the language by its mark: `load`, `extra.libdevice.tanh`.
    Call(&'a str),
    Method(&'a str),
    Attribute(&'a str),
    Binary(&'static str),
    Unary(&'static str),
    Subscript,
    Assign,
}

impl Ask<'_> {
    fn encode(self, encoded: &mut Encoded) {
        let (tag, name) = match self {
            Ask::Call(name) => (b'c', name),
            Ask::Method(name) => (b'm', name),
            Ask::Attribute(name) => (b'a', name),
            Ask::Binary(name) => (b'b', name),
            Ask::Unary(name) => (b'u', name),
            Ask::Subscript => (b's', ""),
            Ask::Assign => (b'=', ""),
        };
        encoded.key.push(tag);
        encoded.name(name);
    }

    fn action(self) -> PyResult<Action> {
        Ok(match self {
            Ask::Call(name) => Action::Call(callee(name)?),
            Ask::Method(name) => Action::Method(name.to_owned()),
            Ask::Attribute(name) => Action::Attribute(name.to_owned()),
            Ask::Binary(name) => Action::Binary(name),
            Ask::Unary(name) => Action::Unary(name),
            Ask::Subscript => Action::Subscript,
            Ask::Assign => Action::Assign,
        })
    }
}

/// What a name of the language is.
fn callee(name: &str) -> PyResult<PyValue> {
    let path = match name.strip_prefix("python.") {
        Some(_) => name.to_owned(),
        None => crate::kernel::value::builtin_path(name),
    };
    frontend::language::resolve(&path)
        .ok_or_else(|| PyRuntimeError::new_err(format!("the language has no `{path}`")))
}

/// Performs an operation.
pub(super) fn perform<'py>(
    py: Python<'py>,
    ask: Ask<'_>,
    args: &[&Bound<'py, PyAny>],
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut encoded = Encoded::default();
    ask.encode(&mut encoded);
    let (globals, found) = state::with(|state| {
        for arg in args {
            encoded.operand(state, arg.as_borrowed())?;
        }
        for (name, value) in keywords.into_iter().flat_map(|keywords| keywords.iter()) {
            encoded.key.push(b'k');
            encoded.name(&name.extract::<std::borrow::Cow<'_, str>>()?);
            encoded.operand(state, value.as_borrowed())?;
        }
        let Some(globals) = state.globals.last().cloned() else { return Err(outside(py, ask)) };
        let extensions = state.session.running().map_or(0, |running| running.extensions.bits());
        if extensions != 0 {
            encoded.key.extend([b'x', extensions]);
        }
        Ok((globals, state.session.find(&encoded.key)))
    })?;
    let ready = match found {
        Some(ready) => ready,
        None => guard(|| build(py, ask, (args, keywords), &encoded.key, &globals))?,
    };
    let parts = loop {
        match guard(|| run(py, &ready, &encoded.parts))? {
            Ran::Done { parts, is_due: false } => break parts,
            Ran::Done { parts, is_due: true } => {
                if let Some(error) = waiting::give_way(py)? {
                    return Err(run_error(py, error));
                }
                break parts;
            }
            Ran::Waits(error) if !waiting::run_another(py)? => return Err(run_error(py, error)),
            Ran::Waits(_) => {}
        }
    };
    state::with(|state| {
        let method = match ask {
            Ask::Attribute(name) => Some((args[0], name)),
            _ => None,
        };
        Results { py, state, globals: &globals, parts: parts.into_iter(), method }.object(&ready.shape)
    })
}

/// An operation where no kernel runs.
fn outside(py: Python<'_>, ask: Ask<'_>) -> PyErr {
    let what = match ask {
        Ask::Call(name) => format!("`tl.{name}`"),
        Ask::Method(name) | Ask::Attribute(name) => format!("`{name}` of a value of a kernel"),
        _ => "an operation on values of a kernel".to_owned(),
    };
    let message = format!(
        "Did you forget to add @triton.jit ? {what} was called outside a kernel: names of the language have a meaning only in \
         the body of a @triton.jit function, which is launched with a grid (`kernel[grid](...)`)"
    );
    of_class(py, "OutsideKernelError", |class| class.call1((message,)))
}

/// Builds a step and keeps it. Functions of the program may run meanwhile.
#[cold]
fn build<'py>(
    py: Python<'py>,
    ask: Ask<'_>,
    (args, keywords): (&[&Bound<'py, PyAny>], Option<&Bound<'py, PyDict>>),
    key: &[u8],
    globals: &Rc<PyGlobals>,
) -> PyResult<Rc<Ready>> {
    let (question, setting) = state::with(|state| {
        let args = args.iter().map(|arg| form(state, globals, arg.as_borrowed())).collect::<PyResult<_>>()?;
        let mut named = Vec::new();
        for (name, value) in keywords.into_iter().flat_map(|keywords| keywords.iter()) {
            named.push((name.extract::<String>()?, form(state, globals, value.as_borrowed())?));
        }
        let running = state.session.running().ok_or_else(|| outside(py, ask))?;
        let (setting, extensions) = (running.setting.clone(), running.extensions);
        let question = Question { action: ask.action()?, args, keywords: named, extensions };
        Ok((question, setting))
    })?;
    let print = &crate::compile::build::print;
    let built = runtime::eager::build(&setting, &question, &**globals, print, &|| place(py));
    let step = built.map_err(|error| {
        let error = eager_to_py(py, error);
        if let Some(raised) = globals.take_raised() {
            error.set_cause(py, Some(raised));
        }
        error
    })?;
    let ready = state::with(|state| Ok(state.session.keep(key, &question, step)))?;
    for text in ready.warnings() {
        py.import("warnings")?.call_method1("warn", (text,))?;
    }
    Ok(ready)
}

/// What came of running a step.
enum Ran {
    /// Its results, and whether the program has waited long enough for others to run.
    Done { parts: Vec<BlockData>, is_due: bool },
    /// It waits for what another program writes.
    Waits(RunError),
}

/// Runs a step; errors and undefined elements get the line of the kernel.
fn run(py: Python<'_>, ready: &Ready, parts: &[BlockData]) -> PyResult<Ran> {
    let mut hooks = Watch { py, polls: 0, raised: None };
    let (result, is_due) = state::with(|state: &mut State| {
        let result = state.session.run(ready, parts, &mut hooks);
        Ok((result, state.session.running().is_some_and(|running| running.memory.take_due())))
    })?;
    match result {
        Ok(parts) => {
            let here = || place(py).map(|place| place.to_string());
            let parts = parts.into_iter().map(|part| part.placed(here)).collect();
            Ok(Ran::Done { parts, is_due })
        }
        Err(error) if error.kind == RunErrorKind::Waits && hooks.raised.is_none() => Ok(Ran::Waits(error)),
        Err(error) => Err(hooks.raised.unwrap_or_else(|| run_error(py, error))),
    }
}

/// The error of a step as an exception.
#[cold]
fn run_error(py: Python<'_>, mut error: RunError) -> PyErr {
    // A place in the library helps nobody, and most steps have none.
    let is_of_program =
        error.place.as_ref().is_some_and(|place| !frontend::language::is_library_place(place));
    if !is_of_program {
        error.place = place(py).map(|place| place.to_string());
    }
    interpreter_error(py, &error)
}

/// What the interpreter found, as an exception.
pub(super) fn interpreter_error(py: Python<'_>, error: &RunError) -> PyErr {
    let text = error.to_string();
    of_class(py, "InterpreterError", |class| class.call1((text,)))
}

/// Where in the kernel Python stands.
#[cold]
fn place(py: Python<'_>) -> Option<Place> {
    let module = py.import("deuteron.runtime.interpreter").ok()?;
    let found = module.call_method0("current_place").ok()?;
    let (file, line, column, width, text, in_function) = found.extract().ok()?;
    Some(Place { file, line, column, width, text, in_function })
}

/// How many iterations of loops inside a step pass between two looks for signals.
const POLLS: u32 = 256;

/// Prints where Python prints, and looks for signals.
struct Watch<'py> {
    py: Python<'py>,
    polls: u32,
    raised: Option<PyErr>,
}

impl Hooks for Watch<'_> {
    fn print(&mut self, line: &str) {
        crate::compile::build::print(&format!("{line}\n"));
    }

    fn place(&mut self) -> Option<u32> {
        sites::here(self.py)
    }

    fn interrupted(&mut self) -> bool {
        self.polls += 1;
        if self.polls.is_multiple_of(POLLS) {
            self.raised = self.py.check_signals().err();
        }
        self.raised.is_some()
    }
}

/// Calls a name of the language in a running kernel.
#[pyfunction]
#[pyo3(name = "eager_call", signature = (name, args, kwargs=None))]
pub(crate) fn call<'py>(
    py: Python<'py>,
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let args: Vec<Bound<'py, PyAny>> = args.iter().collect();
    let args: Vec<&Bound<'py, PyAny>> = args.iter().collect();
    perform(py, Ask::Call(name), &args, kwargs)
}

/// What a plain assignment in a kernel keeps of a value: numbers become run-time values.
#[pyfunction]
#[pyo3(name = "eager_assigned")]
pub(crate) fn assigned<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_exact_instance_of::<KernelValue>() {
        return Ok(value.clone());
    }
    let py = value.py();
    if value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_instance_of::<PyInt>() && is_of_class(value.as_borrowed(), "known_integer")?
    {
        return perform(py, Ask::Assign, &[value], None);
    }
    let Ok(tuple) = value.cast::<PyTuple>() else { return Ok(value.clone()) };
    let _level = nesting::enter()?;
    let items = tuple.iter().map(|item| assigned(&item)).collect::<PyResult<Vec<_>>>()?;
    let items = PyTuple::new(py, items)?;
    if value.is_exact_instance_of::<PyTuple>() { Ok(items.into_any()) } else { value.get_type().call1(items) }
}

/// Whether a kernel runs in this thread.
#[pyfunction]
#[pyo3(name = "eager_is_running")]
pub(crate) fn is_running() -> PyResult<bool> {
    state::with(|state| Ok(!state.globals.is_empty()))
}

/// Says which program of the grid runs from now on.
#[pyfunction]
#[pyo3(name = "eager_enter")]
pub(crate) fn enter_program(x: u32, y: u32, z: u32) -> PyResult<()> {
    state::with(|state| {
        if let Some(running) = state.session.running() {
            running.standing.program = [x, y, z];
            running.memory.changed();
        }
        Ok(())
    })
}

/// Says which extensions the function that runs from now on uses; gives those of the one before it.
#[pyfunction]
#[pyo3(name = "eager_extensions")]
pub(crate) fn set_extensions(names: Vec<String>) -> PyResult<Vec<&'static str>> {
    let extensions =
        Extensions::from_names(names.iter().map(String::as_str)).map_err(PyRuntimeError::new_err)?;
    state::with(|state| {
        let before =
            state.session.running().map(|running| std::mem::replace(&mut running.extensions, extensions));
        Ok(before.map_or(Vec::new(), |before| before.names().collect()))
    })
}
