//! What the names of the language's own modules mean, without Python.
//!
//! Paths are short: `triton`, `tl` (`triton.language` and its submodules), `libdevice`, `tl.extra`, `tl.target_info`,
//! and `python` for Python's builtins. Whoever implements [`crate::Globals`] answers with [`resolve`] for every object
//! that belongs to the language, whatever alias it was imported under.

use crate::dtype::DType;
use crate::value::PyValue;
use crate::{ops, python_math, stdlib};
use rustc_hash::FxHashMap;
use std::sync::{PoisonError, RwLock};

/// Python's builtins that kernels may use.
const PYTHON: [&str; 17] = [
    "abs",
    "str",
    "sum",
    "zip",
    "len",
    "list",
    "range",
    "float",
    "int",
    "bool",
    "isinstance",
    "getattr",
    "hasattr",
    "print",
    "min",
    "max",
    "tuple",
];

/// Names that stand for themselves: classes, decorators, markers.
const MARKERS: [&str; 19] = [
    "tl.aggregate_replace",
    "triton.aggregate",
    "triton.jit",
    "triton.autotune",
    "triton.heuristics",
    "triton.constexpr_function",
    "triton.Config",
    "tl.tensor",
    "tl.slice",
    "tl.constexpr_type",
    "tl.tuple_type",
    "tl.const",
    "tl.tensor_descriptor",
    "tl.tensor_descriptor_base",
    "tl._experimental_tensor_descriptor",
    "tl.PropagateNan.ALL",
    "tl.PropagateNan.NONE",
    "tl.dtype.SIGNEDNESS.SIGNED",
    "tl.dtype.SIGNEDNESS.UNSIGNED",
];

/// Modules and classes that are only looked into.
const MODULES: [&str; 10] = [
    "math",
    "triton",
    "tl",
    "tl.extra",
    "tl.target_info",
    "tl.PropagateNan",
    "tl.dtype.SIGNEDNESS",
    "libdevice",
    "triton.runtime",
    "tl.math",
];

/// The short form of a dotted path of the language: `triton.language.math.exp` is `tl.math.exp`.
pub fn short_path(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('.').collect();
    if parts.first() == Some(&"deuteron") {
        parts[0] = "triton";
    }
    if parts.first() == Some(&"triton") && parts.get(1) == Some(&"language") {
        parts.splice(..2, ["tl"]);
    }
    if parts.first() == Some(&"tl") {
        if matches!(parts.get(1), Some(&("core" | "standard" | "random" | "semantic"))) {
            parts.remove(1);
        }
        if parts.get(1) == Some(&"math") && parts.len() > 2 {
            parts.remove(1);
        }
        if parts.get(1) == Some(&"extra")
            && let Some(at) = parts.iter().position(|part| *part == "libdevice")
        {
            parts.drain(..at);
        }
    }
    parts.join(".")
}

/// What a dotted path of the language means: `triton.language.load`, `tl.float32`, `triton.cdiv`, `libdevice.exp`, ….
/// `None` when the language has no such name.
pub fn resolve(path: &str) -> Option<PyValue> {
    let path = short_path(path);
    if MODULES.contains(&path.as_str()) || path.strip_prefix("tl.").is_some_and(stdlib::is_module) {
        return Some(PyValue::Module(path.as_str().into()));
    }
    if ops::find(&path).is_some() || MARKERS.contains(&path.as_str()) {
        return Some(PyValue::Builtin(path.as_str().into()));
    }
    if path == "triton.language" {
        return Some(PyValue::Module("tl".into()));
    }
    if let Some(name) = path.strip_prefix("math.") {
        let function = python_math::has(name).then(|| PyValue::Builtin(path.as_str().into()));
        return python_math::constant(name).or(function);
    }
    let name = path.strip_prefix("tl.")?;
    match name {
        "TRITON_MAX_TENSOR_NUMEL" => return Some(PyValue::Int(i128::from(crate::typing::MAX_ELEMENTS))),
        "pi32_t" => return Some(PyValue::DType(crate::typing::pointer_to(DType::Int32))),
        _ => {}
    }
    let dtype = DType::from_name(name).filter(|dtype| dtype.facts().public == name);
    dtype.map(PyValue::dtype).or_else(|| stdlib::public_function(name))
}

/// Whether a function is one of the library.
pub fn owns(function: &crate::value::FunctionRef) -> bool {
    stdlib::owns(function)
}

/// The path of a function of the library, as [`resolve`] takes it.
pub fn path_of(function: &crate::value::FunctionRef) -> Option<String> {
    stdlib::path_of(function).map(|path| format!("tl.{path}"))
}

/// Whether a place, as locations describe it, is in the library.
pub fn is_library_place(place: &str) -> bool {
    place.starts_with(stdlib::FOLDER)
}

/// A name in a module of the language. What was found is remembered.
pub(crate) fn attribute(module: &str, name: &str) -> Option<PyValue> {
    static KNOWN: RwLock<Option<FxHashMap<String, PyValue>>> = RwLock::new(None);
    let path = format!("{module}.{name}");
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = known.as_ref().and_then(|known| known.get(&path)) {
        return Some(value.clone());
    }
    drop(known);
    let value = resolve(&path)?;
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(path, value.clone());
    Some(value)
}

/// What a name means that nobody else defines.
pub(crate) fn python_builtin(name: &str) -> Option<PyValue> {
    PYTHON.contains(&name).then(|| PyValue::Builtin(format!("python.{name}").into()))
}

/// Whether a path names something in the language. For documentation and stubs.
pub fn names() -> Vec<String> {
    let library = stdlib::names().map(|name| format!("tl.{name}"));
    let mut all: Vec<String> = ops::names().map(str::to_string).chain(library).collect();
    all.extend(MARKERS.iter().map(|name| name.to_string()));
    all.retain(|name| !name.contains("._"));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::{names, resolve, short_path};
    use crate::dtype::DType;
    use crate::value::PyValue;

    #[test]
    fn paths_become_short() {
        for (path, short) in [
            ("triton.language.load", "tl.load"),
            ("deuteron.language.core.load", "tl.load"),
            ("triton.language.math.exp", "tl.exp"),
            ("triton.language.extra.one.libdevice.tanh", "libdevice.tanh"),
            ("triton.language.extra.libdevice", "libdevice"),
            ("deuteron.cdiv", "triton.cdiv"),
        ] {
            assert_eq!(short_path(path), short);
        }
    }

    #[test]
    fn names_mean_what_they_should() {
        assert_eq!(resolve("triton.language.float32"), Some(PyValue::dtype(DType::Fp32)));
        assert_eq!(resolve("tl.load"), Some(PyValue::Builtin("tl.load".into())));
        assert_eq!(resolve("triton.language"), Some(PyValue::Module("tl".into())));
        assert!(matches!(resolve("tl.sum"), Some(PyValue::JitFunction(_))));
        assert_eq!(resolve("tl.fp32"), None);
        assert_eq!(resolve("tl._add"), None);
        assert_eq!(resolve("tl.nothing"), None);
        assert_eq!(resolve("numpy.add"), None);
    }

    #[test]
    fn functions_of_modules_of_the_library_are_found() {
        let within: Vec<&str> = crate::stdlib::names().filter(|name| name.contains('.')).collect();
        assert!(within.len() > 10, "{within:?}");
        for name in within {
            let (module, _) = name.rsplit_once('.').expect("it has a dot");
            assert!(matches!(resolve(&format!("tl.{module}")), Some(PyValue::Module(_))), "{module}");
            assert!(matches!(resolve(&format!("tl.{name}")), Some(PyValue::JitFunction(_))), "{name}");
            assert_eq!(resolve(&format!("tl.{module}.nothing")), None);
        }
    }

    /// Every operation of the reference's public list is known here, but for those named below.
    #[test]
    fn the_public_names_of_the_language_are_there() {
        let missing: Vec<&str> = include_str!("../tests/language_names.txt")
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .filter(|name| resolve(&format!("tl.{name}")).is_none())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(names().len() > 150);
    }
}
