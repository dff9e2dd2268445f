//! What an argument is specialised to, for those who ask without a launch.

use super::kind::{Kind, kind_of};
use super::{descriptor, dtype, read};
use crate::devices::place::Place;
use crate::errors::OrRaise;
use frontend::{ArgSpec, PyValue};
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyfunction};
use pyo3::types::PyString;
use runtime::specialize::{LaunchKey, ParamRules, decode};

/// What an argument is specialised to, as a text and a mark: `("i32", "D")`.
#[pyfunction]
#[pyo3(signature = (arg, is_const=false, specialize_value=true, align=true))]
pub(crate) fn specialize<'py>(
    arg: &Bound<'py, PyAny>,
    is_const: bool,
    specialize_value: bool,
    align: bool,
) -> PyResult<(String, Option<Bound<'py, PyAny>>)> {
    let py = arg.py();
    let rules =
        ParamRules { constant: is_const, specialize: specialize_value, align, ..ParamRules::default() };
    let kind = kind_of(arg.as_borrowed())?;
    let place = Place::anywhere(&runtime::active_target().or_raise(py)?);
    let mut keep = Vec::new();
    let mut key = LaunchKey::new();
    if kind == Kind::Descriptor {
        let tensor = descriptor::read(arg.as_borrowed(), &place, &mut keep)?;
        rules.describe(&tensor, &mut key).or_raise(py)?;
        return Ok(specialized(py, &key, arg));
    }
    let Some(read) = read::read(arg.as_borrowed(), kind, &place, &mut keep)? else {
        return Ok(("constexpr".to_owned(), Some(arg.clone())));
    };
    rules.apply(read, 0, &mut key).or_raise(py)?;
    Ok(specialized(py, &key, arg))
}

/// What the words of one argument stand for.
fn specialized<'py>(
    py: Python<'py>,
    key: &LaunchKey,
    arg: &Bound<'py, PyAny>,
) -> (String, Option<Bound<'py, PyAny>>) {
    let mark = |divisible: bool| divisible.then(|| PyString::new(py, "D").into_any());
    match decode(key.words(), &|_| PyValue::None).first() {
        Some(ArgSpec::Runtime { ty, known }) => {
            let name = frontend::signature::type_text(*ty);
            (name, if known.one { Some(arg.clone()) } else { mark(known.divisibility == 16) })
        }
        Some(ArgSpec::Descriptor(spec)) => {
            (frontend::signature::descriptor_text(spec), mark(spec.divisible_by_16))
        }
        _ => ("constexpr".to_owned(), Some(arg.clone())),
    }
}

/// The short name of a dtype object; `None` for what kernels do not know.
#[pyfunction]
pub(crate) fn dtype_name(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    Ok(dtype::scalar_of(object.as_borrowed())?.map(frontend::signature::type_text))
}
