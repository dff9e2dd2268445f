//! A launch whose programs Python runs.

use super::perform::interpreter_error;
use super::sites;
use super::state;
use super::value::KernelValue;
use crate::arguments::extents::extents;
use crate::arguments::tuple;
use crate::errors::OrRaise;
use crate::kernel::function::JitFunction;
use crate::kernel::globals::PyGlobals;
use crate::kernel::params::ParamKind;
use crate::kernel::submit::addressed;
use crate::kernel::value::Registry;
use frontend::eager::Form;
use frontend::typing::Ty;
use frontend::{ArgSpec, Scalar};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict, PyInt, PyList, PyListMethods, PyModule, PyTuple, PyTupleMethods};
use runtime::eager::{Parts, Running, Setting, Value, memory};
use runtime::knobs::{self, Settings};
use std::rc::Rc;
use target::{CompileOptions, Grid, Target};
use ttir::interp::{BlockData, Standing};

/// What is launched.
pub(crate) struct Launched<'a, 'py> {
    pub(crate) function: &'a Bound<'py, JitFunction>,
    pub(crate) target: &'a dyn Target,
    pub(crate) options: &'a CompileOptions,
    pub(crate) grid: Grid,
    /// What the front end would see of each parameter.
    pub(crate) specs: &'a [ArgSpec],
    /// What would be passed to a compiled kernel.
    pub(crate) slots: &'a [u64],
    /// The arguments themselves.
    pub(crate) values: Vec<Bound<'py, PyAny>>,
    pub(crate) registry: Registry,
}

/// Runs every program of a grid.
pub(crate) fn launch(launched: Launched<'_, '_>) -> PyResult<()> {
    let py = launched.function.py();
    let me = launched.function.get();
    let mut extents = extents(launched.values.iter().map(|value| value.as_borrowed()))?;
    extents.extend(addressed(py)?);
    let setting = Setting::new(launched.target, launched.options).or_raise(py)?;
    let globals = PyGlobals::new(launched.registry, Settings::current().code.allow_non_constexpr_globals);
    let interpreter = py.import("deuteron.runtime.interpreter")?;
    let (slots, pointers) = (launched.slots.iter(), Vec::new());
    let mut reader = Reader { py, slots, pointers, globals: &globals, interpreter: interpreter.clone() };
    let (args, named) = (PyList::empty(py), PyDict::new(py));
    for ((param, spec), value) in me.params.iter().zip(launched.specs).zip(&launched.values) {
        let mut object = reader.argument(&param.text, spec, value.as_borrowed())?;
        if !param.rules.constexpr {
            object = known(&interpreter, object)?;
        }
        match param.kind {
            ParamKind::PositionalOnly | ParamKind::Positional => args.append(object)?,
            ParamKind::Variadic => args.call_method1("extend", (object,)).map(drop)?,
            ParamKind::KeywordOnly => named.set_item(param.name.bind(py), object)?,
        }
    }
    let pointers = std::mem::take(&mut reader.pointers);
    let pointers: Vec<(&str, u64)> = pointers.iter().map(|(name, at)| (name.as_str(), *at)).collect();
    // SAFETY: whoever launches vouches for the memory behind the arguments, which are alive as long as the call holds
    // them.
    let mut memory = target::with_extents(extents, || unsafe { memory(&pointers) });
    if is_watched(launched.grid) {
        memory.watch_races(launched.grid);
    }
    let standing = Standing { grid: launched.grid, program: [0; 3] };
    let globals = Rc::new(globals);
    state::with(|state| {
        state.known.clear();
        state.globals.push(globals);
        let extensions = frontend::Extensions::default();
        state.session.begin(Running { setting, memory, standing, extensions });
        Ok(())
    })?;
    let result = interpreter.call_method1("run_grid", (launched.function, launched.grid, args, named));
    finished(py, result)
}

/// Ends the launch that began last; what came of it, and the races of its programs.
fn finished(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> PyResult<()> {
    let ended = state::with(|state| {
        state.globals.pop();
        state.known.clear();
        Ok(state.session.end())
    })?;
    let place = |number| sites::place(py, number);
    let races = ended.and_then(|running| running.memory.races(&place));
    if !state::with(|state| Ok(state.session.is_running()))? {
        sites::forget();
    }
    match (result, races) {
        (Ok(_), None) => Ok(()),
        (Ok(_), Some(races)) => Err(interpreter_error(py, &races)),
        (Err(error), Some(races)) => {
            error.value(py).call_method1("add_note", (races.to_string(),))?;
            Err(error)
        }
        (Err(error), None) => Err(error),
    }
}

/// Whether somebody wants to know of races: a grid of several programs runs, and all of them do.
fn is_watched(grid: Grid) -> bool {
    knobs::flag("runtime", "interpret_races")
        && knobs::opt_text("runtime", "interpret_program").is_none()
        && grid != [1; 3]
}

/// Reads arguments as the values that programs see.
struct Reader<'a, 'py> {
    py: Python<'py>,
    slots: std::slice::Iter<'a, u64>,
    pointers: Vec<(String, u64)>,
    globals: &'a PyGlobals,
    interpreter: Bound<'py, PyModule>,
}

/// An integer that a compiled kernel knows, as programs see it.
fn known<'py>(interpreter: &Bound<'py, PyModule>, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if object.is_exact_instance_of::<PyInt>() {
        return interpreter.call_method1(intern!(interpreter.py(), "KnownInteger"), (object,));
    }
    Ok(object)
}

impl<'py> Reader<'_, 'py> {
    fn argument(
        &mut self,
        name: &str,
        spec: &ArgSpec,
        value: Borrowed<'_, 'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match spec {
            ArgSpec::Constexpr(value) => self.globals.registry.to_python(self.py, value),
            ArgSpec::Runtime { ty, .. } => {
                let slot = self.slot()?;
                if matches!(ty, Scalar::Pointer(_)) {
                    self.pointers.push((name.to_owned(), slot));
                }
                let bits = ir_bits(*ty, slot);
                self.value(&Form::tensor(Ty::scalar(*ty)), [BlockData::uniform(bits)].into_iter().collect())
            }
            ArgSpec::Descriptor(spec) => {
                let base = self.slot()?;
                self.pointers.push((name.to_owned(), base));
                let mut parts: Parts = [BlockData::uniform(base)].into_iter().collect();
                for _ in &spec.block {
                    let size = self.slot()?;
                    parts.push(BlockData::uniform(size & u64::from(u32::MAX)));
                }
                for _ in &spec.block {
                    let stride = self.slot()?;
                    parts.push(BlockData::uniform(stride));
                }
                self.value(&Form::descriptor(spec), parts)
            }
            ArgSpec::Tuple { items, fields } => {
                let given = tuple::items(value)?;
                let mut made = Vec::with_capacity(items.len());
                for (index, (spec, item)) in items.iter().zip(given.iter_borrowed()).enumerate() {
                    let item = self.argument(&format!("{name}.{index}"), spec, item)?;
                    made.push(known(&self.interpreter, item)?);
                }
                let made = PyTuple::new(self.py, made)?;
                if fields.is_some() { given.get_type().call1(made) } else { Ok(made.into_any()) }
            }
        }
    }

    fn slot(&mut self) -> PyResult<u64> {
        let slot = self.slots.next().copied();
        slot.ok_or_else(|| PyRuntimeError::new_err("internal error (please report it): a slot is missing"))
    }

    fn value(&self, form: &Form, parts: Parts) -> PyResult<Bound<'py, PyAny>> {
        let value = state::with(|state| {
            let form = state.session.number(form);
            Ok(KernelValue { owner: state.id, value: Value { form, parts } })
        })?;
        Ok(Bound::new(self.py, value)?.into_any())
    }
}

/// The bits of a scalar of a type, of which a slot may hold more.
fn ir_bits(ty: Scalar, slot: u64) -> u64 {
    match ty.bits() {
        bits @ 1..64 => slot & ((1 << bits) - 1),
        _ => slot,
    }
}
