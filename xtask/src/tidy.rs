//! The rules of the house that a compiler does not check.
//!
//! Every file opens with `//!`; a vendor's words stay in that vendor's folder; crates depend along the arrows; files
//! and functions stay short; operations are read by name ([`reads`](mod@crate::reads)) and named by few files; nothing
//! is imported by a glob outside tests; modules do not import each other in circles; prose ends at [column
//! 120](mod@crate::columns); Python files keep [rules of their own](mod@crate::python). Exceptions are listed in
//! `xtask/exceptions.txt`, each with its reason, and a stale one is a finding too.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::reads::Read;
use crate::sources::SourceFile;
use crate::{circles, columns, fields, layers, masked, python, reads, sizes, sources, touch};

const MAX_FILE_LINES: usize = 600;
const MAX_FUNCTION_LINES: usize = 100;

/// Words of vendors, in lower case. A `#` stands for a digit; a `*` at the end lets the word go on.
const VENDOR_WORDS: &[&str] = &[
    "nvidia*", "cuda*", "ptx*", "sm_#*", "hopper", "amd*", "hip", "hsaco", "gfx#*", "mfma*", "wgmma*",
    "nvptx*",
];

/// A broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

/// All broken rules of the workspace at `root`.
///
/// # Errors
/// When a file cannot be read, or the list of exceptions is not one.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let files = sources::rust_files(root)?;
    let list = root.join("xtask/exceptions.txt");
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut exceptions = Exceptions::parse(&text)?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(header(file));
        findings.extend(vendor_words(file, &mut exceptions));
        findings.extend(glob_imports(file));
        findings.extend(long_lines(file, columns::in_comments));
    }
    for page in &sources::pages(root)? {
        findings.extend(long_lines(page, columns::in_page));
    }
    findings.extend(too_long(sizes::longest_files(&files), MAX_FILE_LINES, "file", &mut exceptions));
    findings.extend(too_long(
        sizes::longest_functions(&files),
        MAX_FUNCTION_LINES,
        "function",
        &mut exceptions,
    ));
    let breaches = layers::breaches(&sources::manifests(root)?);
    findings
        .extend(breaches.into_iter().map(|breach| Finding::new(&breach.path, breach.line, breach.message)));
    findings.extend(import_circles(&files, &mut exceptions));
    for file in &files {
        findings.extend(reads(file, &mut exceptions));
    }
    findings.extend(touches(&files, &mut exceptions));
    findings.extend(unread_fields(&files));
    findings.extend(architecture(root)?);
    findings.extend(paths_of_page(root, &[files.clone(), sources::python_files(root)?].concat())?);
    for file in &sources::python_files(root)? {
        findings.extend(
            python::findings(file).into_iter().map(|(line, what)| Finding::new(&file.path, line, what)),
        );
        let long =
            sizes::python_functions(file).into_iter().chain(sizes::longest_files(std::slice::from_ref(file)));
        for (what, limit) in [("file", MAX_FILE_LINES), ("function", MAX_FUNCTION_LINES)] {
            let of_kind = long.clone().filter(|entry| (entry.place == file.path) == (what == "file"));
            findings.extend(too_long(of_kind.collect(), limit, what, &mut exceptions));
        }
    }
    findings.extend(exceptions.stale());
    Ok(findings)
}

/// Lines of prose that are too long, as `rule` finds them.
fn long_lines(file: &SourceFile, rule: fn(&str) -> Vec<usize>) -> Vec<Finding> {
    let message = "end the line at column 120";
    rule(&file.text).into_iter().map(|line| Finding::new(&file.path, line, message)).collect()
}

/// Reads of operations by index or with a default, as far as the file may not have so many.
fn reads(file: &SourceFile, exceptions: &mut Exceptions) -> Vec<Finding> {
    let all = reads::reads(file);
    let mut found = Vec::new();
    for kind in [Read::ByIndex, Read::WithDefault, Read::Intrinsic] {
        let lines: Vec<usize> = all.iter().filter(|read| read.1 == kind).map(|read| read.0).collect();
        if !lines.is_empty() && !exceptions.covers(kind.kind(), &file.path, lines.len()) {
            let message = |line: usize| Finding::new(&file.path, line, kind.advice());
            found.extend(lines.into_iter().map(message));
        }
    }
    found
}

/// Fields of structs of facts that decide nothing.
fn unread_fields(files: &[SourceFile]) -> Vec<Finding> {
    let all = fields::WATCHED.iter().flat_map(|(path, name)| {
        let unread = fields::unread(files, path, name);
        unread.into_iter().map(move |field| Finding::new(path, 1, format!("nobody reads `{name}::{field}`")))
    });
    all.collect()
}

/// The page about the architecture, where it does not show the crates of today.
fn architecture(root: &Path) -> Result<Option<Finding>, String> {
    let page = root.join(layers::PAGE);
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let is_stale = layers::page(&text).is_none_or(|page| page != text);
    let message = "the table of crates is not that of xtask/src/layers.rs: `cargo xtask layers` writes it";
    Ok(is_stale.then(|| Finding::new(layers::PAGE, 1, message)))
}

/// Files and folders that the page about the architecture names and that are not there.
fn paths_of_page(root: &Path, files: &[SourceFile]) -> Result<Vec<Finding>, String> {
    let page = root.join(layers::PAGE);
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let lost = lost_paths(&text, files).into_iter();
    let message = |path: &str| format!("there is no `{path}`, a file or folder of Rust or Python");
    Ok(lost.map(|(line, path)| Finding::new(layers::PAGE, line, message(path))).collect())
}

/// Words in backticks that are paths, and with which no file's path ends, or in which no file lies.
fn lost_paths<'t>(page: &'t str, files: &[SourceFile]) -> Vec<(usize, &'t str)> {
    let is_path = |word: &str| {
        let of_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
        match word.strip_suffix(".rs") {
            Some(stem) => stem.chars().all(of_path),
            None => word.contains('/') && !word.ends_with('/') && word.chars().all(of_path),
        }
    };
    let is_there = |word: &str| {
        let (end, middle) = (format!("/{word}"), format!("/{word}/"));
        let mut paths = files.iter().map(|file| format!("/{}", file.path));
        paths.any(|path| path.ends_with(&end) || path.contains(&middle))
    };
    let lines = page.lines().enumerate();
    let words =
        lines.flat_map(|(at, line)| line.split('`').skip(1).step_by(2).map(move |word| (at + 1, word)));
    words.filter(|(_, word)| is_path(word) && !is_there(word)).collect()
}

/// Operations that more files name than their entry allows.
fn touches(files: &[SourceFile], exceptions: &mut Exceptions) -> Vec<Finding> {
    let mut found = Vec::new();
    for op in exceptions.places("touch") {
        let message = match touch::touch(files, &op) {
            Ok(named) if exceptions.covers("touch", &op, named.len()) => continue,
            Ok(named) => format!("{} files name `{op}`: put what they ask into its row", named.len()),
            Err(message) => message,
        };
        found.push(Finding::new("xtask/exceptions.txt", 1, message));
    }
    found
}

fn header(file: &SourceFile) -> Option<Finding> {
    let opens = file.text.starts_with("//!");
    (!opens).then(|| {
        Finding::new(&file.path, 1, "open the file with `//!`: what it does, assumes and leaves out")
    })
}

fn vendor_words(file: &SourceFile, exceptions: &mut Exceptions) -> Vec<Finding> {
    let vendor_folder =
        ["crates/targets/nvidia/", "crates/targets/amd/"].iter().any(|folder| file.path.starts_with(folder));
    if vendor_folder || file.path == "xtask/src/tidy.rs" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let lower = line.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
        for (word, stem) in words.filter_map(|word| Some((word, vendor_stem(word)?))) {
            if !exceptions.covers_word(&file.path, stem) {
                let message = format!("the vendor word `{word}` outside crates/targets/<vendor>/");
                found.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    found
}

/// The vendor's word that a word, or a part of it between underscores, begins with.
fn vendor_stem(word: &str) -> Option<&'static str> {
    let parts = word.match_indices('_').map(|(at, _)| &word[at + 1..]);
    let own = |part: &str| VENDOR_WORDS.iter().find(|pattern| matches(part, pattern));
    let pattern = std::iter::once(word).chain(parts).find_map(own)?;
    Some(pattern.trim_end_matches(['*', '#', '_']))
}

fn matches(word: &str, pattern: &str) -> bool {
    let (pattern, open) = pattern.strip_suffix('*').map_or((pattern, false), |pattern| (pattern, true));
    let mut characters = word.chars();
    let fits = pattern.chars().all(|expected| {
        characters.next().is_some_and(|c| if expected == '#' { c.is_ascii_digit() } else { c == expected })
    });
    let rest = characters.as_str();
    fits && (open || rest.is_empty() || rest.starts_with('_'))
}

fn glob_imports(file: &SourceFile) -> Vec<Finding> {
    if file.path.contains("/tests/") || file.path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let masked = masked::mask(&file.text);
    let mut found = Vec::new();
    for (index, line) in masked.lines().enumerate() {
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        let import = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        if import.starts_with("use ") && import.contains("::*") {
            found.push(Finding::new(&file.path, index + 1, "name what is imported instead of `*`"));
        }
    }
    found
}

fn import_circles(files: &[SourceFile], exceptions: &mut Exceptions) -> Vec<Finding> {
    let mut found = Vec::new();
    for circles in circles::circles(files) {
        let modules = circles.modules();
        if !exceptions.covers("circle", &circles.path, modules) {
            let sets: Vec<String> = circles.sets.iter().map(|set| set.join(", ")).collect();
            let message = format!("{modules} modules import each other in circles: {}", sets.join("; "));
            found.push(Finding::new(&circles.path, 1, message));
        }
    }
    found
}

fn too_long(all: Vec<sizes::Sized>, limit: usize, what: &str, exceptions: &mut Exceptions) -> Vec<Finding> {
    let long = all.into_iter().filter(|entry| entry.lines > limit);
    let uncovered = long.filter(|entry| !exceptions.covers(what, &entry.place, entry.lines));
    uncovered
        .map(|entry| {
            let path = entry.place.split("::").next().unwrap_or_default();
            let message = format!("{what} `{}` has {} lines; split it at {limit}", entry.place, entry.lines);
            Finding::new(path, entry.first_line, message)
        })
        .collect()
}

/// What `xtask/exceptions.txt` allows, and which of it was used.
struct Exceptions {
    /// By kind and place: the line in the list, the allowed size, the largest size seen.
    allowed: BTreeMap<(String, String), (usize, usize, usize)>,
    /// Vendors' words by file: the line in the list, and whether the word was met.
    words: BTreeMap<(String, String), (usize, bool)>,
}

impl Exceptions {
    /// Reads lines `kind place size  # reason`, and `vendor place word,word  # reason`.
    fn parse(text: &str) -> Result<Exceptions, String> {
        let (mut allowed, mut words) = (BTreeMap::new(), BTreeMap::new());
        for (index, line) in text.lines().enumerate() {
            let (entry, reason) = line.split_once('#').unwrap_or((line, ""));
            let fields: Vec<&str> = entry.split_whitespace().collect();
            if fields.is_empty() {
                continue;
            }
            if let (["vendor", path, list], false) = (fields.as_slice(), reason.trim().is_empty()) {
                words.extend(
                    list.split(',').map(|word| (((*path).to_owned(), word.to_owned()), (index + 1, false))),
                );
                continue;
            }
            let size = fields.get(2).and_then(|size| size.parse().ok());
            let (Some(size), 3, false) = (size, fields.len(), reason.trim().is_empty()) else {
                return Err(format!(
                    "xtask/exceptions.txt:{}: expected `kind place size  # reason`",
                    index + 1
                ));
            };
            allowed.insert((fields[0].to_owned(), fields[1].to_owned()), (index + 1, size, 0));
        }
        Ok(Exceptions { allowed, words })
    }

    /// The places of a kind.
    fn places(&self, kind: &str) -> Vec<String> {
        let of_kind = self.allowed.keys().filter(|(own, _)| own == kind);
        of_kind.map(|(_, place)| place.clone()).collect()
    }

    /// Whether a file may have a vendor's word.
    fn covers_word(&mut self, path: &str, stem: &str) -> bool {
        let entry = self.words.get_mut(&(path.to_owned(), stem.to_owned()));
        entry.map(|(_, met)| *met = true).is_some()
    }

    fn covers(&mut self, kind: &str, place: &str, size: usize) -> bool {
        let Some((_, limit, seen)) = self.allowed.get_mut(&(kind.to_owned(), place.to_owned())) else {
            return false;
        };
        *seen = (*seen).max(size);
        size <= *limit
    }

    /// Exceptions that nothing needs any more, or not to that extent: the ratchet only tightens.
    fn stale(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for ((path, word), (line, met)) in &self.words {
            if !met {
                let message = format!("{path} does not have the word `{word}`, which the exception allows");
                found.push(Finding::new("xtask/exceptions.txt", *line, message));
            }
        }
        for ((kind, place), (line, limit, seen)) in &self.allowed {
            if seen < limit {
                let message = format!("the exception `{kind} {place} {limit}` is stale: it is {seen} now");
                found.push(Finding::new("xtask/exceptions.txt", *line, message));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Exceptions, check, glob_imports, header, lost_paths, vendor_stem, vendor_words};
    use crate::sources::{SourceFile, root};

    fn file(text: &str) -> SourceFile {
        SourceFile { path: "crates/x/src/a.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn the_house_is_tidy() {
        let findings = check(&root()).expect("the workspace can be read");
        let list: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(list.is_empty(), "{}", list.join("\n"));
    }

    #[test]
    fn paths_that_lead_nowhere_are_found() {
        let files = [SourceFile { path: "crates/x/src/ops/dot.rs".to_owned(), text: String::new() }];
        let page =
            "`ops/dot.rs` and `x/src/ops`,\n`ops/load.rs`, `src/shape`, `Dot::rs`, `docs/a.md`, `crates/`";
        assert_eq!(lost_paths(page, &files), [(2, "ops/load.rs"), (2, "src/shape")]);
    }

    #[test]
    fn a_file_without_header_is_found() {
        assert!(header(&file("//! Does.\n")).is_none());
        assert!(header(&file("use std::fmt;\n")).is_some());
    }

    #[test]
    fn vendor_words_are_found_as_words() {
        for word in [
            "nvidia", "cuda", "cudart", "sm_90", "sm_90a", "gfx942", "amdgcn", "hip", "wgmma", "is_cuda",
            "hip_x",
        ] {
            assert!(vendor_stem(word).is_some(), "{word}");
        }
        for word in ["ship", "sm_count", "gfx", "chip", "barracuda", "philox", "hippo"] {
            assert!(vendor_stem(word).is_none(), "{word}");
        }
    }

    #[test]
    fn exceptions_hold_and_go_stale() {
        let mut exceptions =
            Exceptions::parse("vendor crates/x/src/a.rs cuda,ptx  # names of users\n").expect("parses");
        assert_eq!(exceptions.stale().len(), 2);
        assert!(vendor_words(&file("// cuda, ptx_x\n"), &mut exceptions).is_empty());
        assert!(exceptions.stale().is_empty());
        assert_eq!(vendor_words(&file("// hip\n"), &mut exceptions).len(), 1, "another word");
        let mut exceptions = Exceptions::parse("touch tt.dot 3  # falls\n").expect("parses");
        assert!(exceptions.covers("touch", "tt.dot", 2));
        assert_eq!(exceptions.stale().len(), 1, "the number may only fall, and falls");
        assert!(Exceptions::parse("vendor a.rs 1\n").is_err(), "an exception needs a reason");
    }

    #[test]
    fn globs_are_found_outside_tests() {
        assert_eq!(glob_imports(&file("use a::b;\nuse a::*;\n")).len(), 1);
        assert_eq!(glob_imports(&file("#[cfg(test)]\nmod tests {\n    use super::*;\n}\n")).len(), 0);
        assert_eq!(glob_imports(&file("// use a::*;\n")).len(), 0);
    }
}
