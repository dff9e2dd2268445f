//! The parameters of a Python function, read from its code object or from the signature that it declares.

use crate::arguments::dtype;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::{Bound, Py, PyAny, PyResult, Python};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods, PyString, PyStringMethods, PyType, PyTypeMethods};
use runtime::specialize::ParamRules;

/// `CO_VARARGS` and `CO_VARKEYWORDS` of Python's code objects.
const VARARGS: u32 = 0x04;
const VARKEYWORDS: u32 = 0x08;

/// How a parameter takes its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamKind {
    PositionalOnly,
    Positional,
    Variadic,
    KeywordOnly,
}

/// One parameter of a kernel.
pub(crate) struct Param {
    /// Its interned name.
    pub(crate) name: Py<PyString>,
    pub(crate) text: String,
    pub(crate) kind: ParamKind,
    pub(crate) rules: ParamRules,
    pub(crate) default: Option<Py<PyAny>>,
}

/// What `@jit` says about specialisation.
pub(crate) struct Unspecialized<'a, 'py> {
    /// `do_not_specialize`: names and positions.
    pub(crate) value: &'a [Bound<'py, PyAny>],
    /// `do_not_specialize_on_alignment`.
    pub(crate) alignment: &'a [Bound<'py, PyAny>],
}

/// The parameters of a function in the order of its signature.
pub(crate) fn params_of(function: &Bound<'_, PyAny>, not: &Unspecialized<'_, '_>) -> PyResult<Vec<Param>> {
    let py = function.py();
    // Functions that programs write have the code of another one, and say so.
    if let Ok(signature) = function.getattr(intern!(py, "__signature__")) {
        return declared_params(&signature, not);
    }
    let code = function.getattr(intern!(py, "__code__"))?;
    let count = |name: &str| code.getattr(name)?.extract::<usize>();
    let (total, positional_only, keyword_only) =
        (count("co_argcount")?, count("co_posonlyargcount")?, count("co_kwonlyargcount")?);
    let flags: u32 = code.getattr("co_flags")?.extract()?;
    let names: Vec<Bound<'_, PyString>> = code.getattr("co_varnames")?.extract()?;
    if flags & VARKEYWORDS != 0 {
        let at = total + keyword_only + usize::from(flags & VARARGS != 0);
        let name = names.get(at).map(|name| name.to_string()).unwrap_or_default();
        return Err(PyTypeError::new_err(format!("JIT functions do not support **{name} parameters")));
    }
    let mut order: Vec<(usize, ParamKind)> = (0..total)
        .map(|at| (at, if at < positional_only { ParamKind::PositionalOnly } else { ParamKind::Positional }))
        .collect();
    if flags & VARARGS != 0 {
        order.push((total + keyword_only, ParamKind::Variadic));
    }
    order.extend((total..total + keyword_only).map(|at| (at, ParamKind::KeywordOnly)));
    let defaults: Option<Vec<Bound<'_, PyAny>>> = function.getattr("__defaults__")?.extract()?;
    let defaults = defaults.unwrap_or_default();
    let keyword_defaults = function.getattr("__kwdefaults__")?;
    let annotations = function.getattr("__annotations__")?;
    let annotations = annotations.cast::<PyDict>()?;
    let mut params = Vec::with_capacity(order.len());
    for (position, (at, kind)) in order.into_iter().enumerate() {
        let name =
            names.get(at).ok_or_else(|| PyTypeError::new_err("a code object names too few variables"))?;
        let default = match kind {
            ParamKind::Positional | ParamKind::PositionalOnly => {
                (at + defaults.len()).checked_sub(total).map(|index| defaults[index].clone())
            }
            ParamKind::KeywordOnly if !keyword_defaults.is_none() => {
                keyword_defaults.cast::<PyDict>()?.get_item(name)?
            }
            _ => None,
        };
        let annotation = annotations.get_item(name)?;
        params.push(param((position, name), kind, annotation, default, not)?);
    }
    Ok(params)
}

/// The parameters of an `inspect.Signature`.
fn declared_params(signature: &Bound<'_, PyAny>, not: &Unspecialized<'_, '_>) -> PyResult<Vec<Param>> {
    const KINDS: [ParamKind; 4] =
        [ParamKind::PositionalOnly, ParamKind::Positional, ParamKind::Variadic, ParamKind::KeywordOnly];
    let mut params = Vec::new();
    for declared in signature.getattr("parameters")?.call_method0("values")?.try_iter()? {
        let declared = declared?;
        let name = declared.getattr("name")?;
        let Some(&kind) = KINDS.get(declared.getattr("kind")?.extract::<usize>()?) else {
            return Err(PyTypeError::new_err(format!("JIT functions do not support **{name} parameters")));
        };
        let empty = declared.getattr("empty")?;
        let given = |name: &str| declared.getattr(name).map(|value| (!value.is(&empty)).then_some(value));
        let place = (params.len(), name.cast::<PyString>()?);
        params.push(param(place, kind, given("annotation")?, given("default")?, not)?);
    }
    Ok(params)
}

fn param(
    (position, name): (usize, &Bound<'_, PyString>),
    kind: ParamKind,
    annotation: Option<Bound<'_, PyAny>>,
    default: Option<Bound<'_, PyAny>>,
    not: &Unspecialized<'_, '_>,
) -> PyResult<Param> {
    let mut rules = match annotation {
        Some(annotation) => rules_of(&annotation)?,
        None => ParamRules::default(),
    };
    rules.specialize = !mentions(not.value, position, name)?;
    rules.align = !mentions(not.alignment, position, name)?;
    let text = name.to_string();
    let name = PyString::intern(name.py(), &text).unbind();
    Ok(Param { name, text, kind, rules, default: default.map(Bound::unbind) })
}

fn mentions(list: &[Bound<'_, PyAny>], position: usize, name: &Bound<'_, PyString>) -> PyResult<bool> {
    for entry in list {
        if entry.eq(position)? || entry.eq(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What an annotation says: an object of the language, or its text under `from __future__ import annotations`.
pub(super) fn rules_of(annotation: &Bound<'_, PyAny>) -> PyResult<ParamRules> {
    let py = annotation.py();
    let mut rules = ParamRules::default();
    if let Some(name) = annotation.getattr_opt(intern!(py, "__deuteron_builtin__"))? {
        match &*name.str()?.to_cow()? {
            "constexpr" => rules.constexpr = true,
            "const" => rules.constant = true,
            _ => {}
        }
        return Ok(rules);
    }
    if !annotation.is_instance_of::<PyType>()
        && let Some(scalar) = dtype::own(annotation.as_borrowed())?
    {
        rules.fixed = Some(scalar);
        return Ok(rules);
    }
    if let Ok(text) = annotation.cast::<PyString>() {
        return Ok(ParamRules::of_annotation(&text.to_cow()?));
    }
    // Python's own types, and NumPy's, are called as those of the language.
    if let Ok(class) = annotation.cast::<PyType>() {
        return Ok(ParamRules::of_annotation(&class.name()?.to_cow()?));
    }
    Ok(rules)
}

/// A list argument of the decorator: names and positions.
pub(crate) fn entries<'py>(py: Python<'py>, list: Option<&Py<PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match list {
        Some(list) if !list.is_none(py) => list.bind(py).try_iter()?.collect(),
        _ => Ok(Vec::new()),
    }
}
