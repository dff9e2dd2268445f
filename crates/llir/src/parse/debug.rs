//! The metadata at the end of a text: places in source files, and how likely branches are.

use crate::function::Payload;
use crate::location::Location;
use crate::module::Module;
use rustc_hash::FxHashMap;

/// The lines of metadata by their numbers.
pub(super) struct Metadata(FxHashMap<String, String>);

impl Metadata {
    /// Takes the lines of metadata out of a text; what is left has the same lines.
    pub(super) fn split(text: &str) -> (String, Metadata) {
        let mut code = String::with_capacity(text.len());
        let mut lines = FxHashMap::default();
        for line in text.lines() {
            let definition = line.strip_prefix('!').and_then(|rest| rest.split_once(" = "));
            match definition {
                Some((name, value)) => _ = lines.insert(name.to_owned(), value.to_owned()),
                None => code.push_str(line),
            }
            code.push('\n');
        }
        (code, Metadata(lines))
    }

    /// `!{!"branch_weights", i32 1, i32 99}`.
    pub(super) fn weights(&self, number: &str) -> Option<Payload> {
        let text = self.0.get(number)?.split_once("\"branch_weights\"")?.1;
        let mut numbers = text.split("i32").skip(1).map(|part| {
            let digits: String = part.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        Some(Payload::Weights(numbers.next()??, numbers.next()??))
    }

    /// `!DILocation(line: 7, column: 3, scope: !9)`. Calls that have no place are printed with one in line 0.
    pub(super) fn location(&self, number: &str, module: &mut Module) -> Option<Location> {
        let text = self.0.get(number)?;
        let line = field(text, "line")?.parse().ok().filter(|&line| line > 0)?;
        let column = field(text, "column").and_then(|column| column.parse().ok()).unwrap_or(0);
        let file = self.file(field(text, "scope")?, 0)?;
        Some(Location { file: module.add_file(&file), line, column })
    }

    /// The path of the file that a scope is in.
    fn file(&self, scope: &str, depth: u32) -> Option<String> {
        const DEEPEST: u32 = 64;
        let text = self.0.get(scope.strip_prefix('!')?)?;
        if text.contains("!DIFile(") {
            let (name, directory) = (quoted(text, "filename")?, quoted(text, "directory")?);
            return Some(if directory == "." { name } else { format!("{directory}/{name}") });
        }
        let next = field(text, "file").or_else(|| field(text, "scope"))?;
        if depth < DEEPEST { self.file(next, depth + 1) } else { None }
    }
}

/// What stands behind `name: ` up to the next comma or parenthesis.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("{name}: "))?;
    rest.split([',', ')']).next().map(str::trim)
}

/// What stands behind `name: ` between quotes.
fn quoted(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("{name}: "))?;
    super::lexer::text_between_quotes(rest)
}
