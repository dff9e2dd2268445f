//! Reading and writing entries.

use super::{Key, sweep};
use rustc_hash::FxHashSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// The first bytes of every entry; the digit is the version of the format.
const MAGIC: &[u8; 8] = b"DEUTERO1";
const HEADER: usize = 8 + 32 + 32;
/// A sweep follows the first write of a process and every so many writes.
const WRITES_PER_SWEEP: u64 = 64;
/// How stale the time of an entry may be before a read renews it.
const RENEW_AFTER: Duration = Duration::from_secs(600);

/// How long others may keep an entry that is to be changed.
const WAIT_FOR_OTHERS: Duration = Duration::from_secs(2);

/// What an entry is for; the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A compiled kernel.
    Kernel,
    /// What a kernel's source depends on.
    Dependencies,
    /// The result of tuning a kernel.
    Tuning,
}

impl EntryKind {
    const ALL: [EntryKind; 3] = [EntryKind::Kernel, EntryKind::Dependencies, EntryKind::Tuning];

    fn extension(self) -> &'static str {
        match self {
            EntryKind::Kernel => "kernel",
            EntryKind::Dependencies => "deps",
            EntryKind::Tuning => "tuning",
        }
    }
}

/// An entry as a look at the folder shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its file.
    pub path: PathBuf,
    /// What it is for.
    pub kind: EntryKind,
    /// Its name.
    pub key: Key,
    /// The size of the file.
    pub bytes: u64,
    /// When it was last of use, to within minutes.
    pub used: SystemTime,
}

impl Entry {
    /// The entry that a file is, by its name; `None` for a file that is none.
    pub fn at(path: &Path) -> Option<Entry> {
        Entry::of(path.to_owned(), &fs::metadata(path).ok()?)
    }

    /// Its payload.
    ///
    /// # Errors
    /// Why it cannot be trusted.
    pub fn payload(&self) -> Result<Vec<u8>, String> {
        let mut file = open_without_links(&self.path).map_err(|error| error.to_string())?;
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        private_or_reason(&metadata)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        check(&bytes, &self.key)?;
        bytes.drain(..HEADER);
        Ok(bytes)
    }

    /// The entry of a file; `None` for a file that is none.
    fn of(path: PathBuf, metadata: &fs::Metadata) -> Option<Entry> {
        let key = Key::parse(path.file_stem()?.to_str()?)?;
        let extension = path.extension()?.to_str()?;
        let kind = EntryKind::ALL.into_iter().find(|kind| kind.extension() == extension)?;
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(Entry { path, kind, key, bytes: metadata.len(), used })
    }
}

/// An open cache folder.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    limit: u64,
    writes: AtomicU64,
    /// Whether it was said that entries cannot be written.
    complained: AtomicBool,
    /// Folders of kernels that were looked into, see [`Store::carried`].
    pub(super) seen: Mutex<FxHashSet<OsString>>,
}

impl Store {
    /// Opens (and makes) the cache below `dir`.
    ///
    /// # Errors
    /// Says why the folder cannot be used and what to do about it.
    pub fn open(dir: &Path, limit: u64) -> Result<Store, String> {
        if !dir.is_absolute() {
            return Err(format!(
                "the cache folder {} is not an absolute path; set DEUTERON_CACHE_DIR to one",
                dir.display()
            ));
        }
        let root = dir.join("v1");
        for folder in [dir, &root] {
            make_private(folder).map_err(|error| {
                format!(
                    "cannot make the cache folder {}: {error}; set DEUTERON_CACHE_DIR to another",
                    folder.display()
                )
            })?;
            check_private(folder)?;
        }
        Ok(Store {
            root,
            limit,
            writes: AtomicU64::new(0),
            complained: AtomicBool::new(false),
            seen: Mutex::default(),
        })
    }

    /// The folder that holds the entries.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many bytes it may take.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The file of an entry.
    pub fn path(&self, kind: EntryKind, key: &Key) -> PathBuf {
        let name = key.to_string();
        self.root.join(&name[..2]).join(format!("{name}.{}", kind.extension()))
    }

    /// The payload of an entry; `None` where there is none that can be trusted.
    pub fn read(&self, kind: EntryKind, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(kind, key);
        let mut file = open_without_links(&path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || private_or_reason(&metadata).is_err() {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
        file.read_to_end(&mut bytes).ok()?;
        if let Err(reason) = check(&bytes, key) {
            // Nobody can use it: make room for the next write. A failure to remove changes nothing.
            let _ = fs::remove_file(&path);
            eprintln!(
                "deuteron: the cache entry {} is damaged ({reason}) and is not used; what it was for is made again",
                path.display()
            );
            return None;
        }
        if metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > RENEW_AFTER)) {
            // The time says when it was last of use; without it the entry merely goes earlier.
            let _ = file.set_modified(SystemTime::now());
        }
        bytes.drain(..HEADER);
        Some(bytes)
    }

    /// Writes an entry, and answers whether it is there now. Where two processes write the same one, the last wins;
    /// both are right.
    ///
    /// Where the file system refuses, the caller goes on: the entry is merely not kept. That is said once.
    pub fn keep(&self, kind: EntryKind, key: &Key, payload: &[u8]) -> bool {
        let Err(error) = self.write(kind, key, payload) else { return true };
        self.complain(&error);
        false
    }

    /// Says, once, that entries cannot be written.
    pub fn complain(&self, error: &io::Error) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            eprintln!(
                "deuteron: cannot write to the cache {}: {error}; kernels are compiled and tuned again in the next process \
                 (DEUTERON_CACHE_DIR names another folder, DEUTERON_CACHE=0 goes without)",
                self.root.display()
            );
        }
    }

    /// Lets nobody else who asks for it go on until the file is dropped, or the process ends: for entries that are
    /// read, changed and written. Where the file system has no locks, or one is held for too long, there is none, and
    /// what another process adds at the same time may be lost.
    pub fn alone(&self) -> Option<File> {
        let folder = File::open(&self.root).ok()?;
        let begin = Instant::now();
        loop {
            match folder.try_lock() {
                Ok(()) => return Some(folder),
                Err(TryLockError::WouldBlock) if begin.elapsed() < WAIT_FOR_OTHERS => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(_) => return None,
            }
        }
    }

    /// Writes an entry, as [`Store::keep`]. One that is there already stays: file systems write the new file to the
    /// disk when it takes the place of another, and a compile would wait for that.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn write(&self, kind: EntryKind, key: &Key, payload: &[u8]) -> io::Result<()> {
        let path = self.path(kind, key);
        if self.holds(&path, key, payload) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.root);
        make_private(folder)?;
        let mut file = tempfile::Builder::new().prefix(sweep::TEMPORARY).tempfile_in(folder)?;
        file.write_all(MAGIC)?;
        file.write_all(&key.0)?;
        file.write_all(checksum(key, payload).as_bytes())?;
        file.write_all(payload)?;
        file.persist(&path).map_err(|error| error.error)?;
        if self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_SWEEP) {
            sweep::sweep(&self.root, self.limit);
        }
        Ok(())
    }

    /// Whether the entry is there with that very payload; it is then of use now.
    fn holds(&self, path: &Path, key: &Key, payload: &[u8]) -> bool {
        let Ok(mut file) = open_without_links(path) else { return false };
        let Ok(metadata) = file.metadata() else { return false };
        let bytes = HEADER as u64 + payload.len() as u64;
        if !metadata.is_file() || metadata.len() != bytes || private_or_reason(&metadata).is_err() {
            return false;
        }
        let mut there = Vec::with_capacity(HEADER + payload.len());
        if file.read_to_end(&mut there).is_err()
            || there.get(HEADER..) != Some(payload)
            || check(&there, key).is_err()
        {
            return false;
        }
        // The time says when it was last of use; without it the entry merely goes earlier.
        let _ = file.set_modified(SystemTime::now());
        true
    }

    /// All entries, in no order.
    pub fn entries(&self) -> Vec<Entry> {
        sweep::files(&self.root)
            .into_iter()
            .filter_map(|(path, metadata)| Entry::of(path, &metadata))
            .collect()
    }

    /// Files of writes that are under way, or were cut off and are removed after an hour.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let files = sweep::files(&self.root).into_iter().map(|(path, _)| path);
        files.filter(|path| sweep::is_temporary(path)).collect()
    }

    /// Removes an entry, if it is there.
    pub fn remove(&self, kind: EntryKind, key: &Key) {
        // Not there is as good as removed.
        let _ = fs::remove_file(self.path(kind, key));
    }

    /// Removes every entry; says how many files and bytes went.
    pub fn clear(&self) -> sweep::CacheUse {
        let before = sweep::measure(&self.root);
        sweep::sweep(&self.root, 0);
        let after = sweep::measure(&self.root);
        sweep::CacheUse {
            files: before.files - after.files.min(before.files),
            bytes: before.bytes - after.bytes.min(before.bytes),
        }
    }
}

fn checksum(key: &Key, payload: &[u8]) -> blake3::Hash {
    blake3::keyed_hash(&key.0, payload)
}

/// Whether the bytes of a file are the entry of that name, whole.
fn check(bytes: &[u8], key: &Key) -> Result<(), &'static str> {
    if bytes.len() < HEADER {
        return Err("it is cut off");
    }
    if bytes[..8] != MAGIC[..] {
        return Err("it does not begin as an entry does");
    }
    if bytes[8..40] != key.0 {
        return Err("it is the entry of another name");
    }
    if checksum(key, &bytes[HEADER..]).as_bytes()[..] != bytes[40..HEADER] {
        return Err("its content does not have its digest");
    }
    Ok(())
}

#[cfg(unix)]
fn open_without_links(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path)
}

#[cfg(not(unix))]
fn open_without_links(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Makes a folder, and those above it, that only its owner may enter.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn check_private(folder: &Path) -> Result<(), String> {
    let metadata = fs::metadata(folder)
        .map_err(|error| format!("cannot read the cache folder {}: {error}", folder.display()))?;
    if !metadata.is_dir() {
        return Err(format!("{} is not a folder; set DEUTERON_CACHE_DIR to another place", folder.display()));
    }
    private_or_reason(&metadata).map_err(|reason| {
        format!(
            "the cache folder {} {reason}, so others could make this process run their code; fix it with \
             `chmod go-w` or set DEUTERON_CACHE_DIR to a folder of your own",
            folder.display()
        )
    })
}

#[cfg(unix)]
fn private_or_reason(metadata: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: `geteuid` has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    if metadata.uid() != me {
        return Err(format!("belongs to user {} and not to user {me}", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(format!("may be written by others (mode {:o})", metadata.mode() & 0o7777));
    }
    Ok(())
}

#[cfg(not(unix))]
fn private_or_reason(_metadata: &fs::Metadata) -> Result<(), String> {
    Ok(())
}
