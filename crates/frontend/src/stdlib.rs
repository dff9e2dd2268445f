//! The part of the language that is written in the language: its text is embedded, and each function parsed when it is
//! first used. Every function of a file begins at the start of a line, with `@jit` above it.
//!
//! A library function sees the other functions of the library, and `tl` and `jit`; nothing else.

use crate::parse::{self, ParsedFunction};
use crate::value::{Function, FunctionRef, PyValue};
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

/// A function, and what it parses to once it was asked for.
struct Entry {
    function: FunctionRef,
    parsed: OnceLock<Arc<ParsedFunction>>,
}

impl Entry {
    /// # Panics
    /// When the embedded library does not parse; a test parses it.
    fn parsed(&self) -> &Arc<ParsedFunction> {
        self.parsed.get_or_init(|| {
            let parsed = parse::parse(&self.function);
            Arc::new(parsed.unwrap_or_else(|error| panic!("the library does not parse: {error}")))
        })
    }
}

fn library() -> &'static FxHashMap<&'static str, Entry> {
    static LIBRARY: OnceLock<FxHashMap<&str, Entry>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut functions = FxHashMap::default();
        for (name, source) in FILES {
            load(name, source, &mut functions);
        }
        functions
    })
}

/// Adds the functions of a file.
fn load(file: &str, source: &'static str, functions: &mut FxHashMap<&'static str, Entry>) {
    let starts: Vec<usize> = source.match_indices("\n@jit\ndef ").map(|(at, _)| at + 1).collect();
    let (mut line, mut counted) = (1, 0);
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(source.len(), |&next| next);
        let text = source[start..end].trim_end();
        let (name, _) = text["@jit\ndef ".len()..].split_once('(').expect("a function has parameters");
        line += source[counted..start].matches('\n').count() as u32;
        counted = start;
        let function = FunctionRef(Arc::new(Function {
            id: functions.len() as u64,
            name: name.to_string(),
            module: MODULE.to_string(),
            file: format!("{FOLDER}{file}"),
            first_line: line,
            source: text.to_string(),
            noinline: false,
            extensions: crate::Extensions::default(),
        }));
        functions.insert(name, Entry { function, parsed: OnceLock::new() });
    }
}

/// The library function of this name.
pub(crate) fn function(name: &str) -> Option<PyValue> {
    library().get(name).map(|entry| PyValue::JitFunction(entry.function.clone()))
}

/// The parsed text of a library function.
pub(crate) fn parsed(function: &FunctionRef) -> Option<Arc<ParsedFunction>> {
    let own = owns(function).then(|| library().get(function.0.name.as_str()));
    own.flatten().map(|entry| Arc::clone(entry.parsed()))
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
    library().keys().copied().filter(|name| !name.starts_with('_'))
}

/// The parameters of all public library functions, as their text declares them.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, String)> {
    let public = library().iter().filter(|(name, _)| !name.starts_with('_'));
    public.map(|(name, entry)| {
        let parsed = entry.parsed();
        let text = parsed.text.slice(parsed.ast.parameters.range());
        (
            *name,
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
    use super::{FILES, METHODS, function, library, names};
    use crate::parse;
    use ruff_python_ast::Stmt;

    #[test]
    fn files_are_cut_where_the_parser_would() {
        let mut count = 0;
        for (name, source) in FILES {
            let file = parse::file(name, source).unwrap_or_else(|error| panic!("{error}"));
            for stmt in &file.body {
                let Stmt::FunctionDef(definition) = stmt else { continue };
                let function = &library()[definition.name.as_str()].function.0;
                let own = (function.source.clone(), function.first_line);
                assert_eq!(own, file.definition_source(definition), "{}", definition.name);
                count += 1;
            }
        }
        assert_eq!(library().len(), count);
    }

    #[test]
    fn every_function_parses() {
        for entry in library().values() {
            assert_eq!(entry.parsed().ast.name.as_str(), entry.function.0.name);
        }
        assert!(names().count() > 30);
        for method in METHODS {
            assert!(function(method).is_some(), "{method}");
        }
    }
}
