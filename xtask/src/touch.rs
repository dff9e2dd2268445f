//! Which files name an operation: by its text name, its row or its view.
//!
//! Input: `tt.dot`. Output: the files outside tests in which `"tt.dot"`, `dot::DOT`, an imported `DOT` or `DotOp`
//! stands, comments left out. Where an operation's facts stand in its row, few files name it; `xtask/exceptions.txt`
//! holds how many may.
//!
//! Files may also read an operation as one of many that share a fact of their rows: `MatmulOp`, `AccessOp`, views that
//! are declared with `where`. They go on working with an operation that comes later, so they are listed apart
//! ([`through`]).

use crate::sources::SourceFile;

/// What an operation is called.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    text: String,
    /// The module of its row, and the row.
    row: (String, String),
    /// The path of that module, without its ending.
    home: String,
    views: Vec<String>,
}

/// The files that name an operation.
///
/// # Errors
/// When no row has this text name.
pub(crate) fn touch<'f>(files: &'f [SourceFile], text: &str) -> Result<Vec<&'f str>, String> {
    let names = files.iter().find_map(|file| names(file, text));
    let names = names.ok_or_else(|| format!("no row is named `{text}`"))?;
    let named = files.iter().filter(|file| !is_test(&file.path) && names.stand_in(file));
    Ok(named.map(|file| file.path.as_str()).collect())
}

/// The views of many rows that read this operation too, and the files that use each but do not name the operation.
///
/// # Errors
/// When no row has this text name.
pub(crate) fn through<'f>(
    files: &'f [SourceFile],
    text: &str,
) -> Result<Vec<(&'f str, Vec<&'f str>)>, String> {
    let named = touch(files, text)?;
    let row = files.iter().find_map(|file| row_text(file, text)).unwrap_or_default();
    let shared = files.iter().flat_map(shared_views).filter(|(_, fact)| row.contains(fact.as_str()));
    let uses = |view: &str, file: &&SourceFile| {
        !is_test(&file.path) && !named.contains(&file.path.as_str()) && is_used(&code_of(file), view)
    };
    let found = shared.map(|(view, _)| {
        let users = files.iter().filter(|file| uses(view, file));
        (view, users.map(|file| file.path.as_str()).collect())
    });
    Ok(found.collect())
}

/// The views of many rows that a file declares, each with the fact that a row states to be read by it:
/// `Traits::MATMUL`, `access:`.
fn shared_views(file: &SourceFile) -> Vec<(&str, String)> {
    let rows = if file.path.contains("/src/ops/") { file.text.as_str() } else { "" };
    let views = rows.split("op_view! {").skip(1).filter_map(|view| {
        let head = view.split(" {").next()?;
        let (view, rule) = head.lines().last()?.trim().split_once(" where ")?;
        let body = file.text.split(&format!("fn {rule}(")).nth(1)?.split('}').next()?;
        let word =
            |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned);
        let fact = match body.split_once("Traits::") {
            Some((_, name)) => format!("Traits::{}", word(name)?),
            None => format!("{}:", word(body.split_once("row.")?.1)?),
        };
        Some((view, fact))
    });
    views.collect()
}

/// The declaration of a row.
fn row_text<'f>(file: &'f SourceFile, text: &str) -> Option<&'f str> {
    let row = names(file, text)?.row.1;
    file.text.split(&format!("pub static {row}:")).nth(1)?.split("\n};").next()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/testing/") || path.ends_with("/tests.rs")
}

/// The text of a file without its unit tests and comments.
fn code_of(file: &SourceFile) -> String {
    without_comments(file.text.split("\n#[cfg(test)]").next().unwrap_or_default())
}

/// The names of an operation, if its row stands in this file.
fn names(file: &SourceFile, text: &str) -> Option<Names> {
    let home = file.path.strip_suffix(".rs")?.to_owned();
    let module = home.split_once("/src/ops/")?.1;
    let quoted = format!("\"{text}\"");
    let at = file.text.match_indices(&quoted).map(|(at, _)| at).find(|&at| {
        let before = file.text[..at].trim_end();
        before.ends_with("name:") || before.ends_with('(')
    })?;
    let declared = file.text[..at].rfind("pub static ")? + "pub static ".len();
    let row = file.text[declared..].split(':').next()?.to_owned();
    let views = file.text.split("op_view! {").skip(1).filter_map(|view| {
        let head = view.split('{').next()?;
        let head = head.lines().filter(|line| !line.trim_start().starts_with("///")).collect::<String>();
        let (view, rows) = head.split_once(" of ")?;
        let is_own = rows.split(',').all(|own| own.trim() == row);
        is_own.then(|| view.trim().to_owned())
    });
    Some(Names { text: quoted, row: (module.to_owned(), row.clone()), home, views: views.collect() })
}

impl Names {
    fn stand_in(&self, file: &SourceFile) -> bool {
        let code = code_of(file);
        let (module, row) = (&self.row.0, &self.row.1);
        let is_home = file.path.strip_prefix(&self.home).is_some_and(|rest| rest.starts_with(['.', '/']));
        code.contains(&self.text)
            || self.views.iter().any(|view| is_used(&code, view))
            || (is_home && has_word(&code, row))
            || has_word(&code, &format!("{module}::{row}"))
            || code
                .split(&format!("{module}::{{"))
                .skip(1)
                .any(|rest| has_word(rest.split('}').next().unwrap_or_default(), row))
    }
}

/// Whether a view reads something in a text: `DotOp::new(…)`, `DotOp<'_>`. An encoding may have a case of the same
/// name, `Encoding::DotOp`.
fn is_used(text: &str, view: &str) -> bool {
    text.match_indices(view).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + view.len()..]);
        let is_case = before.strip_suffix("::").is_some_and(|path| {
            let name = path.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            name.starts_with(char::is_uppercase)
        });
        let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        is_word && !is_case && (after.starts_with("::") || after.starts_with('<'))
    })
}

/// Whether a word stands in a text, not as part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// The text without its line comments.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        let begins = line.match_indices("//").map(|(at, _)| at);
        let end = begins.into_iter().find(|&at| line[..at].matches('"').count().is_multiple_of(2));
        code.push_str(&line[..end.unwrap_or(line.len())]);
        code.push('\n');
    }
    code
}

#[cfg(test)]
mod tests {
    use super::{through, touch};
    use crate::sources::SourceFile;

    #[test]
    fn files_that_name_an_operation_are_found() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(
                "crates/ttir/src/ops/dot.rs",
                "ir::op_view! {\n    DotOp of DOT {\n    }\n}\npub static DOT: OpRow = OpRow {\n    name: \"tt.dot\",\n};",
            ),
            file("crates/a/src/by_view.rs", "let dot = DotOp::new(module, op);"),
            file("crates/a/src/by_row.rs", "use ttir::ops::dot::{DOT_SCALED, DOT};"),
            file("crates/a/src/by_text.rs", "if name == \"tt.dot\" {}"),
            file("crates/a/src/other.rs", "use ttir::ops::dot::DOT_SCALED; // dot::DOT"),
            file("crates/a/src/encoding.rs", "enum Encoding { DotOp { k: u32 } } Encoding::DotOp { k: 1 }"),
            file("crates/a/tests/test.rs", "use ttir::ops::dot::DOT;"),
        ];
        let found = touch(&files, "tt.dot").expect("there is a row");
        let expected = [
            "crates/ttir/src/ops/dot.rs",
            "crates/a/src/by_view.rs",
            "crates/a/src/by_row.rs",
            "crates/a/src/by_text.rs",
        ];
        assert_eq!(found, expected);
        assert!(touch(&files, "tt.nothing").is_err());
    }

    #[test]
    fn files_that_read_it_as_one_of_many_are_listed_apart() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(
                "crates/ttir/src/ops/dot.rs",
                "fn is_matmul(row: &OpRow) -> bool {\n    row.traits.has(Traits::MATMUL)\n}\n\nir::op_view! {\n    \
                 /// A product.\n    MatmulOp where is_matmul {\n    }\n}\npub static DOT: OpRow = OpRow {\n    \
                 name: \"tt.dot\",\n    traits: Traits::PURE.and(Traits::MATMUL),\n};\n\npub static CAT: OpRow = OpRow {\n    \
                 name: \"tt.cat\",\n};",
            ),
            file("crates/a/src/many.rs", "let dot = MatmulOp::new(module, op);"),
            file("crates/a/src/both.rs", "use ops::dot::DOT; MatmulOp::of(module, op)"),
        ];
        let found = through(&files, "tt.dot").expect("there is a row");
        assert_eq!(found, [("MatmulOp", vec!["crates/a/src/many.rs"])]);
        assert!(through(&files, "tt.cat").expect("there is a row").is_empty());
    }
}
