//! The part of the language that is written in the language: its text is embedded, and each function parsed when it is
//! first used. Every function of a file begins at the start of a line, with `@jit` above it. It belongs to `tl`, or to
//! the modules that the last line `# module tl.…` above it names.
//!
//! A library function sees the other functions of the library, and `tl` and `jit`; nothing else.

use crate::parse::{self, ParsedFunction};
use crate::value::{Function, FunctionRef, PyValue};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// Every file of the library.
const FILES: [(&str, &str); 8] = [
    ("elementwise.py", include_str!("../stdlib/elementwise.py")),
    ("reduce.py", include_str!("../stdlib/reduce.py")),
    ("scan.py", include_str!("../stdlib/scan.py")),
    ("shape.py", include_str!("../stdlib/shape.py")),
    ("sort.py", include_str!("../stdlib/sort.py")),
    ("random.py", include_str!("../stdlib/random.py")),
    ("descriptors.py", include_str!("../stdlib/descriptors.py")),
    ("targets.py", include_str!("../stdlib/targets.py")),
];

/// What stands in front of the names of its files.
pub(crate) const FOLDER: &str = "deuteron/language/";

/// What begins a line that names the modules of the functions below it: `# module tl.a, tl.b`.
const MODULE_LINE: &str = "\n# module tl.";

/// The Python module that library functions belong to.
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

/// Functions of `tl.standard` that have no page and that kernels of others call all the same, or hand to `tl.reduce`.
const HELPERS: [&str; 14] = [
    "_argmax_combine",
    "_argmax_combine_tie_break_fast",
    "_argmax_combine_tie_break_left",
    "_argmin_combine",
    "_argmin_combine_tie_break_fast",
    "_argmin_combine_tie_break_left",
    "_compare_and_swap",
    "_elementwise_max",
    "_elementwise_min",
    "_or_combine",
    "_prod_combine",
    "_sum_combine",
    "_xor_combine",
    "sort_impl",
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

/// All functions: the number of each is its `id`.
#[derive(Default)]
struct Library {
    entries: Vec<Entry>,
    /// Their numbers, by the path below `tl`.
    by_path: FxHashMap<String, usize>,
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut library = Library::default();
        for (name, source) in FILES {
            library.load(name, source);
        }
        library
    })
}

impl Library {
    /// Adds the functions of a file.
    ///
    /// # Panics
    /// When two functions have one path; a test loads all files.
    fn load(&mut self, file: &str, source: &'static str) {
        let starts: Vec<usize> = source.match_indices("\n@jit\ndef ").map(|(at, _)| at + 1).collect();
        let (mut line, mut counted) = (1, 0);
        let mut modules = modules_behind(&source[..starts[0]]);
        for (number, &start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).map_or(source.len(), |&next| next);
            let text = &source[start..end];
            let next = modules_behind(text);
            let text = text.split_once(MODULE_LINE).map_or(text, |(own, _)| own).trim_end();
            let (name, _) = text["@jit\ndef ".len()..].split_once('(').expect("a function has parameters");
            line += source[counted..start].matches('\n').count() as u32;
            counted = start;
            let function = FunctionRef(Arc::new(Function {
                id: self.entries.len() as u64,
                name: name.to_string(),
                module: MODULE.to_string(),
                file: format!("{FOLDER}{file}"),
                first_line: line,
                source: text.to_string(),
                noinline: false,
                extensions: crate::Extensions::default(),
            }));
            let paths = if modules.is_empty() {
                vec![name.to_owned()]
            } else {
                modules.iter().map(|module| format!("{module}.{name}")).collect()
            };
            for path in paths {
                let other = self.by_path.insert(path, self.entries.len());
                assert!(other.is_none(), "two functions of the library are `{name}`");
            }
            self.entries.push(Entry { function, parsed: OnceLock::new() });
            if !next.is_empty() {
                modules = next;
            }
        }
    }

    /// The public functions, with their paths.
    fn public(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let all = self.by_path.iter().map(|(path, &number)| (path.as_str(), &self.entries[number]));
        all.filter(|(path, _)| is_public(path) && !HELPERS.contains(path))
    }
}

/// The modules that a text of a file names for what comes behind it.
fn modules_behind(text: &str) -> Vec<&str> {
    let line = text.split_once(MODULE_LINE).and_then(|(_, behind)| behind.lines().next());
    line.map_or_else(Vec::new, |names| names.split(", tl.").collect())
}

/// The library function of this path below `tl`.
pub(crate) fn function(path: &str) -> Option<PyValue> {
    let number = *library().by_path.get(path)?;
    Some(PyValue::JitFunction(library().entries[number].function.clone()))
}

/// The library function of this path below `tl` that kernels may call.
pub(crate) fn public_function(path: &str) -> Option<PyValue> {
    if is_public(path) || HELPERS.contains(&path) { function(path) } else { None }
}

/// Whether kernels may call what has this path: all but what is the library's own, `_name` or `module._name`.
fn is_public(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path);
    !name.starts_with('_') || name.starts_with("_experimental_")
}

/// Whether a path below `tl` is a module in which functions of the library are.
pub(crate) fn is_module(path: &str) -> bool {
    library().by_path.keys().any(|own| own.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// The parsed text of a library function.
pub(crate) fn parsed(function: &FunctionRef) -> Option<Arc<ParsedFunction>> {
    let entry = owns(function).then(|| usize::try_from(function.0.id).ok()).flatten();
    entry.and_then(|number| library().entries.get(number)).map(|entry| Arc::clone(entry.parsed()))
}

/// Whether a function belongs to the library.
pub(crate) fn owns(function: &FunctionRef) -> bool {
    function.0.module == MODULE
}

/// The path below `tl` of a function that belongs to the library, the first of them where modules share it.
pub(crate) fn path_of(function: &FunctionRef) -> Option<&'static str> {
    let paths = || library().by_path.iter().filter(|(_, number)| **number as u64 == function.0.id);
    owns(function).then(|| paths().map(|(path, _)| path.as_str()).min()).flatten()
}

/// A name as library functions see it.
pub(crate) fn global(name: &str) -> Option<PyValue> {
    match name {
        "tl" => Some(PyValue::Module("tl".into())),
        "jit" => Some(PyValue::Builtin("triton.jit".into())),
        _ => function(name),
    }
}

/// The paths of all public library functions, below `tl`.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    library().public().map(|(path, _)| path)
}

/// The parameters of all public library functions, as their text declares them.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, String)> {
    library().public().map(|(path, entry)| {
        let parsed = entry.parsed();
        let text = parsed.text.slice(parsed.ast.parameters.range());
        let words: Vec<&str> =
            text.trim_start_matches('(').trim_end_matches(')').split_whitespace().collect();
        (path, words.join(" "))
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
                let function = &library().entries[count].function.0;
                let own = (function.source.clone(), function.first_line);
                assert_eq!(own, file.definition_source(definition), "{}", definition.name);
                count += 1;
            }
        }
        assert_eq!(library().entries.len(), count);
        assert!(library().by_path.values().all(|&number| number < count));
        let is_shared = |(path, number): (&String, &usize)| {
            path.ends_with(".num_warps") && library().entries[*number].function.0.name == "num_warps"
        };
        assert_eq!(library().by_path.iter().filter(|&one| is_shared(one)).count(), 2, "it is in two modules");
    }

    #[test]
    fn every_function_parses() {
        for entry in &library().entries {
            assert_eq!(entry.parsed().ast.name.as_str(), entry.function.0.name);
        }
        assert!(names().count() > 30);
        for method in METHODS.into_iter().chain(super::HELPERS) {
            assert!(function(method).is_some(), "{method}");
        }
    }
}
