//! Which compiler this is, for the cache key.
//!
//! A wheel is identified by its version and the commit that it was built from, which the build says in
//! `DEUTERON_COMMIT`; any other build, and one of a changed tree (`…-dirty`), by the size and the time of the file that
//! holds this code as well. Reading these costs a microsecond; hashing the file would cost more than a cached start may
//! take.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The commit that this was built from, where the build said so.
const COMMIT: Option<&str> = option_env!("DEUTERON_COMMIT");

/// The version for people: `0.1.0 (commit 1a2b3c4d5e)`, or `0.1.0` where the build did not say its commit.
pub fn version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        COMMIT.map_or(version.to_owned(), |commit| format!("{version} (commit {commit})"))
    })
}

/// A text that differs between builds of the compiler.
pub fn compiler() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        match COMMIT {
            Some(commit) if !commit.ends_with("-dirty") => format!("{version} {commit}"),
            _ => format!("{version} {}", build().unwrap_or_default()),
        }
    })
}

/// The size and the time of the file that holds this code.
fn build() -> Option<String> {
    let metadata = std::fs::metadata(own_file()?).ok()?;
    let time = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Some(format!("{}-{}", metadata.len(), time.unwrap_or_default().as_nanos()))
}

/// The library or program that this code was loaded from.
#[cfg(unix)]
fn own_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of code in this image, and `info` is a valid place for the answer.
    let found = unsafe { libc::dladdr(compiler as *const libc::c_void, info.as_mut_ptr()) };
    // SAFETY: all-zero is a valid `Dl_info`, and `dladdr` may only have filled it.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return std::env::current_exe().ok();
    }
    // SAFETY: a name that `dladdr` gives is a C string that lives as long as the image, which holds this code.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    // A program may be named by the relative path it was started with.
    if path.is_absolute() { Some(path) } else { std::env::current_exe().ok() }
}

/// The library or program that this code was loaded from.
#[cfg(not(unix))]
fn own_file() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_build_is_told_apart() {
        let text = super::compiler();
        let (version, build) = text.split_once(' ').expect("version and build");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        assert!(!build.is_empty(), "the test program is a file, or of a commit");
        assert!(super::version().starts_with(version));
    }
}
