//! The part of the language that is written in the language: its text is embedded, parsed once for the process.
//!
//! A library function sees the other functions of the library, and `tl` and `jit`; nothing else.

use crate::parse::{self, ParsedFunction};
use crate::value::{Function, FunctionRef, PyValue};
use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// Every file of the library.
const FILES: [(&str, &str); 6] = [
    ("elementwise.py", include_str!("../stdlib/elementwise.py")),
    ("reduce.py", include_str!("../stdlib/reduce.py")),
    ("scan.py", include_str!("../stdlib/scan.py")),
    ("shape.py", include_str!("../stdlib/shape.py")),
    ("sort.py", include_str!("../stdlib/sort.py")),
    ("random.py", include_str!("../stdlib/random.py")),
];

/// What stands in front of the names of its files.
pub(crate) const FOLDER: &str = "deuteron/language/";

/// The module that library functions belong to.
const MODULE: &str = "deuteron.language";

/// Library functions that are methods of tensors too.
pub(crate) const METHODS: [&str; 18] = [
    "cdiv",
    "sigmoid",
    "softmax",
    "ravel",
    "max",
    "min",
    "argmax",
    "argmin",
    "sum",
    "xor_sum",
    "reduce_or",
    "cumsum",
    "cumprod",
    "sort",
    "argsort",
    "flip",
    "squeeze",
    "unsqueeze",
];

struct Library {
    functions: FxHashMap<String, Arc<ParsedFunction>>,
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut functions = FxHashMap::default();
        for (name, source) in FILES {
            load(name, source, &mut functions);
        }
        Library { functions }
    })
}

/// # Panics
/// When the embedded library does not parse; a test parses it.
fn load(name: &str, source: &str, functions: &mut FxHashMap<String, Arc<ParsedFunction>>) {
    let path = format!("{FOLDER}{name}");
    let file =
        parse::file(&path, source).unwrap_or_else(|error| panic!("the library does not parse: {error}"));
    for stmt in &file.body {
        let Stmt::FunctionDef(definition) = stmt else { continue };
        let (text, first_line) = file.definition_source(definition);
        let function = FunctionRef(Arc::new(Function {
            id: functions.len() as u64,
            name: definition.name.to_string(),
            module: MODULE.to_string(),
            file: path.clone(),
            first_line,
            source: text,
            noinline: false,
            extensions: crate::Extensions::default(),
        }));
        let parsed =
            parse::parse(&function).unwrap_or_else(|error| panic!("the library does not parse: {error}"));
        functions.insert(definition.name.to_string(), Arc::new(parsed));
    }
}

/// The library function of this name.
pub(crate) fn function(name: &str) -> Option<PyValue> {
    library().functions.get(name).map(|parsed| PyValue::JitFunction(parsed.function.clone()))
}

/// The parsed text of a library function.
pub(crate) fn parsed(function: &FunctionRef) -> Option<Arc<ParsedFunction>> {
    if owns(function) { library().functions.get(&function.0.name).cloned() } else { None }
}

/// Whether a function belongs to the library.
pub(crate) fn owns(function: &FunctionRef) -> bool {
    function.0.module == MODULE
}

/// A name as library functions see it.
pub(crate) fn global(name: &str) -> Option<PyValue> {
    match name {
        "tl" => Some(PyValue::Module("tl".into())),
        "jit" => Some(PyValue::Builtin("triton.jit".into())),
        _ => function(name),
    }
}

/// The names of all public library functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    library().functions.keys().map(String::as_str).filter(|name| !name.starts_with('_'))
}

/// The parameters of all public library functions, as their text declares them.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, String)> {
    let public = library().functions.iter().filter(|(name, _)| !name.starts_with('_'));
    public.map(|(name, parsed)| {
        let text = parsed.text.slice(parsed.ast.parameters.range());
        (
            name.as_str(),
            text.trim_start_matches('(')
                .trim_end_matches(')')
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{FILES, METHODS, function, names};

    #[test]
    fn every_file_parses_and_names_are_unique() {
        let defined: usize = FILES.iter().map(|(_, source)| source.matches("\ndef ").count()).sum();
        assert_eq!(super::library().functions.len(), defined);
        assert!(names().count() > 30);
        for method in METHODS {
            assert!(function(method).is_some(), "{method}");
        }
    }
}
