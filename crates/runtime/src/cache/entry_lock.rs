//! Locks on entries: of several processes that want to make the same entry, one does and the others wait for it.

use super::{Key, Store, sweep};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a process that waits looks whether the other one is ready.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// The right to make an entry, until it is dropped or the process ends: a lock on a file beside the entry's.
#[derive(Debug)]
pub struct EntryLock {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Waits until no other process makes what `key` names, for at most `patience`. Whoever waited looks for the entry
    /// again.
    ///
    /// Where the file system has no locks or takes no files, or patience ends (a process that was stopped holds its
    /// lock), there is no lock, and the entry is made at the same time as elsewhere, which does no harm: the last one
    /// is kept.
    pub fn lock_entry(&self, key: &Key, patience: Duration) -> Option<EntryLock> {
        let name = key.to_string();
        let path = self.root().join(format!("{}lock-{name}", sweep::TEMPORARY));
        let file = open(&path).ok()?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Some(EntryLock { file, path }),
                Err(TryLockError::WouldBlock) if begin.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
                Err(_) => return None,
            }
        }
    }
}

impl Drop for EntryLock {
    fn drop(&mut self) {
        // A process that opened the file before it goes still gets the lock. Neither failure matters: the lock goes
        // with the process, and the file with the next sweep that finds it old.
        let _ = fs::remove_file(&self.path);
        // Said outright, as a forked child may hold the same file open.
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    }
    options.open(path)
}
