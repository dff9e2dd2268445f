//! Lengths of files and functions. Assumes formatted code: a body opens at the first `{` after its `fn`.

use crate::masked::mask;
use crate::sources::SourceFile;

/// Something that has a length.
#[derive(Clone)]
pub(crate) struct Sized {
    /// `path` of a file, `path::name` of a function.
    pub(crate) place: String,
    /// The line it begins on.
    pub(crate) first_line: usize,
    /// Its lines, comments and blanks included.
    pub(crate) lines: usize,
}

/// All files, the longest first.
pub(crate) fn longest_files(files: &[SourceFile]) -> Vec<Sized> {
    let all = files.iter().map(|file| Sized {
        place: file.path.clone(),
        first_line: 1,
        lines: file.text.lines().count(),
    });
    longest_first(all.collect())
}

/// All functions, the longest first.
pub(crate) fn longest_functions(files: &[SourceFile]) -> Vec<Sized> {
    longest_first(files.iter().flat_map(functions).collect())
}

fn longest_first(mut all: Vec<Sized>) -> Vec<Sized> {
    all.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.place.cmp(&b.place)));
    all
}

fn functions(file: &SourceFile) -> Vec<Sized> {
    let masked = mask(&file.text);
    let mut found = Vec::new();
    for (at, _) in masked.match_indices("fn ") {
        let boundary = masked[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let name: String =
            masked[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !boundary || name.is_empty() {
            continue;
        }
        if let Some(length) = item_length(&masked[at..]) {
            let first_line = masked[..at].matches('\n').count() + 1;
            let lines = masked[at..at + length].matches('\n').count() + 1;
            found.push(Sized { place: format!("{}::{name}", file.path), first_line, lines });
        }
    }
    found
}

/// The functions of a Python file, with their decorators left out: each goes to the last line that stands further in.
pub(crate) fn python_functions(file: &SourceFile) -> Vec<Sized> {
    let lines: Vec<&str> = file.text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let words = line.trim_start().trim_start_matches("async ");
        let Some(rest) = words.strip_prefix("def ") else { continue };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_inside = |next: &&str| {
            next.trim().is_empty() || depth(next) > depth(line) || next.trim_start().starts_with(')')
        };
        let body = lines[at + 1..].iter().take_while(|next| is_inside(next));
        let count = body.enumerate().filter(|(_, next)| !next.trim().is_empty()).last();
        let lines = count.map_or(1, |(last, _)| last + 2);
        found.push(Sized { place: format!("{}::{name}", file.path), first_line: at + 1, lines });
    }
    found
}

/// The length in bytes from `fn` to the end of its body; `None` for a declaration.
fn item_length(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            ';' if depth == 0 => return None,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{functions, longest_files, python_functions};
    use crate::sources::SourceFile;

    fn file(text: &str) -> SourceFile {
        SourceFile { path: "a.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn functions_are_measured_by_their_bodies() {
        let text = "trait T {\n    fn declared(x: [u8; 2]);\n}\nfn long(x: &str) -> u32 {\n    // }\n    1\n}\nfn one() {}\n";
        let found = functions(&file(text));
        let lengths: Vec<(&str, usize, usize)> =
            found.iter().map(|entry| (entry.place.as_str(), entry.first_line, entry.lines)).collect();
        assert_eq!(lengths, [("a.rs::long", 4, 4), ("a.rs::one", 8, 1)]);
    }

    #[test]
    fn functions_of_python_end_with_their_indentation() {
        let text = "class A:\n    def f(\n        self,\n    ):\n        return 1\n\n    def g(self): pass\n\nx = 1\n";
        let found = python_functions(&file(text));
        let lengths: Vec<(&str, usize)> =
            found.iter().map(|entry| (entry.place.as_str(), entry.lines)).collect();
        assert_eq!(lengths, [("a.rs::f", 4), ("a.rs::g", 1)]);
    }

    #[test]
    fn function_pointers_are_no_functions() {
        assert!(functions(&file("type F = extern \"C\" fn(u32) -> i32;\n")).is_empty());
    }

    #[test]
    fn files_are_measured_in_lines() {
        assert_eq!(longest_files(&[file("a\nb\n")])[0].lines, 2);
    }
}
