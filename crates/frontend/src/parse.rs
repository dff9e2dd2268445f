//! The one place that touches the Python parser: text in, syntax tree and places out.
//!
//! A function arrives as it stands in its file, decorated and perhaps indented; it is parsed where it stands, so that
//! lines and columns are those of the file. Files are parsed whole.

use crate::counters::Counters;
use crate::diagnostic::{Diagnostic, Kind, Place};
use crate::extension::Extension;
use crate::nesting;
use crate::value::{Function, FunctionRef};
use ruff_python_ast::{Stmt, StmtFunctionDef, Suite};
use ruff_text_size::{Ranged, TextRange, TextSize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Put before indented text, to make a block of it.
const BLOCK_HEADER: &str = "if True:\n";

/// Text with the offsets of its lines.
#[derive(Debug)]
pub(crate) struct Text {
    file: Arc<str>,
    text: String,
    /// Offset of the first character of each line.
    starts: Vec<u32>,
    /// The number that the first line of `text` has in the file; 0 for a header line of ours.
    first_line: u32,
}

impl Text {
    fn new(file: &str, text: String, first_line: u32) -> Text {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(offset, _)| offset as u32 + 1)).collect();
        Text { file: Arc::from(file), text, starts, first_line }
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// The text of a range.
    pub(crate) fn slice(&self, range: TextRange) -> &str {
        self.text.get(range.to_std_range()).unwrap_or_default()
    }

    fn line_index(&self, offset: TextSize) -> usize {
        self.starts.partition_point(|start| *start <= offset.to_u32()) - 1
    }

    /// Line and column of an offset in the file, both counted from 1.
    pub(crate) fn line_column(&self, offset: TextSize) -> (u32, u32) {
        let line = self.line_index(offset);
        let start = self.starts[line] as usize;
        let prefix = self.text.get(start..offset.to_usize()).unwrap_or_default();
        let column = if prefix.is_ascii() { prefix.len() } else { prefix.chars().count() };
        (self.first_line + line as u32, column as u32 + 1)
    }

    /// The place of a range; of its first line, where it has several.
    pub(crate) fn place(&self, range: TextRange) -> Place {
        let index = self.line_index(range.start());
        let start = self.starts[index] as usize;
        let rest = self.text.get(start..).unwrap_or_default();
        let text = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let (line, column) = self.line_column(range.start());
        let marked = self.slice(range).split('\n').next().unwrap_or_default();
        let width = (marked.trim_end().chars().count() as u32).max(1);
        let file = self.file.to_string();
        Place { file, line, column, width, text: text.to_string(), in_function: (0, 0) }
    }

    /// Its statements.
    fn parsed(&self) -> Result<Suite, Diagnostic> {
        if nesting::is_too_deep(&self.text) {
            let message = "expressions or statements are nested too deep, deeper than Python reads";
            let mut diagnostic = Diagnostic::without_place(Kind::Compilation, message.to_owned());
            diagnostic.place = Some(self.place(TextRange::default()));
            return Err(diagnostic);
        }
        let parsed = ruff_python_parser::parse_module(&self.text).map_err(|error| self.error(&error))?;
        Ok(parsed.into_suite())
    }

    fn error(&self, error: &ruff_python_parser::ParseError) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::without_place(Kind::Compilation, format!("invalid syntax: {}", error.error));
        diagnostic.place = Some(self.place(error.location));
        diagnostic
    }
}

/// A function and its syntax tree.
#[derive(Debug)]
pub(crate) struct ParsedFunction {
    /// What was parsed.
    pub(crate) function: FunctionRef,
    /// Its text.
    pub(crate) text: Arc<Text>,
    /// Its definition.
    pub(crate) ast: Arc<StmtFunctionDef>,
    /// The targets of its loops, once they were asked for.
    counters: OnceLock<Counters>,
}

impl ParsedFunction {
    fn new(function: &FunctionRef, text: Arc<Text>, ast: Arc<StmtFunctionDef>) -> ParsedFunction {
        ParsedFunction { function: function.clone(), text, ast, counters: OnceLock::new() }
    }

    /// The targets of its loops.
    pub(crate) fn counters(&self) -> &Counters {
        self.counters.get_or_init(|| Counters::of(&self.ast.body))
    }

    /// Its `def` and name.
    pub(crate) fn header(&self) -> TextRange {
        let name = self.ast.name.range();
        let before = self.text.slice(TextRange::up_to(name.start()));
        let def = before.rfind("def").expect("parsed: a name behind `def`");
        TextRange::new(TextSize::try_from(def).expect("parsed: offsets have 32 bits"), name.end())
    }

    /// The place of a range of the function.
    pub(crate) fn place(&self, range: TextRange) -> Place {
        let mut place = self.text.place(range);
        let (first, _) = self.text.line_column(self.ast.name.range().start());
        let line = self
            .text
            .text
            .get(self.text.starts[self.text.line_index(self.ast.name.range().start())] as usize..);
        let indent = line.map_or(0, |line| line.len() - line.trim_start_matches([' ', '\t']).len()) as u32;
        place.in_function =
            ((place.line + 1).saturating_sub(first), (place.column - 1).saturating_sub(indent));
        place
    }
}

/// A function that was parsed before, as long as somebody holds it.
struct Recent {
    function: Weak<Function>,
    text: Arc<Text>,
    ast: Arc<StmtFunctionDef>,
}

/// How many functions are kept parsed: a kernel is compiled for many types and options, one after the other.
const RECENT: usize = 64;

/// The functions that were parsed last, the latest at the end.
static PARSED: Mutex<VecDeque<Recent>> = Mutex::new(VecDeque::new());

/// Parses a function, unless this very one was parsed lately.
///
/// # Errors
/// Syntax errors, and text that holds no function definition.
pub(crate) fn function(function: &FunctionRef) -> Result<ParsedFunction, Diagnostic> {
    let recent = || PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    // A function that is gone keeps its address until its entry is gone, too: an address means one function.
    let at = Arc::as_ptr(&function.0);
    if let Some(known) = recent().iter().find(|known| known.function.as_ptr() == at) {
        let (text, ast) = (known.text.clone(), known.ast.clone());
        return Ok(ParsedFunction::new(function, text, ast));
    }
    let parsed = parse(function)?;
    let mut recent = recent();
    recent.retain(|known| known.function.strong_count() > 0);
    if recent.len() == RECENT {
        recent.pop_front();
    }
    let (text, ast) = (parsed.text.clone(), parsed.ast.clone());
    recent.push_back(Recent { function: Arc::downgrade(&function.0), text, ast });
    Ok(parsed)
}

/// Parses a function, and does not keep it.
///
/// # Errors
/// As [`function`].
pub(crate) fn parse(function: &FunctionRef) -> Result<ParsedFunction, Diagnostic> {
    let source = &function.0.source;
    let first = source.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let indented = first.is_some_and(|line| line.starts_with([' ', '\t']));
    let text = if indented {
        Text::new(
            &function.0.file,
            format!("{BLOCK_HEADER}{source}"),
            function.0.first_line.saturating_sub(1),
        )
    } else {
        Text::new(&function.0.file, source.clone(), function.0.first_line)
    };
    let mut suite = text.parsed()?;
    if indented && let Some(Stmt::If(block)) = suite.pop() {
        suite = block.body;
    }
    let definition = suite.into_iter().find_map(|stmt| match stmt {
        Stmt::FunctionDef(definition) => Some(definition),
        _ => None,
    });
    match definition {
        Some(mut ast) => {
            if function.0.extensions.has(Extension::LoopExits) {
                crate::loop_exits::rewrite(&mut ast);
            }
            Ok(ParsedFunction::new(function, Arc::new(text), Arc::new(ast)))
        }
        None => {
            let message = format!("the source of `{}` holds no function definition", function.0.name);
            let mut diagnostic = Diagnostic::without_place(Kind::Compilation, message);
            diagnostic.place = Some(text.place(TextRange::default()));
            Err(diagnostic)
        }
    }
}

/// How many bytes of a text its first function takes, decorators included. What follows the function may be anything.
pub(crate) fn definition_length(text: &str) -> Option<usize> {
    if nesting::is_too_deep(text) {
        return None;
    }
    let header = header(text);
    let mut suite = parse_leniently(text).try_into_module()?.into_suite();
    if !header.is_empty() {
        let Stmt::If(block) = suite.into_iter().next()? else { return None };
        suite = block.body;
    }
    match suite.into_iter().next()? {
        Stmt::FunctionDef(definition) => definition.range().end().to_usize().checked_sub(header.len()),
        _ => None,
    }
}

/// As [`definition_length`], of a text that may have been cut anywhere. `None` also where it does not show that the
/// function ends: that a line of something else follows.
pub(crate) fn whole_definition_length(text: &str) -> Option<usize> {
    let length = definition_length(text)?;
    let (definition, rest) = text.split_at_checked(length)?;
    let is_code = |line: &str| !matches!(line.trim_start().chars().next(), None | Some('#'));
    // The rest of its last line may be a comment. A cut in a text or in parentheses leaves an error in the function.
    let ends = rest.lines().skip(1).any(is_code) && parse_leniently(definition).errors().is_empty();
    ends.then_some(length)
}

/// What makes an indented function a statement of a file.
fn header(text: &str) -> &'static str {
    if text.starts_with([' ', '\t']) { BLOCK_HEADER } else { "" }
}

/// Parses what begins with a function and may hold errors.
fn parse_leniently(text: &str) -> ruff_python_parser::Parsed<ruff_python_ast::Mod> {
    let options = ruff_python_parser::ParseOptions::from(ruff_python_parser::Mode::Module);
    ruff_python_parser::parse_unchecked(&format!("{}{text}", header(text)), options)
}

/// A whole file and its syntax tree.
#[derive(Debug)]
pub(crate) struct ParsedFile {
    /// Its text.
    pub(crate) text: Text,
    /// Its statements.
    pub(crate) body: Vec<Stmt>,
}

impl ParsedFile {
    /// The text of a definition with its decorators, from the start of its first line, and the number of that line.
    pub(crate) fn definition_source(&self, definition: &StmtFunctionDef) -> (String, u32) {
        let start = definition.decorator_list.first().map_or(definition.range().start(), Ranged::start);
        let line = self.text.line_index(start);
        let begin = self.text.starts[line] as usize;
        let source = self.text.text.get(begin..definition.range().end().to_usize()).unwrap_or_default();
        (source.to_string(), self.text.first_line + line as u32)
    }
}

/// Parses a whole file.
///
/// # Errors
/// Syntax errors.
pub(crate) fn file(name: &str, source: &str) -> Result<ParsedFile, Diagnostic> {
    let text = Text::new(name, source.to_string(), 1);
    let body = text.parsed()?.into_iter().collect();
    Ok(ParsedFile { text, body })
}

#[cfg(test)]
mod tests {
    use super::{file, function};
    use crate::value::{Function, FunctionRef};
    use ruff_text_size::Ranged;
    use std::sync::Arc;

    fn source(text: &str, first_line: u32) -> FunctionRef {
        FunctionRef(Arc::new(Function {
            id: 1,
            name: "f".into(),
            module: "m".into(),
            file: "m.py".into(),
            first_line,
            source: text.into(),
            noinline: false,
            extensions: crate::Extensions::default(),
        }))
    }

    #[test]
    fn indented_functions_keep_their_places() {
        let parsed = function(&source("    @triton.jit\n    def f(x):\n        return x\n", 10)).unwrap();
        assert_eq!(parsed.text.line_column(parsed.ast.name.range().start()), (11, 9));
        let place = parsed.text.place(parsed.ast.body[0].range());
        assert_eq!((place.line, place.column, place.text.as_str()), (12, 9, "        return x"));
    }

    #[test]
    fn comments_and_decorators_before_the_definition() {
        let parsed = function(&source("# c\n@a\n@b(1)\ndef f(x):\n    return é\n", 5)).unwrap();
        assert_eq!(parsed.text.line_column(parsed.ast.body[0].range().end()), (9, 13));
    }

    #[test]
    fn a_function_is_parsed_once() {
        let one = source("def f(x):\n    return x\n", 1);
        let (first, second) = (function(&one).unwrap(), function(&one).unwrap());
        assert!(Arc::ptr_eq(&first.ast, &second.ast));
        // One of the same name and number is another function, and so is every one that comes where it lay.
        let texts: Vec<String> = (0..200)
            .map(|number| {
                let parsed = function(&source(&format!("def f(x):\n    return {number}\n"), 1)).unwrap();
                parsed.text.slice(parsed.ast.body[0].range()).to_owned()
            })
            .collect();
        assert!(texts.iter().enumerate().all(|(number, text)| *text == format!("return {number}")));
        assert!(Arc::ptr_eq(&first.ast, &function(&one).unwrap().ast));
    }

    #[test]
    fn errors_have_a_place() {
        let error = function(&source("def f(x):\n    return (x\n", 3)).unwrap_err();
        assert!(error.message.starts_with("invalid syntax"), "{}", error.message);
        assert!(error.place.unwrap().line >= 4);
        assert!(function(&source("x = 1\n", 3)).unwrap_err().message.contains("no function definition"));
        assert!(function(&source("", 3)).is_err());
    }

    #[test]
    fn sources_of_definitions_in_a_file() {
        let parsed = file("m.py", "import a\n\n@a.jit\ndef f():\n    pass\n").unwrap();
        let ruff_python_ast::Stmt::FunctionDef(definition) = &parsed.body[1] else {
            panic!("not a function")
        };
        assert_eq!(parsed.definition_source(definition), ("@a.jit\ndef f():\n    pass".to_string(), 3));
    }
}
