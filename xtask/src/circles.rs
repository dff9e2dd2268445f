//! Modules of a crate that import each other in a circle.
//!
//! A module is a file. It imports another when a path in it (`crate::a::b::Item`, `super::b::Item`) leads into that
//! file. A module and its own children may know each other: what a folder shares stands in its `mod.rs`. Tests are left
//! out.

use crate::masked;
use crate::sources::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// A module by its path below the crate.
type Module = Vec<String>;
/// The modules that each one imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The modules of one crate that lie on circles.
pub(crate) struct Circles {
    /// The folder of the crate.
    pub(crate) path: String,
    /// One list for each set of modules that all reach each other.
    pub(crate) sets: Vec<Vec<String>>,
}

impl Circles {
    /// How many modules lie on a circle.
    pub(crate) fn modules(&self) -> usize {
        self.sets.iter().map(Vec::len).sum()
    }
}

/// The circles of every crate that has some.
pub(crate) fn circles(files: &[SourceFile]) -> Vec<Circles> {
    let mut crates: BTreeMap<&str, Vec<(Module, &str)>> = BTreeMap::new();
    for file in files {
        if let Some((folder, module)) = module_of(&file.path) {
            crates.entry(folder).or_default().push((module, &file.text));
        }
    }
    let found = crates.into_iter().map(|(folder, files)| {
        let sets = sets_of(&imports_of(&files));
        let text = |module: &Module| module.join("::");
        let sets = sets.iter().map(|set| set.iter().map(text).collect()).collect();
        Circles { path: folder.to_owned(), sets }
    });
    found.filter(|circles| !circles.sets.is_empty()).collect()
}

/// The folder of the crate and the path of the module; `None` for tests and what is no module.
fn module_of(path: &str) -> Option<(&str, Module)> {
    let (folder, below) = path.split_once("/src/")?;
    let mut names: Module = below.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if names.iter().any(|name| name == "tests") {
        return None;
    }
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    Some((folder, names))
}

fn imports_of(files: &[(Module, &str)]) -> Imports {
    let known: BTreeSet<&Module> = files.iter().map(|(module, _)| module).collect();
    let mut imports = Imports::new();
    for (module, text) in files {
        let targets = imports.entry(module.clone()).or_default();
        for path in paths(text) {
            let Some(target) = resolve(module, &path, &known) else { continue };
            if !target.starts_with(module) && !module.starts_with(&target) {
                targets.insert(target);
            }
        }
    }
    imports
}

/// The file that a path leads into.
fn resolve(module: &Module, path: &str, known: &BTreeSet<&Module>) -> Option<Module> {
    let mut names = path.split("::").peekable();
    let mut full = match names.next()? {
        "crate" => Module::new(),
        "self" => module.clone(),
        "super" => {
            let mut full = module.clone();
            full.pop();
            while names.next_if_eq(&"super").is_some() {
                full.pop();
            }
            full
        }
        _ => return None,
    };
    full.extend(names.map(str::to_owned));
    while !known.contains(&full) {
        full.pop()?;
    }
    Some(full)
}

/// All paths of a text that begin in its crate, those of its unit tests left out.
fn paths(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let masked = masked::mask(text);
    let mut found = Vec::new();
    let mut rest = masked.as_str();
    while let Some(at) = rest.find("use ") {
        let is_word = at == 0 || !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        if is_word {
            let tree: String = rest[at + 4..end].split_whitespace().collect::<Vec<_>>().join(" ");
            expand("", &tree, &mut found);
        }
        rest = &rest[end..];
    }
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in masked.match_indices(start) {
            let path = masked[at..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
            found.extend(path.map(|path| path.trim_end_matches(':').to_owned()));
        }
    }
    found
}

/// The paths of a tree such as `a::{b, c::{d, e}}`.
fn expand(before: &str, tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, body)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().replace(' ', "");
        if !path.is_empty() {
            found.push(format!("{before}{path}"));
        }
        return;
    };
    let before = format!("{before}{}", head.replace(' ', ""));
    let body = body.strip_suffix('}').unwrap_or(body);
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand(&before, &body[start..at], found);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&before, &body[start..], found);
}

/// Sets of modules that all reach each other.
fn sets_of(imports: &Imports) -> Vec<Vec<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reachable(module, imports))).collect();
    let mut sets: Vec<Vec<Module>> = Vec::new();
    for (module, reached) in &reach {
        if !reached.contains(module) || sets.iter().flatten().any(|known| known == *module) {
            continue;
        }
        let mutual = reached.iter().filter(|other| reach[*other].contains(module));
        sets.push(mutual.map(|other| (*other).clone()).collect());
    }
    sets
}

/// What can be reached from a module by at least one import.
fn reachable<'a>(from: &Module, imports: &'a Imports) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&Module> = imports[from].iter().collect();
    while let Some(next) = waiting.pop() {
        if let Some((known, targets)) = imports.get_key_value(next)
            && found.insert(known)
        {
            waiting.extend(targets);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::circles;
    use crate::sources::SourceFile;

    fn file(name: &str, text: &str) -> SourceFile {
        SourceFile { path: format!("crates/x/src/{name}.rs"), text: text.to_owned() }
    }

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<SourceFile> = files.iter().map(|(name, text)| file(name, text)).collect();
        circles(&files).into_iter().flat_map(|circles| circles.sets).collect()
    }

    #[test]
    fn a_circle_through_three_files_is_found() {
        let files = [
            ("lib", "mod a; mod b; mod c;"),
            ("a", "use crate::{b::B, c};"),
            ("b/mod", "fn f() { super::c::run() }"),
            ("c", "use super::\n    a::{A, AA as Other};"),
        ];
        assert_eq!(found(&files), [["a", "b", "c"]]);
    }

    #[test]
    fn a_folder_and_its_files_are_no_circle_and_tests_do_not_count() {
        let files = [
            ("lib", "mod a;"),
            ("a/mod", "mod b; use b::B; pub struct A;"),
            ("a/b", "use super::A;\n#[cfg(test)]\nmod tests { use crate::c; }"),
            ("c", "use crate::a::b; // use crate::a;"),
            ("a/tests", "use crate::c;"),
        ];
        assert!(found(&files).is_empty());
    }
}
