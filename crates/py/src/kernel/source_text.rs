//! The source text of a Python function.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::{Bound, Py, PyAny, PyResult};
use pyo3::types::{PyAnyMethods, PyList, PyListMethods};

/// The lines of the file that a function comes from as they are now; none where Python finds no file. Asked when the
/// function is made: whoever edits the file and loads it again has new functions, and the old ones are what they were.
pub(crate) fn lines_now<'py>(function: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
    let py = function.py();
    let file = function.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_filename"))?;
    let globals = function.getattr_opt(intern!(py, "__globals__"))?;
    let linecache = py.import(intern!(py, "linecache"))?;
    linecache.call_method1(intern!(py, "checkcache"), (&file,))?;
    let lines = linecache.call_method1(intern!(py, "getlines"), (file, globals))?;
    Ok(lines.cast_into::<PyList>().ok().filter(|lines| !lines.is_empty()))
}

/// The text as in the file, the file and the first line. `lines` are those of [`lines_now`] when the function was made.
pub(crate) fn find_source(
    function: &Bound<'_, PyAny>,
    lines: Option<&Py<PyList>>,
) -> PyResult<(String, String, u32)> {
    let py = function.py();
    let code = function.getattr(intern!(py, "__code__"))?;
    let file: String = code.getattr(intern!(py, "co_filename"))?.extract()?;
    let lines = match lines {
        Some(lines) => Some(lines.bind(py).clone()),
        None => lines_now(function)?,
    };
    let quick = lines.map(|lines| quick_source(&code, &lines)).transpose()?.flatten();
    if let Some((source, first_line)) = quick {
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
fn quick_source(code: &Bound<'_, PyAny>, lines: &Bound<'_, PyList>) -> PyResult<Option<(String, u32)>> {
    let py = code.py();
    let first_line: u32 = code.getattr(intern!(py, "co_firstlineno"))?.extract()?;
    let Some(text) = first_definition(lines, first_line.max(1) as usize - 1)? else { return Ok(None) };
    let name: String = code.getattr(intern!(py, "co_name"))?.extract()?;
    Ok(text.contains(&format!("def {name}")).then_some((text, first_line)))
}

/// The text of the function that begins at a line, to the end of its last line. Files are long and functions short, so
/// ever more lines are read until the end of the function is seen.
fn first_definition(lines: &Bound<'_, PyList>, begin: usize) -> PyResult<Option<String>> {
    let mut count = 64;
    loop {
        let Ok(read) = lines.get_slice(begin, begin + count).extract::<Vec<String>>() else {
            return Ok(None);
        };
        let read = read.concat();
        let length = if begin + count < lines.len() {
            frontend::params::whole_definition_length(&read)
        } else {
            let Some(length) = frontend::params::definition_length(&read) else { return Ok(None) };
            Some(length)
        };
        if let Some(length) = length {
            // The rest of the last line may hold a comment.
            let end = read[length..].find('\n').map_or(read.len(), |newline| length + newline + 1);
            return Ok(Some(read[..end].to_owned()));
        }
        count *= 4;
    }
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
