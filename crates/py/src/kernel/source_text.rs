//! The source text of a Python function.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::{Bound, PyAny, PyResult};
use pyo3::types::PyAnyMethods;

/// The text as in the file, the file and the first line.
pub(crate) fn find_source(function: &Bound<'_, PyAny>) -> PyResult<(String, String, u32)> {
    let py = function.py();
    let code = function.getattr(intern!(py, "__code__"))?;
    let file: String = code.getattr(intern!(py, "co_filename"))?.extract()?;
    if let Some((source, first_line)) = quick_source(function, &code, &file)? {
        return Ok((source, file, first_line));
    }
    let found = py.import("inspect")?.call_method1("getsourcelines", (function,)).map_err(|error| {
        PyValueError::new_err(format!(
            "the source text of `{}` cannot be found ({error}): @jit functions must be defined in a file (or a notebook \
             cell), since they are compiled from their text",
            function.getattr("__qualname__").map(|name| name.to_string()).unwrap_or_default()
        ))
    })?;
    let (lines, first_line): (Vec<String>, u32) = found.extract()?;
    Ok((lines.concat(), file, first_line))
}

/// The text by the lines that Python keeps of the file, which spares the milliseconds that `inspect` takes. `None`
/// where that does not show a definition of this name; `inspect` then has its say.
fn quick_source(
    function: &Bound<'_, PyAny>,
    code: &Bound<'_, PyAny>,
    file: &str,
) -> PyResult<Option<(String, u32)>> {
    let py = function.py();
    let first_line: u32 = code.getattr(intern!(py, "co_firstlineno"))?.extract()?;
    let globals = function.getattr(intern!(py, "__globals__"))?;
    let lines = py.import("linecache")?.call_method1("getlines", (file, globals))?;
    let Ok(lines) = lines.extract::<Vec<String>>() else { return Ok(None) };
    let rest = lines.get(first_line.max(1) as usize - 1..).unwrap_or_default().concat();
    let Some(length) = frontend::params::definition_length(&rest) else { return Ok(None) };
    // The rest of the last line may hold a comment; the text ends with its line.
    let end = rest[length..].find('\n').map_or(rest.len(), |newline| length + newline + 1);
    let name: String = code.getattr(intern!(py, "co_name"))?.extract()?;
    let text = &rest[..end];
    Ok(text.contains(&format!("def {name}")).then(|| (text.to_owned(), first_line)))
}

/// The text from `def` on without its indentation, and how many lines stand before it.
pub(crate) fn from_definition(source: &str) -> (String, u32) {
    let is_definition =
        |line: &str| line.trim_start().starts_with("def ") || line.trim_start().starts_with("async def ");
    let before = source.lines().take_while(|line| !is_definition(line)).count();
    let lines: Vec<&str> = source.split_inclusive('\n').skip(before).collect();
    let indent = lines.first().map_or(0, |line| line.len() - line.trim_start().len());
    let strip = |line: &&str| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line[blank.min(indent)..].to_owned()
    };
    (lines.iter().map(strip).collect(), before as u32)
}

#[cfg(test)]
mod tests {
    use super::from_definition;

    #[test]
    fn decorators_and_indentation_go() {
        let text = "    @jit(\n        debug=True)\n    def f(x):\n        return x\n  \n";
        assert_eq!(from_definition(text), ("def f(x):\n    return x\n\n".to_owned(), 2));
        assert_eq!(from_definition("def f(): pass"), ("def f(): pass".to_owned(), 0));
        assert_eq!(from_definition(""), (String::new(), 0));
    }
}
