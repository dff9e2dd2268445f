//! Entries in folders that travel: a folder for each kernel, which others copy to another machine with what they keep.
//!
//! `torch.compile` packs the files of `<folder>/<hash of the kernel>/` into its own cache entries, and writes them to
//! the same place where it reads these. So a kernel's entries stand there too ([`Store::carry`]), and those that came
//! from elsewhere are found there ([`Store::carried`]). What is found is checked as every entry is.

use super::{Entry, EntryKind, Key, Store};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::PoisonError;

/// Characters of a folder's name: a key in base 32.
const NAME: usize = 52;

impl Store {
    /// Puts entries into the folder of a kernel, below `folder`. Where the file system refuses, they do not travel.
    pub fn carry(&self, folder: &Path, kernel: &Key, entries: &[(EntryKind, &Key)]) {
        let name = kernel.folder_name();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone().into());
        let folder = folder.join(name);
        if super::store::make_private(&folder).is_err() {
            return;
        }
        for (kind, key) in entries {
            let path = self.path(*kind, key);
            let Some(name) = path.file_name() else { continue };
            let beside = folder.join(name);
            if !beside.exists() && fs::hard_link(&path, &beside).is_err() {
                let _ = fs::copy(&path, &beside);
            }
        }
    }

    /// The entries in folders below `folder` that this process has not looked into yet.
    pub fn carried(&self, folder: &Path) -> Vec<(EntryKind, Key, Vec<u8>)> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(folders) = fs::read_dir(folder) else { return Vec::new() };
        let is_new = |name: &OsStr| name.len() == NAME && !seen.contains(name);
        let fresh: Vec<_> = folders.flatten().filter(|folder| is_new(&folder.file_name())).collect();
        seen.extend(fresh.iter().map(fs::DirEntry::file_name));
        let files = fresh.iter().filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
        let entries = files.filter_map(|file| Entry::at(&file.path()));
        entries.filter_map(|entry| Some((entry.kind, entry.key, entry.payload().ok()?))).collect()
    }
}

impl Key {
    /// The key in base 32, as a kernel's folder is called.
    fn folder_name(&self) -> String {
        const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let bit = |at: usize| self.0.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
        let digit = |at: usize| (0..5).fold(0, |digit, of| digit << 1 | bit(5 * at + of));
        (0..NAME).map(|at| char::from(DIGITS[usize::from(digit(at))])).collect()
    }
}
