//! Arguments of a call, sorted by parameter.

use crate::kernel::function::JitFunction;
use crate::kernel::params::ParamKind;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Bound, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods, PyTuple};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// The arguments of a call as Python hands them over: by position, then by name.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    values: &'a [*mut ffi::PyObject],
    names: &'a [*mut ffi::PyObject],
    /// The tuple that the names are from; null where there is none.
    tuple: *mut ffi::PyObject,
}

impl<'a> Call<'a> {
    /// # Safety
    /// All pointers are of objects that live for `'a`; the last `names.len()` values belong to the names. `tuple` is
    /// null or the tuple that holds the names.
    pub(crate) unsafe fn new(
        values: &'a [*mut ffi::PyObject],
        names: &'a [*mut ffi::PyObject],
        tuple: *mut ffi::PyObject,
    ) -> Call<'a> {
        Call { values, names, tuple }
    }

    /// The same call with other values, as many as it has.
    pub(crate) fn with_values<'b>(&self, values: &'b [*mut ffi::PyObject]) -> Call<'b>
    where
        'a: 'b,
    {
        assert_eq!(values.len(), self.values.len());
        Call { values, ..*self }
    }

    /// The arguments by position, then those by name.
    pub(crate) fn values(&self) -> &'a [*mut ffi::PyObject] {
        self.values
    }

    /// The tuple of names, if there are names; `None` where the names are from elsewhere.
    pub(crate) fn names_tuple(&self, py: Python<'_>) -> Option<Option<Py<PyAny>>> {
        if self.names.is_empty() {
            return Some(None);
        }
        // SAFETY: the tuple lives as long as the call, as promised in `new`.
        unsafe { Borrowed::<PyAny>::from_ptr_or_opt(py, self.tuple) }
            .map(|tuple| Some(tuple.to_owned().unbind()))
    }

    /// Where among the values the argument of a parameter is; `None` where its default is taken.
    pub(crate) fn place(&self, py: Python<'_>, function: &JitFunction, index: usize) -> Option<usize> {
        let positional = self.positional().len();
        if index < positional.min(function.positional) {
            return Some(index);
        }
        let named = self.names.iter().position(|&name| find(py, function, name) == Some(index));
        named.map(|at| positional + at)
    }

    /// Where among the values the one of a name of this call is.
    pub(crate) fn place_of(&self, name: Borrowed<'_, '_, PyAny>) -> Option<usize> {
        let at = self.names.iter().position(|&known| known == name.as_ptr());
        at.map(|at| self.positional().len() + at)
    }

    fn positional(&self) -> &'a [*mut ffi::PyObject] {
        &self.values[..self.values.len() - self.names.len()]
    }

    fn named(&self) -> impl Iterator<Item = (*mut ffi::PyObject, *mut ffi::PyObject)> + 'a {
        let names = self.names;
        names.iter().copied().zip(self.values[self.values.len() - names.len()..].iter().copied())
    }

    /// The arguments as a tuple and a dictionary, for hooks.
    pub(crate) fn to_python<'py>(
        self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        // SAFETY: as promised in `new`.
        let object = |pointer| unsafe { Borrowed::<PyAny>::from_ptr(py, pointer) };
        let kwargs = PyDict::new(py);
        for (name, value) in self.named() {
            kwargs.set_item(object(name), object(value))?;
        }
        Ok((PyTuple::new(py, self.positional().iter().map(|&pointer| object(pointer)))?, kwargs))
    }
}

/// One value for each parameter, and the options.
pub(crate) struct BoundArgs<'a> {
    values: SmallVec<[*mut ffi::PyObject; 24]>,
    options: SmallVec<[(*mut ffi::PyObject, *mut ffi::PyObject); 8]>,
    /// Holds the tuple of a `*args` parameter.
    rest: Option<Py<PyTuple>>,
    call: PhantomData<Call<'a>>,
}

impl BoundArgs<'_> {
    /// Nothing yet; [`bind`] fills it in where it stands.
    #[inline]
    pub(crate) fn new() -> Self {
        BoundArgs { values: SmallVec::new(), options: SmallVec::new(), rest: None, call: PhantomData }
    }

    /// The value of a parameter.
    #[inline]
    pub(crate) fn value<'s, 'py>(&'s self, py: Python<'py>, index: usize) -> Borrowed<'s, 'py, PyAny> {
        // SAFETY: every value was filled in by `bind` from the call, from a default that the function holds, or from
        // `rest`.
        unsafe { Borrowed::from_ptr(py, self.values[index]) }
    }

    /// The options: what was given by names that are not parameters, and by names that are both.
    #[inline]
    pub(crate) fn options<'s, 'py>(
        &'s self,
        py: Python<'py>,
    ) -> impl Iterator<Item = (Borrowed<'s, 'py, PyAny>, Borrowed<'s, 'py, PyAny>)> {
        // SAFETY: these come from the call.
        self.options.iter().map(move |&(name, value)| unsafe {
            (Borrowed::from_ptr(py, name), Borrowed::from_ptr(py, value))
        })
    }

    /// All parameters by name, as grids and launch hooks get them.
    pub(crate) fn to_dict<'py>(
        &self,
        py: Python<'py>,
        function: &JitFunction,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.options(py) {
            dict.set_item(name, value)?;
        }
        for (index, param) in function.params.iter().enumerate() {
            dict.set_item(param.name.bind(py), self.value(py, index))?;
        }
        let _ = &self.rest;
        Ok(dict)
    }
}

/// Sorts a call's arguments. `is_option` says whether the name of a parameter, an interned string, is an option as
/// well.
#[inline]
pub(crate) fn bind<'a>(
    py: Python<'_>,
    function: &JitFunction,
    call: Call<'a>,
    is_option: impl Fn(*mut ffi::PyObject) -> bool,
    bound: &mut BoundArgs<'a>,
) -> PyResult<()> {
    let params = &function.params;
    bound.values.resize(params.len(), std::ptr::null_mut());
    let positional = call.positional();
    let by_position = positional.len().min(function.positional);
    bound.values[..by_position].copy_from_slice(&positional[..by_position]);
    if positional.len() > by_position && function.variadic.is_none() {
        return Err(PyTypeError::new_err(format!(
            "{}() takes {} positional arguments, and {} were given",
            function.name(),
            function.positional,
            positional.len()
        )));
    }
    if let Some(at) = function.variadic {
        // SAFETY: the pointers are of the call.
        let rest =
            positional[by_position..].iter().map(|&value| unsafe { Borrowed::<PyAny>::from_ptr(py, value) });
        let rest = PyTuple::new(py, rest.collect::<Vec<_>>())?;
        bound.values[at] = rest.as_ptr();
        bound.rest = Some(rest.unbind());
    }
    for (name, value) in call.named() {
        match find(py, function, name) {
            Some(at) => {
                if !bound.values[at].is_null() {
                    let text = &params[at].text;
                    return Err(PyTypeError::new_err(format!("multiple values for argument '{text}'")));
                }
                bound.values[at] = value;
                if is_option(params[at].name.as_ptr()) {
                    bound.options.push((name, value));
                }
            }
            None => bound.options.push((name, value)),
        }
    }
    fill_defaults(function, bound)
}

/// The parameter of a name. Names in source text are interned, so that most are found by address.
#[inline]
fn find(py: Python<'_>, function: &JitFunction, name: *mut ffi::PyObject) -> Option<usize> {
    let takes_name = |kind| matches!(kind, ParamKind::Positional | ParamKind::KeywordOnly);
    let params = &function.params;
    params.iter().position(|param| param.name.as_ptr() == name && takes_name(param.kind)).or_else(|| {
        // SAFETY: the name is an object of the call.
        let name = unsafe { Borrowed::<PyAny>::from_ptr(py, name) };
        params
            .iter()
            .position(|param| takes_name(param.kind) && name.eq(param.name.bind(py)).unwrap_or(false))
    })
}

#[inline]
fn fill_defaults(function: &JitFunction, bound: &mut BoundArgs<'_>) -> PyResult<()> {
    for (slot, param) in bound.values.iter_mut().zip(&function.params) {
        if slot.is_null() {
            match &param.default {
                Some(default) => *slot = default.as_ptr(),
                None => {
                    return Err(PyTypeError::new_err(format!(
                        "missing a required argument: '{}' of kernel {}",
                        param.text,
                        function.name()
                    )));
                }
            }
        }
    }
    Ok(())
}
