//! Fields of a struct that nobody reads: facts that stand there and decide nothing.
//!
//! A field is read where its name stands behind a dot outside of the file that declares it and of tests. Left out:
//! which struct is read, so that a field of the same name elsewhere counts too.

use crate::masked;
use crate::sources::SourceFile;

/// Structs whose fields must all be read: the file, and the name.
pub(crate) const WATCHED: &[(&str, &str)] = &[("crates/ttgir/src/machine.rs", "Machine")];

/// The fields of a struct that nobody reads.
pub(crate) fn unread(files: &[SourceFile], path: &str, name: &str) -> Vec<String> {
    let Some(own) = files.iter().find(|file| file.path == path) else {
        return vec![format!("{path} is gone")];
    };
    let others = files.iter().filter(|file| file.path != path && !file.path.contains("/tests/"));
    let texts: Vec<String> = others.map(|file| masked::mask(&file.text)).collect();
    let is_read = |field: &String| texts.iter().any(|text| reads(text, field));
    fields(&masked::mask(&own.text), name).into_iter().filter(|field| !is_read(field)).collect()
}

/// The public fields of a struct.
fn fields(text: &str, name: &str) -> Vec<String> {
    let head = format!("pub struct {name} {{");
    let body = text.split(&head).nth(1).and_then(|rest| rest.split("\n}").next()).unwrap_or_default();
    let names = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn reads(text: &str, field: &str) -> bool {
    text.match_indices(field).any(|(at, _)| {
        let before = text[..at].trim_end();
        let after = text[at + field.len()..].chars().next();
        // A name behind two dots is the end of a range; a call has parentheses behind it.
        before.ends_with('.')
            && !before.ends_with("..")
            && !after.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '(')
    })
}

#[cfg(test)]
mod tests {
    use super::unread;
    use crate::sources::SourceFile;

    #[test]
    fn fields_that_only_tests_read_are_found() {
        let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
        let files = [
            file(
                "a.rs",
                "pub struct M {\n    /// A.\n    pub one: u32,\n    pub two: u32,\n    pub three: u32,\n}\n",
            ),
            file("b.rs", "fn f(m: &M) -> u32 { m.one + m.two() + m.twofold } // m.two"),
            file("c/tests/d.rs", "fn f(m: &M) -> u32 { m.three }"),
        ];
        assert_eq!(unread(&files, "a.rs", "M"), ["two", "three"]);
        assert_eq!(unread(&files, "x.rs", "M").len(), 1);
    }
}
