//! The rules for Python files of the package: a docstring opens each, and names are imported by name.
//!
//! Files and functions keep the lengths of those in Rust. Left out: what a formatter for Python decides.

use crate::sources::SourceFile;

/// Broken rules of a file: the line, and what is wrong.
pub(crate) fn findings(file: &SourceFile) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let opens = ["\"\"\"", "r\"\"\"", "#!", "# "].iter().any(|begin| file.text.starts_with(begin));
    if !opens && !file.text.trim().is_empty() {
        found.push((1, "open the file with a docstring: what it does"));
    }
    for (index, line) in file.text.lines().enumerate() {
        let words = line.trim_start();
        if words.starts_with("from ") && words.ends_with(" import *") {
            found.push((index + 1, "name what is imported instead of `*`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::findings;
    use crate::sources::SourceFile;

    fn lines(text: &str) -> Vec<usize> {
        let file = SourceFile { path: "a.py".to_owned(), text: text.to_owned() };
        findings(&file).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn files_open_with_a_docstring_and_import_by_name() {
        assert_eq!(lines("\"\"\"What it is.\"\"\"\nfrom a import b\n"), []);
        assert_eq!(lines("import a\nfrom a import *\n"), [1, 2]);
        assert_eq!(lines(""), []);
    }
}
