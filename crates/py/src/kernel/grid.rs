//! The grid of a launch.

use crate::arguments::number::plain_int;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::{Borrowed, Bound, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyInt, PyListMethods, PyTuple, PyTupleMethods};

/// The grid of a launch.
pub(crate) enum Grid<'py> {
    /// Compile alone.
    None,
    /// Compile and load what a launch with this grid takes.
    Ahead(Box<Grid<'py>>),
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
pub(crate) fn fixed(object: &Bound<'_, PyAny>) -> PyResult<Option<target::Grid>> {
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
    let mut grid = [1; 3];
    for at in 0..len {
        let size = size(item(at)?)?;
        match grid.get_mut(at) {
            Some(place) => *place = size,
            None if size == 1 => {}
            None => {
                let text = format!(
                    "a grid has one to three sizes, and ones behind them: number {} is {size}",
                    at + 1
                );
                return Err(PyValueError::new_err(text));
            }
        }
    }
    if len == 0 {
        return Err(PyValueError::new_err("a grid has one to three sizes, not none"));
    }
    Ok(grid)
}

fn size(object: Borrowed<'_, '_, PyAny>) -> PyResult<u32> {
    let bad = |text: String| {
        PyValueError::new_err(format!("a grid size must be from 0 to {}, not {text}", i32::MAX))
    };
    // What is no size is read again, and refused with its text.
    if let Some(value @ 0..=0x7fff_ffff) = plain_int(object) {
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
