//! Finding the library of a driver.

use libloading::Library;
use std::path::{Path, PathBuf};

/// Loads the first of these files that there is. It stays loaded: nothing could say when the last user of it is gone.
///
/// # Errors
/// Why none of them could be loaded.
pub fn find(files: &[PathBuf]) -> Result<(&'static Library, &Path), String> {
    let mut problems = Vec::new();
    for file in files {
        // One that the process has loaded already comes first, as a second copy beside it would not know its streams.
        match loaded(file).map_or_else(|| open(file), Ok) {
            Ok(library) => return Ok((Box::leak(Box::new(library)), file)),
            Err(error) => problems.push(reason(file, &error)),
        }
    }
    Err(problems.join("; "))
}

fn open(file: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: loading a driver runs its initialisers, which are made to be run in any process.
    unsafe { Library::new(file) }
}

/// Why a library could not be loaded: the loader's own words, where it has any.
fn reason(file: &Path, error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    // The loader's words mostly name the file.
    match source {
        Some(text) if text.contains(&*file.to_string_lossy()) => text,
        Some(text) => format!("{}: {text}", file.display()),
        None => format!("{}: {error}", file.display()),
    }
}

/// The library of this name that the process has loaded, if it has.
#[cfg(unix)]
fn loaded(file: &Path) -> Option<Library> {
    use libloading::os::unix;
    /// `RTLD_NOLOAD`.
    const ONLY_LOADED: i32 = 4;
    // SAFETY: nothing is loaded.
    let library = unsafe { unix::Library::open(Some(file), unix::RTLD_NOW | ONLY_LOADED) };
    library.ok().map(Library::from)
}

#[cfg(not(unix))]
fn loaded(_file: &Path) -> Option<Library> {
    None
}

#[cfg(test)]
mod tests {
    use super::find;
    use std::path::PathBuf;

    #[test]
    fn every_file_that_was_tried_is_named() {
        let files = ["/nowhere/liba.so", "/nowhere/libb.so"].map(PathBuf::from);
        let error = find(&files).expect_err("there are no such files");
        assert!(error.contains("/nowhere/liba.so") && error.contains("; "), "{error}");
    }
}
