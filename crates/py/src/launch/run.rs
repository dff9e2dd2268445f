//! A launch: arguments to a key, the key to a kernel, the kernel to the device.

use super::bind::{BoundArgs, Call, bind};
use super::hooks::LaunchCall;
use super::predict::predict;
use super::prepare::{Prepared, prepare, refuse_nowhere};
use super::staged::Staged;
use super::{interpreted, miss};
use crate::compile::notify;
use crate::devices::active::Active;
use crate::kernel::function::JitFunction;
use crate::kernel::grid::{Grid, fixed};
use crate::kernel::used::check_used;
use crate::kernel::{hooks, submit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::{Bound, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyListMethods};

/// Compiles where needed, and launches unless the grid is none or for later.
pub(crate) fn run<'py>(
    function: &Bound<'py, JitFunction>,
    grid: Grid<'py>,
    call: &Call<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let me = function.get();
    let active = if me.interpret { Active::interpreting(py)? } else { Active::get(py)? };
    if active.context.interprets
        && let Some(staged) = Staged::of(py, &active, call)?
    {
        return staged.launch(call, |call| run(function, grid, call));
    }
    if !me.pre_run_hooks.bind(py).is_empty() {
        let (args, kwargs) = call.to_python(py)?;
        for hook in me.pre_run_hooks.bind(py).iter() {
            hook.call(&args, Some(&kwargs))?;
        }
    }
    // Both are large, and filled in where they stand.
    let mut bound = BoundArgs::new();
    bind(py, me, *call, |name| active.is_option(name), &mut bound)?;
    // Addresses and descriptors are read after that: the function of a grid may still write them.
    let grid = match grid {
        Grid::Callable(_) => Grid::Fixed(resolved(grid, &bound, py, me)?),
        known => known,
    };
    let mut prepared = Prepared::new(function, &active)?;
    prepare(py, me, &active, &bound, &mut prepared)?;
    let is_warmup = matches!(grid, Grid::None | Grid::Ahead(_));
    if !is_warmup {
        refuse_nowhere(py, me, &active, &bound, &prepared)?;
    }
    // The body of an interpreted kernel is run, not compiled, unless somebody wants to see a compiled one.
    let runs_body = active.context.interprets && !is_warmup;
    if runs_body && !hooks::any_launch() {
        let grid = resolved(grid, &bound, py, me)?;
        return interpreted::launch(function, &active, &bound, &prepared, grid);
    }
    let variant = match me.variants.kernels.find(&prepared.call.key) {
        Some(variant) => variant,
        None => {
            if is_warmup && let Some(future) = deferred(function, &prepared, call)? {
                return Ok(future);
            }
            let job = miss::Wanted { function, active: &active, bound: &bound, key: &prepared.call.key };
            match miss::compile(&job, is_warmup)? {
                Some(variant) => variant,
                None => return Ok(py.None().into_bound(py)),
            }
        }
    };
    if !variant.used.is_empty() {
        check_used(py, &variant.used)?;
    }
    if is_warmup {
        if let Grid::Ahead(grid) = grid {
            let (grid, site) = (resolved(*grid, &bound, py, me)?, active.place.site(py, prepared.stream)?);
            let values = (0..me.params.len()).map(|index| bound.value(py, index));
            submit::prepare(py, &variant.kernel, grid, &prepared.call.slots, site, values)?;
        }
        return Ok(variant.compiled.bind(py).clone().into_any());
    }
    let grid = resolved(grid, &bound, py, me)?;
    let site = active.place.site(py, prepared.stream)?;
    let described = || LaunchCall::new(function, &variant, &bound, grid, site);
    let hooked = hooks::any_launch().then(described).transpose()?;
    if let Some(hooked) = &hooked {
        hooked.enter(py)?;
    }
    let values = (0..me.params.len()).map(|index| bound.value(py, index));
    if runs_body {
        interpreted::launch(function, &active, &bound, &prepared, grid)?;
    } else if active.context.checks_memory {
        submit::checked(py, &variant.kernel, grid, &prepared.call.slots, values)?;
    } else {
        submit::launch(py, &variant.kernel, grid, &prepared.call.slots, site, values)?;
    }
    if let Some(hooked) = &hooked {
        hooked.exit(py)?;
    }
    me.variants.kernels.remember(&prepared.call.key, &variant, || {
        predict(py, me, (&active, &variant), (call, &bound), &prepared)
    });
    drop(prepared.keep);
    Ok(variant.compiled.bind(py).clone().into_any())
}

/// What stands for the kernel where a warm-up is handed to an executor.
fn deferred<'py>(
    function: &Bound<'py, JitFunction>,
    prepared: &Prepared,
    call: &Call<'_>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = function.py().import("deuteron.runtime._async_compile")?;
    if module.getattr("active_mode")?.call_method0("get")?.is_none() {
        return Ok(None);
    }
    let (args, kwargs) = call.to_python(function.py())?;
    let key = notify::key_text(&prepared.call.key);
    module.call_method1("deferred", (function, key, args, kwargs)).map(Some)
}

/// The grid of a launch; a function is asked with all arguments by name.
fn resolved(
    grid: Grid<'_>,
    bound: &BoundArgs<'_>,
    py: Python<'_>,
    function: &JitFunction,
) -> PyResult<target::Grid> {
    match grid {
        Grid::None | Grid::Ahead(_) => Err(PyTypeError::new_err("a launch needs a grid")),
        Grid::Fixed(grid) => Ok(grid),
        Grid::Callable(callable) => {
            let grid = callable.call1((bound.to_dict(py, function)?,))?;
            fixed(&grid)?.ok_or_else(|| {
                PyTypeError::new_err(format!("the grid function gave {grid} instead of a tuple of integers"))
            })
        }
    }
}
