//! Overrides of stages of a compile: the folder of overrides, and the launch option `ir_override`.
//!
//! The content of the files is part of the kernel's name in the cache, so that an edited file is another kernel. Left
//! out: what a stage means, which the target knows.

use crate::cache::{Key, KeyBuilder};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::options::IR_OVERRIDE;
use std::path::{Path, PathBuf};
use target::{CompileOptions, GivenStage, OptionValue, Target};

/// The first stage, which all targets share.
pub(super) const TTIR: &str = "ttir";

/// Endings of files that dumps leave beside the stages; they are no overrides.
const NO_STAGES: &[&str] = &["source", "sass", "json"];

/// How many digits of a digest tell files apart.
const DIGITS: usize = 16;

/// The files of one compile.
#[derive(Clone, Debug, Default)]
pub(super) struct Given(Vec<GivenStage>);

impl Given {
    /// The files for a kernel: those in the folder of overrides, then the one that the launch names. `source` is the
    /// name of the kernel's folder there.
    pub(super) fn find(
        kernel: &str,
        source: &Key,
        target: &dyn Target,
        options: &CompileOptions,
        settings: &Settings,
    ) -> Result<Given, RuntimeError> {
        let mut given = Given::default();
        if let Some(dir) = &settings.override_dir {
            for folder in [dir.join(source.to_string()), dir.clone()] {
                for path in files_of(&folder, kernel) {
                    given.add(&path, kernel, target)?;
                }
            }
        }
        if let Some(OptionValue::Str(path)) = options.extra.get(IR_OVERRIDE).filter(|value| !is_empty(value))
        {
            given.add(Path::new(path), kernel, target)?;
        }
        Ok(given)
    }

    /// Takes a file in, unless there is one for its stage.
    fn add(&mut self, path: &Path, kernel: &str, target: &dyn Target) -> Result<(), RuntimeError> {
        let name = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let known = |stage: &str| stage == TTIR || target.stages().contains(&stage);
        if !known(&name) {
            let all: Vec<&str> = std::iter::once(TTIR).chain(target.stages().iter().copied()).collect();
            return Err(RuntimeError::Value(format!(
                "{} is to stand for a stage of kernel `{kernel}`, and target {} has no stage `{name}`; it has {}",
                path.display(),
                target.facts().backend,
                all.join(", ")
            )));
        }
        if self.0.iter().any(|other| other.name == name) {
            return Ok(());
        }
        let bytes = std::fs::read(path).map_err(|error| {
            RuntimeError::Value(format!("kernel `{kernel}`: cannot read {}: {error}", path.display()))
        })?;
        self.0.push(GivenStage { name, file: path.display().to_string(), bytes });
        Ok(())
    }

    /// The name of a kernel that is compiled with these files.
    pub(super) fn key(&self, key: Key) -> Key {
        if self.0.is_empty() {
            return key;
        }
        let start = KeyBuilder::new("given").part("key", &key.0);
        let add = |builder: KeyBuilder, given: &GivenStage| {
            builder.part(&given.name, &given.bytes).part("file", given.file.as_bytes())
        };
        self.0.iter().fold(start, add).finish()
    }

    /// The file for a stage; it is given once.
    pub(super) fn take(&mut self, stage: &str) -> Option<GivenStage> {
        let at = self.0.iter().position(|given| given.name == stage)?;
        Some(self.0.remove(at))
    }
}

/// A digest of the files in the folder of overrides that may stand for stages of a kernel, whatever it is specialised
/// for; `None` where there are none. What is known of kernels made from them says nothing of others.
pub fn overriding(kernel: &str, settings: &Settings) -> Option<Key> {
    let dir = settings.override_dir.as_ref()?;
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.push(dir.clone());
    folders.sort();
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| files_of(folder, kernel)).collect();
    let add = |builder: KeyBuilder, path: &PathBuf| {
        let below = path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
        // A file that cannot be read is an error of the compile.
        builder.part("file", below.as_bytes()).part("bytes", &std::fs::read(path).unwrap_or_default())
    };
    (!files.is_empty()).then(|| files.iter().fold(KeyBuilder::new("overriding"), add).finish())
}

/// The text of a file's name, for what is known of kernels made from it: with a digest of what it holds, so that an
/// edited file has another one. A file that cannot be read has none; the compile says what is wrong with it.
pub fn named_file(path: &str) -> String {
    match std::fs::read(path) {
        Ok(bytes) => format!("{path} ({})", &blake3::hash(&bytes).to_hex()[..DIGITS]),
        Err(_) => path.to_owned(),
    }
}

/// A number that is another one once a file was written anew, for kernels that a process keeps; zero where there is
/// none.
pub fn state_of_file(path: &str) -> u64 {
    let Ok(metadata) = std::fs::metadata(path) else { return 0 };
    let time = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let state =
        KeyBuilder::new("state").value("of a file", &(metadata.len(), time, file_number(&metadata))).finish();
    u64::from_le_bytes(state.0[..8].try_into().unwrap_or_default())
}

#[cfg(unix)]
fn file_number(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn file_number(_metadata: &std::fs::Metadata) -> u64 {
    0
}

fn is_empty(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Str(text) if text.is_empty())
}

/// The files of a kernel in a folder, in order: `<kernel>.<stage>`.
fn files_of(folder: &Path, kernel: &str) -> Vec<PathBuf> {
    // A folder that is not there overrides nothing.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.file_stem().is_some_and(|stem| stem == kernel))
        .filter(|path| {
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            !ending.is_empty() && !NO_STAGES.contains(&&*ending)
        })
        .collect();
    files.sort();
    files
}
