//! The folder of the cache where its name is a relative path: it counts from the current directory at its first use,
//! and stays there when the process goes elsewhere.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Names as they were given, and what they stand for.
static SEEN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// The absolute path that a name stands for in this process.
pub(super) fn anchored(name: &str) -> String {
    if Path::new(name).is_absolute() {
        return name.to_owned();
    }
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = seen.get(name) {
        return path.clone();
    }
    // In a directory that was removed the name stays as it is; whoever opens the folder says what is wrong with that.
    let Ok(path) = std::path::absolute(name) else { return name.to_owned() };
    let path = path.to_string_lossy().into_owned();
    seen.insert(name.to_owned(), path.clone());
    path
}
