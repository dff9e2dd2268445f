//! Kernels of the cache by name: the beginning of their hash, the file of their entry, or a folder that holds one
//! entry.

use crate::Failure;
use runtime::cache::{Entry, EntryKind, Store};
use runtime::compile::{Kernel, cached, label};
use runtime::knobs::Settings;
use std::path::{Path, PathBuf};

/// The fewest digits of a hash that name a kernel.
const LEAST_DIGITS: usize = 4;
/// How many names a message lists.
const LISTED: usize = 8;

/// The kernel that an argument names; `None` for one that names a source file.
///
/// # Errors
/// That no kernel, or more than one, is so named; what is wrong with the entry.
pub(crate) fn find(named: &Path) -> Result<Option<Kernel>, Failure> {
    if named.is_dir() {
        let entries = below(named).iter().filter_map(|path| Entry::at(path)).collect();
        return one(entries, &named.display().to_string()).map(Some);
    }
    if named.is_file() {
        return Entry::at(named).map(|entry| load(&entry)).transpose();
    }
    let text = named.to_string_lossy().to_lowercase();
    if text.len() < LEAST_DIGITS || !text.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let settings = Settings::current();
    let Some(dir) = &settings.cache_dir else {
        return Err(Failure("kernels are not kept on disk (DEUTERON_CACHE)".into()));
    };
    let mut entries = Store::open(dir, settings.cache_limit)?.entries();
    entries.retain(|entry| entry.key.to_string().starts_with(&text));
    one(entries, &text).map(Some)
}

/// Files in a folder and in those in it, as deep as the cache goes.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut files = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true if depth < 2 => folders.push((path, depth + 1)),
                true => {}
                false => files.push(path),
            }
        }
    }
    files.sort();
    files
}

/// The only kernel among some entries.
fn one(mut entries: Vec<Entry>, named: &str) -> Result<Kernel, Failure> {
    entries.retain(|entry| entry.kind == EntryKind::Kernel);
    match entries.as_slice() {
        [entry] => load(entry),
        [] => Err(Failure(format!(
            "no kernel of the cache is named by `{named}`: `deuteron cache list` lists them, by the first digits of their hash"
        ))),
        many => {
            let mut listed: Vec<String> = many.iter().take(LISTED).map(described).collect();
            if many.len() > LISTED {
                listed.push(format!("and {} more", many.len() - LISTED));
            }
            Err(Failure(format!("`{named}` names {} kernels: {}", many.len(), listed.join(", "))))
        }
    }
}

fn described(entry: &Entry) -> String {
    let name = entry.payload().ok().and_then(|payload| label(&payload)).map(|label| label.name);
    format!(
        "{} ({})",
        &entry.key.to_string()[..16],
        name.unwrap_or_else(|| "damaged, or of another version".into())
    )
}

fn load(entry: &Entry) -> Result<Kernel, Failure> {
    let wrong = |reason: String| Failure(format!("the cache entry {}: {reason}", entry.path.display()));
    if entry.kind != EntryKind::Kernel {
        return Err(wrong("it is no kernel".into()));
    }
    match cached(&entry.payload().map_err(wrong)?, entry.key) {
        Some(kernel) => Ok(kernel?),
        None => Err(wrong("it is of another version of the compiler, and cannot be read".into())),
    }
}
