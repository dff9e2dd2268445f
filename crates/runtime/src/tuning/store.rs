//! Records on disk, as entries of the cache.

use super::{Record, Subject};
use crate::cache::{EntryKind, Key, Store};
use crate::compile;
use crate::knobs::{self, KnobValue, Settings};
use std::path::Path;
use std::sync::Arc;

/// Whether results are kept on disk: where the caller or the setting asks for it; by default if times are taken in the
/// standard way, since a function of the user's own may measure anything.
pub fn keeps(asked: bool, has_own_clock: bool) -> bool {
    if asked {
        return true;
    }
    let Ok(row) = knobs::find("autotuning", "cache") else { return false };
    let said = knobs::overridden(row).is_some() || knobs::from_environment(row).is_some();
    let wanted = matches!(knobs::get(row), Ok(KnobValue::Bool(true)));
    wanted && (said || !has_own_clock)
}

/// The records of one cache folder.
#[derive(Clone, Debug)]
pub struct Results(Arc<Store>);

impl Results {
    /// Those of the cache that the settings name; `None` where there is none.
    pub fn of(settings: &Settings) -> Option<Results> {
        compile::store(settings).map(Results)
    }

    /// Those of a cache that is open.
    pub fn at(store: Store) -> Results {
        Results(Arc::new(store))
    }

    /// The folder they are in.
    pub fn folder(&self) -> &Path {
        self.0.root()
    }

    /// The record of a subject; `None` where there is none that can be used.
    pub fn load(&self, subject: &Subject) -> Option<Record> {
        // Hashes do not meet by accident; a record of another subject would be a damaged one.
        self.read(&subject.key()).filter(|record| record.subject == *subject)
    }

    fn read(&self, key: &Key) -> Option<Record> {
        let payload = self.0.read(EntryKind::Tuning, key)?;
        serde_json::from_slice(&payload).ok().filter(Record::is_sound)
    }

    /// Writes a record as [`Results::save`]. Where the file system refuses, that is said once: what was measured
    /// counts, and is merely measured again in the next process.
    pub fn keep(&self, record: &Record) {
        if let Err(error) = self.save(record) {
            self.0.complain(&error);
        }
    }

    /// Writes a record, with what other processes have added meanwhile.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn save(&self, record: &Record) -> std::io::Result<()> {
        let key = record.subject.key();
        let _alone = self.0.alone();
        let mut whole = record.clone();
        if let Some(other) = self.load(&record.subject) {
            whole.merge(&other);
        }
        self.0.write(EntryKind::Tuning, &key, &serde_json::to_vec(&whole)?)
    }

    /// Forgets the record of a subject.
    pub fn remove(&self, subject: &Subject) {
        self.0.remove(EntryKind::Tuning, &subject.key());
    }

    /// All records, by kernel and then by key.
    pub fn all(&self) -> Vec<Record> {
        let mut records: Vec<Record> = self.keys().iter().filter_map(|key| self.read(key)).collect();
        records.sort_by_cached_key(|record| (record.subject.kernel.clone(), record.subject.key()));
        records
    }

    fn keys(&self) -> Vec<Key> {
        let list = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let files = list(self.0.root()).flat_map(|folder| list(&folder.path()));
        files
            .filter_map(|file| {
                let name = file.file_name();
                Key::parse(name.to_str()?.strip_suffix(".tuning")?)
            })
            .collect()
    }
}
