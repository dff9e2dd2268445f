//! Finds and reads the files of the workspace: Rust in `crates/` and `xtask/`, Python in `python/`, and the
//! pages.

use std::fs;
use std::path::{Path, PathBuf};

/// One file.
#[derive(Clone)]
pub(crate) struct SourceFile {
    /// Its path below the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the root of the workspace").to_path_buf()
}

/// All Rust files, in the order of their paths.
pub(crate) fn rust_files(root: &Path) -> Result<Vec<SourceFile>, String> {
    files_with(root, |path| path.extension().is_some_and(|extension| extension == "rs"))
}

/// The Python files of the package, in the order of their paths.
pub(crate) fn python_files(root: &Path) -> Result<Vec<SourceFile>, String> {
    files_in(root, &["python"], |path| path.extension().is_some_and(|extension| extension == "py"))
}

/// The Markdown pages: those of the root and all of `docs/`, in the order of their paths.
pub(crate) fn pages(root: &Path) -> Result<Vec<SourceFile>, String> {
    let mut pages = Vec::new();
    for name in ["CHANGELOG.md", "README.md", "RELEASING.md"] {
        pages.push(read(root, &root.join(name))?);
    }
    pages.extend(files_in(root, &["docs"], |path| {
        path.extension().is_some_and(|extension| extension == "md")
    })?);
    Ok(pages)
}

/// All `Cargo.toml` files of crates, in the order of their paths.
pub(crate) fn manifests(root: &Path) -> Result<Vec<SourceFile>, String> {
    files_with(root, |path| path.file_name().is_some_and(|name| name == "Cargo.toml"))
}

fn files_with(root: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<SourceFile>, String> {
    files_in(root, &["crates", "xtask"], wanted)
}

fn files_in(
    root: &Path,
    folders: &[&str],
    wanted: impl Fn(&Path) -> bool,
) -> Result<Vec<SourceFile>, String> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if wanted(&path) {
                found.push(read(root, &path)?);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn read(root: &Path, path: &Path) -> Result<SourceFile, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let below = path.strip_prefix(root).unwrap_or(path);
    Ok(SourceFile { path: below.to_string_lossy().replace('\\', "/"), text })
}
