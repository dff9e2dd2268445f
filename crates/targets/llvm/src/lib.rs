//! Finds a shared LLVM at run time and drives it with text through its C interface.
//!
//! Nothing is linked: about 30 functions of LLVM's C interface are looked up in a library of version 17 to 22
//! ([`search`] says where), once per process ([`Llvm::load`]). Text goes in, an object, assembly or optimised text
//! comes out ([`Llvm::compile`]). One target machine per helper thread and [`TargetSpec`] is kept.
//!
//! LLVM stops the process on some wrong input. Processor names it does not know are refused first, and what remains
//! (code that it cannot select) costs a helper thread and gives an error ([`Llvm::compile`]). Left out: building LLVM's
//! own data structures, linking, and running code.

mod api;
mod compile;
mod cpus;
mod error;
mod gate;
mod helper;
mod machine;
pub mod search;

pub use compile::{Compiled, Output};
pub use error::LlvmError;
pub use gate::{FOR_CPUS, Options, words};
pub use machine::TargetSpec;

use api::Api;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A loaded LLVM.
pub struct Llvm {
    api: Api,
    path: PathBuf,
    version: Version,
    /// Flags of its own that it was started with.
    flags: Vec<String>,
}

/// A version of LLVM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version {
    /// The major version, 17 to 22.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
    /// The patch level.
    pub patch: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl std::fmt::Debug for Llvm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LLVM {} at {}", self.version, self.path.display())
    }
}

/// The versions that were tried.
pub const SUPPORTED: std::ops::RangeInclusive<u32> = 17..=22;

impl Llvm {
    /// The LLVM of this process, searched for and loaded at the first call.
    ///
    /// # Errors
    /// What was searched, why nothing fitted, and how to get one.
    pub fn load() -> Result<&'static Llvm, LlvmError> {
        loaded(&[]).1.as_ref().map_err(Clone::clone)
    }

    /// The same, started with these of its own flags, each of which switches a step off ([`Llvm::flags`]): LLVM takes
    /// them once for a process.
    ///
    /// # Errors
    /// Names a flag that is none; says that LLVM was started with other ones.
    pub fn load_with(flags: &[String]) -> Result<&'static Llvm, LlvmError> {
        if let Some(flag) = flags.iter().find(|flag| !api::FLAGS.contains(&flag.as_str())) {
            let known = api::FLAGS.join(", ");
            return Err(LlvmError::Target(format!(
                "`{flag}` is no flag that LLVM can be started with; it can with {known}"
            )));
        }
        let (started, llvm) = loaded(flags);
        if flags.iter().any(|flag| !started.contains(flag))
            || started.iter().any(|flag| !flags.contains(flag))
        {
            let words = |flags: &[String]| {
                if flags.is_empty() { "none".to_owned() } else { format!("`{}`", flags.join(",")) }
            };
            return Err(LlvmError::Target(format!(
                "LLVM takes its flags once, when it is first used, and this process has started it with {}, not with {}: set them \
                 before the first compile and leave them",
                words(started),
                words(flags)
            )));
        }
        llvm.as_ref().map_err(Clone::clone)
    }

    /// The flags that LLVM may be started with.
    pub fn flags() -> &'static [&'static str] {
        api::FLAGS
    }

    /// What tells apart the LLVM that [`Llvm::load`] would take, without loading any: name, size and time of every file
    /// that it would try, in order. A file that changes, comes or goes changes the text.
    pub fn identity() -> &'static str {
        static TEXT: OnceLock<String> = OnceLock::new();
        TEXT.get_or_init(|| {
            let files = search::candidates(&search::Environment::of_process());
            let texts = files.iter().filter_map(|file| {
                let metadata = std::fs::metadata(file).ok()?;
                let time = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
                Some(format!(
                    "{} {} {}",
                    file.file_name()?.to_string_lossy(),
                    metadata.len(),
                    time.as_nanos()
                ))
            });
            texts.collect::<Vec<_>>().join("; ")
        })
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// LLVM's name of this machine's processor.
    pub fn host_cpu(&self) -> String {
        self.api.owned_string(self.api.host_cpu_name())
    }

    /// LLVM's list of this machine's features: `+avx2,-avx512f,…`.
    pub fn host_features(&self) -> String {
        self.api.owned_string(self.api.host_cpu_features())
    }

    /// The triple of this machine.
    pub fn host_triple(&self) -> String {
        self.api.owned_string(self.api.default_triple())
    }

    /// Whether this LLVM can make code for the architecture of a triple.
    pub fn has_target(&self, triple: &str) -> bool {
        machine::find_target(&self.api, triple).is_ok()
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }
}

/// The LLVM of this process, with the flags it was started with.
type Loaded = (Vec<String>, Result<Llvm, LlvmError>);

/// Loads with these flags, if nobody has loaded before.
fn loaded(flags: &[String]) -> &'static Loaded {
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    LOADED.get_or_init(|| (flags.to_vec(), load_first(flags)))
}

/// Tries the candidates in order; the first that loads and has a version that fits wins.
fn load_first(flags: &[String]) -> Result<Llvm, LlvmError> {
    let mut tried = Vec::new();
    for candidate in search::candidates(&search::Environment::of_process()) {
        match open(&candidate, flags) {
            Ok(llvm) => return Ok(llvm),
            Err(reason) => tried.push((candidate, reason)),
        }
    }
    Err(LlvmError::missing(&tried))
}

/// Loads one file. One whose name says that it does not fit is not even opened.
fn open(path: &Path, flags: &[String]) -> Result<Llvm, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let Some(major) = search::version_in(name).filter(|major| *major > 0 && !SUPPORTED.contains(major)) {
        return Err(format!("it is LLVM {major}; {} to {} fit", SUPPORTED.start(), SUPPORTED.end()));
    }
    let api = Api::open(path)?;
    let version = api.version();
    if !SUPPORTED.contains(&version.major) {
        return Err(format!("it is LLVM {version}; {} to {} fit", SUPPORTED.start(), SUPPORTED.end()));
    }
    api.initialize(helper::fatal);
    Ok(Llvm { api, path: path.into(), version, flags: flags.to_vec() })
}
