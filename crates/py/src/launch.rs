//! A launch: arguments to a key, the key to a kernel, the kernel to the device.

use crate::active::Active;
use crate::again::{Again, Slots};
use crate::argument::{self, Kind};
use crate::bind::{BoundArgs, bind};
use crate::compiled::CompiledKernel;
use crate::constexpr::{self, ObjectTable, length, may_be_constexpr};
use crate::errors::{OrRaise, interpreter_error, to_py};
use crate::function::JitFunction;
use crate::globals::{UsedGlobal, check_used};
use crate::place::Spot;
use crate::{descriptor, hooks, memory, variant};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python};
use pyo3::sync::MutexExt;
use pyo3::types::{PyAnyMethods, PyInt, PyListMethods, PyTuple, PyTupleMethods};
use runtime::compile::Scratch;
use runtime::knobs;
use runtime::options::IR_OVERRIDE;
use runtime::specialize::{LaunchKey, ParamRules};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target::Launch;

pub(crate) use crate::bind::Call;

/// A kernel compiled for one key.
pub(crate) struct Variant {
    /// What Python sees of it.
    pub(crate) compiled: Py<CompiledKernel>,
    /// The kernel itself.
    pub(crate) kernel: Arc<runtime::compile::Kernel>,
    /// The globals that must not change.
    pub(crate) used: Vec<UsedGlobal>,
}

/// The kernels that a function was compiled to in this process.
#[derive(Default)]
pub(crate) struct Variants {
    by_key: Mutex<FxHashMap<LaunchKey, Arc<Variant>>>,
    objects: Mutex<ObjectTable>,
    /// What the next launch will probably be like.
    again: Mutex<Option<Arc<Again>>>,
    /// How many launches went the long way.
    long: AtomicU32,
}

impl Variants {
    #[inline]
    fn find(&self, key: &LaunchKey) -> Option<Arc<Variant>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner).get(key.words()).cloned()
    }

    /// Adds a variant; where another thread was first, gives that one.
    pub(crate) fn add(&self, key: LaunchKey, variant: Arc<Variant>) -> Arc<Variant> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_key.entry(key).or_insert(variant))
    }

    /// The objects of the keys. Working with them may run Python code, so the wait for them lets others run.
    pub(crate) fn objects(&self, py: Python<'_>) -> MutexGuard<'_, ObjectTable> {
        self.objects.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// What the next launch will probably be like.
    #[inline]
    pub(crate) fn again(&self) -> Option<Arc<Again>> {
        self.again.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers what a launch was like, if the kernel of its key is still the one that it ran. Of launches that go the long way
    /// ever fewer are remembered: where they alternate, most would be remembered in vain.
    fn remember(&self, key: &LaunchKey, variant: &Arc<Variant>, again: impl FnOnce() -> Option<Again>) {
        let count = self.long.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let Some(new) = count.is_power_of_two().then(again).flatten().map(Arc::new) else { return };
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = by_key.get(key.words()).is_some_and(|known| Arc::ptr_eq(known, variant));
        let old = if stands {
            self.again.lock().unwrap_or_else(PoisonError::into_inner).replace(new)
        } else {
            Some(new)
        };
        drop(by_key);
        // Dropping Python objects may run Python code, which may come back here.
        drop(old);
    }

    /// Forgets the kernels. The objects of keys stay: a launch under way may hold their numbers.
    pub(crate) fn clear(&self) {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::take(&mut *by_key);
        let again = self.again.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(by_key);
        // As above.
        drop((old, again));
    }

    /// All kernels.
    pub(crate) fn compiled(&self, py: Python<'_>) -> Vec<Py<CompiledKernel>> {
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        by_key.values().map(|variant| variant.compiled.clone_ref(py)).collect()
    }
}

/// The grid of a launch.
pub(crate) enum Grid<'py> {
    /// Compile alone.
    None,
    /// Numbers.
    Fixed(target::Grid),
    /// A function of the arguments.
    Callable(Bound<'py, PyAny>),
}

impl<'py> Grid<'py> {
    /// Reads the grid of `kernel[grid]`.
    pub(crate) fn read(object: &Bound<'py, PyAny>) -> PyResult<Grid<'py>> {
        if let Some(grid) = fixed(object)? {
            return Ok(Grid::Fixed(grid));
        }
        if object.is_callable() {
            return Ok(Grid::Callable(object.clone()));
        }
        Err(PyTypeError::new_err(format!(
            "a grid is an integer, a tuple of one to three integers or a function of the arguments that gives one, not {object}"
        )))
    }
}

/// An integer or a sequence of one to three.
fn fixed(object: &Bound<'_, PyAny>) -> PyResult<Option<target::Grid>> {
    if let Ok(items) = object.cast::<PyTuple>() {
        return sizes(items.len(), |at| items.get_borrowed_item(at)).map(Some);
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Some([size(object.as_borrowed())?, 1, 1]));
    }
    if let Ok(items) = object.cast::<pyo3::types::PyList>() {
        let items = PyTuple::new(object.py(), items.iter())?;
        return sizes(items.len(), |at| items.get_borrowed_item(at)).map(Some);
    }
    if !object.is_callable() && object.hasattr("__index__")? {
        return Ok(Some([size(object.as_borrowed())?, 1, 1]));
    }
    Ok(None)
}

fn sizes<'a, 'py: 'a>(
    len: usize,
    item: impl Fn(usize) -> PyResult<Borrowed<'a, 'py, PyAny>>,
) -> PyResult<target::Grid> {
    if !(1..=3).contains(&len) {
        return Err(PyValueError::new_err(format!("a grid has one to three sizes, not {len}")));
    }
    let mut grid = [1; 3];
    for (at, place) in grid.iter_mut().enumerate().take(len) {
        *place = size(item(at)?)?;
    }
    Ok(grid)
}

fn size(object: Borrowed<'_, '_, PyAny>) -> PyResult<u32> {
    let bad = |text: String| {
        PyValueError::new_err(format!("a grid size must be from 0 to {}, not {text}", i32::MAX))
    };
    // What is no size is read again, and refused with its text.
    if let Some(value @ 0..=0x7fff_ffff) = argument::plain_int(object) {
        return Ok(value as u32);
    }
    match object.extract::<i64>() {
        Ok(value) => u32::try_from(value)
            .ok()
            .filter(|&size| size <= i32::MAX as u32)
            .ok_or_else(|| bad(value.to_string())),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
            Err(PyTypeError::new_err(format!("a grid size must be an integer, not {}", object.get_type())))
        }
        Err(_) => Err(bad(object.to_string())),
    }
}

/// What a launch collects on its way.
struct Prepared {
    key: LaunchKey,
    slots: Slots,
    keep: Vec<Py<PyAny>>,
    /// The stream that the call names.
    stream: Option<u64>,
}

/// Compiles where needed, and launches unless the grid is none.
pub(crate) fn run<'py>(
    function: &Bound<'py, JitFunction>,
    grid: Grid<'py>,
    call: &Call<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let me = function.get();
    if !me.pre_run_hooks.bind(py).is_empty() {
        let (args, kwargs) = call.to_python(py)?;
        for hook in me.pre_run_hooks.bind(py).iter() {
            hook.call(&args, Some(&kwargs))?;
        }
    }
    let active = if me.interpret { Active::interpreting(py)? } else { Active::get(py)? };
    // Both are large, and filled in where they stand.
    let mut bound = BoundArgs::new();
    bind(py, me, *call, |name| active.is_option(name), &mut bound)?;
    let mut prepared =
        Prepared { key: LaunchKey::new(), slots: Slots::new(), keep: Vec::new(), stream: None };
    prepare(py, me, &active, &bound, &mut prepared)?;
    let variant = match me.variants.find(&prepared.key) {
        Some(variant) => variant,
        None => {
            let job = variant::Wanted { function, active: &active, bound: &bound, key: &prepared.key };
            match variant::make(&job, matches!(grid, Grid::None))? {
                Some(variant) => variant,
                None => return Ok(py.None().into_bound(py)),
            }
        }
    };
    if !variant.used.is_empty() {
        check_used(py, &variant.used)?;
    }
    let grid = match grid {
        Grid::None => return Ok(variant.compiled.bind(py).clone().into_any()),
        Grid::Fixed(grid) => grid,
        Grid::Callable(callable) => {
            let grid = callable.call1((bound.to_dict(py, me)?,))?;
            fixed(&grid)?.ok_or_else(|| {
                PyTypeError::new_err(format!("the grid function gave {grid} instead of a tuple of integers"))
            })?
        }
    };
    let spot = active.place.spot(py, prepared.stream)?;
    let told = || hooks::LaunchCall::new(function, &variant, &bound, grid, spot);
    let hooked = hooks::any_launch().then(told).transpose()?;
    if let Some(hooked) = &hooked {
        hooked.enter(py)?;
    }
    if active.checks_memory {
        let values = (0..me.params.len()).map(|index| bound.value(py, index));
        checked(py, &variant.kernel, grid, &prepared.slots, values)?;
    } else {
        launch(py, &variant.kernel, grid, &prepared.slots, spot)?;
    }
    if let Some(hooked) = &hooked {
        hooked.exit(py)?;
    }
    me.variants.remember(&prepared.key, &variant, || {
        Again::of(py, me, (&active, &variant), (call, &bound), &prepared.slots)
    });
    drop(prepared.keep);
    Ok(variant.compiled.bind(py).clone().into_any())
}

/// Launches with these slots; Python's lock is free meanwhile.
#[inline]
pub(crate) fn launch(
    py: Python<'_>,
    kernel: &runtime::compile::Kernel,
    grid: target::Grid,
    slots: &[u64],
    spot: Spot,
) -> PyResult<()> {
    if slots.len() != kernel.artifact.params.len() {
        let text = format!(
            "{} takes {} arguments at run time and got {}",
            kernel.artifact.name,
            kernel.artifact.params.len(),
            slots.len()
        );
        return Err(to_py(py, runtime::RuntimeError::Internal(text)));
    }
    let scratch = kernel.scratch().map(|scratch| allocate(py, scratch, kernel, grid, spot)).transpose()?;
    let result = py.detach(|| {
        let loaded = kernel.load_on(spot.ordinal)?;
        let scratch = scratch.as_ref().map_or(0, |(address, _)| *address);
        let launch = Launch { grid, args: slots, stream: spot.stream, scratch, observed: spot.observed };
        // SAFETY: the slots were made for this kernel's parameters. The caller of a kernel vouches for the memory behind
        // its pointers, as in the reference; the arrays themselves are alive as long as the call holds its arguments.
        unsafe { loaded.launch(&launch) }.map_err(runtime::RuntimeError::from)
    });
    result.or_raise(py)
}

/// Memory of the allocator that the program has set, with the address of its first byte.
#[cold]
fn allocate(
    py: Python<'_>,
    scratch: Scratch,
    kernel: &runtime::compile::Kernel,
    grid: target::Grid,
    spot: Spot,
) -> PyResult<(u64, Py<PyAny>)> {
    let programs: u64 = grid.iter().map(|&size| u64::from(size)).product();
    let bytes = programs * u64::from(kernel.options.num_ctas) * scratch.bytes;
    let module = py.import("deuteron.runtime._allocation")?;
    let buffer = module.call_method1("allocate", (bytes, scratch.align, spot.stream))?;
    let address = buffer.call_method0("data_ptr")?.extract()?;
    Ok((address, buffer.unbind()))
}

/// Launches on something that checks every access, which learns how far the memory of these values goes.
#[cold]
pub(crate) fn checked<'a, 'py: 'a>(
    py: Python<'py>,
    kernel: &runtime::compile::Kernel,
    grid: target::Grid,
    slots: &[u64],
    values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<()> {
    let extents = memory::extents(values)?;
    let result = target::with_extents(extents, || launch(py, kernel, grid, slots, Spot::default()));
    result.map_err(|error| if kernel.interpreted() { interpreter_error(py, error) } else { error })
}

/// Key and slots of a call.
#[inline]
fn prepare(
    py: Python<'_>,
    function: &JitFunction,
    active: &Active,
    bound: &BoundArgs<'_>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    for (index, param) in function.params.iter().enumerate() {
        let value = bound.value(py, index);
        write_argument(function, active, &param.rules, value, prepared)
            .map_err(|error| with_name(py, error, function, &param.text))?;
    }
    write_options(py, function, active, bound, prepared)
}

#[inline]
fn write_argument(
    function: &JitFunction,
    active: &Active,
    rules: &ParamRules,
    value: Borrowed<'_, '_, PyAny>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    let kind = argument::kind_of(value)?;
    // Most arguments are tensors. What is not read at once is read again below, and refused with its reason.
    if kind == Kind::PlainTensor
        && rules.fixed.is_none()
        && !rules.constexpr
        && let Some((dtype, address)) = argument::plain_tensor(value, &active.place)
    {
        rules.pointer(dtype, address, &mut prepared.key);
        prepared.slots.push(address);
        return Ok(());
    }
    if kind == Kind::Descriptor && !rules.constexpr {
        let tensor = descriptor::read(value, &active.place, &mut prepared.keep)?;
        rules.describe(&tensor, &mut prepared.key).or_raise(value.py())?;
        prepared.slots.extend(tensor.slots());
        return Ok(());
    }
    if rules.constexpr {
        if constexpr::write_number(value, kind, &mut prepared.key)? {
            return Ok(());
        }
        return function.variants.objects(value.py()).write(value, &mut prepared.key);
    }
    match argument::read(value, kind, &active.place, &mut prepared.keep)? {
        Some(argument) => {
            if let Some(slot) = rules.apply(argument, &mut prepared.key).or_raise(value.py())? {
                prepared.slots.push(slot);
            }
            Ok(())
        }
        None => write_other(function, active, rules, value, kind, prepared),
    }
}

/// Tuples and constexprs given to a run-time parameter.
#[cold]
fn write_other(
    function: &JitFunction,
    active: &Active,
    rules: &ParamRules,
    value: Borrowed<'_, '_, PyAny>,
    kind: Kind,
    prepared: &mut Prepared,
) -> PyResult<()> {
    let objects = || function.variants.objects(value.py());
    if kind == Kind::Tuple {
        let items = value.cast::<PyTuple>()?;
        let fields = objects().fields(value)?;
        prepared.key.tuple(length(items.len())?, fields);
        for item in items.iter_borrowed() {
            write_argument(function, active, rules, item, prepared)?;
        }
        return Ok(());
    }
    if kind == Kind::Constexpr || may_be_constexpr(&value)? {
        return objects().write(value, &mut prepared.key);
    }
    Err(PyTypeError::new_err(format!(
        "has type {}, which cannot be passed to a kernel: pass a number, an array (NumPy, torch, DLPack), a TensorDescriptor or a tuple of these, \
         or annotate the parameter as tl.constexpr",
        value.get_type()
    )))
}

/// The words of the options. `debug` is always there, because the function and a knob can turn it on as well; so is the
/// target.
#[inline]
fn write_options(
    py: Python<'_>,
    function: &JitFunction,
    active: &Active,
    bound: &BoundArgs<'_>,
    prepared: &mut Prepared,
) -> PyResult<()> {
    let debug = u64::from(function.debug || knobs::debug());
    prepared.key.option(u16::MAX, debug | u64::from(active.number) << 1);
    for (name, value) in bound.options(py) {
        let Some(number) = active.option(py, name.as_ptr()) else {
            if name.eq("stream")? {
                prepared.stream = value.extract()?;
                continue;
            }
            let text = format!("Keyword argument {} was specified but unrecognised", &*name);
            return Err(pyo3::exceptions::PyKeyError::new_err(text));
        };
        match variant::option_value(value)? {
            target::OptionValue::None => prepared.key.option(number, 0),
            target::OptionValue::Bool(flag) => prepared.key.option(number | 1 << 12, u64::from(flag)),
            target::OptionValue::Int(value) => prepared.key.option(number | 2 << 12, value.cast_unsigned()),
            target::OptionValue::Str(text) => {
                let is_file = active.option_name(number) == IR_OVERRIDE;
                let state = if is_file { runtime::compile::state_of_file(&text) } else { 0 };
                prepared.key.option(number | 3 << 12, state);
                let text = pyo3::types::PyString::new(py, &text);
                function.variants.objects(py).write(text.as_any().as_borrowed(), &mut prepared.key)?;
            }
        }
    }
    Ok(())
}

/// Puts the name of the argument in front of a message about it.
#[cold]
fn with_name(py: Python<'_>, error: PyErr, function: &JitFunction, name: &str) -> PyErr {
    let text = format!("argument `{name}` of kernel {} {}", function.name(), error.value(py));
    let ty = error.get_type(py);
    match ty.call1((text,)) {
        Ok(new) => PyErr::from_value(new),
        Err(_) => error,
    }
}
