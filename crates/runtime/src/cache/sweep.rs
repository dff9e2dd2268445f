//! Keeping the cache within its bound.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A temporary file this old belongs to a process that died.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// What the names of files that are being written begin with.
pub(super) const TEMPORARY: &str = ".tmp-";

/// How much is in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Number of entries.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

struct Found {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// How much is in the cache at `root`.
pub fn measure(root: &Path) -> CacheUse {
    let entries = entries(root);
    CacheUse { files: entries.len() as u64, bytes: entries.iter().map(|entry| entry.bytes).sum() }
}

/// Where more than `limit` bytes are kept, removes the entries unused for longest until nine tenths of it are left;
/// removes what dead processes left behind. Another process may do the same at the same time: a file that is gone
/// already is fine.
pub fn sweep(root: &Path, limit: u64) {
    let mut entries = entries(root);
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if bytes <= limit {
        return;
    }
    let keep = limit / 10 * 9;
    entries.sort_by_key(|entry| entry.used);
    for entry in entries {
        if bytes <= keep {
            break;
        }
        // Gone already counts as removed.
        let _ = fs::remove_file(&entry.path);
        bytes -= entry.bytes;
    }
}

/// All entries, in no order. Removes abandoned temporary files on the way.
fn entries(root: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for (path, metadata) in files(root) {
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if !is_temporary(&path) {
            found.push(Found { path, bytes: metadata.len(), used });
        } else if used.elapsed().is_ok_and(|age| age > ABANDONED_AFTER) {
            // Another process may have done it.
            let _ = fs::remove_file(path);
        }
    }
    found
}

/// Whether a file is one that is being written.
pub(super) fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY))
}

/// All files of the cache at `root`.
pub(super) fn files(root: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let Ok(folders) = fs::read_dir(root) else { return Vec::new() };
    let files = folders.flatten().filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
    let with_facts = files.filter_map(|file| Some((file.path(), file.metadata().ok()?)));
    with_facts.filter(|(_, metadata)| metadata.is_file()).collect()
}
